# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of docs/architecture.md: who may import whom, and that only the edge opens files or runs commands."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import pytest

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"
COLLECTION = "ansible_collections.rdma.k8s.plugins"

FOLDERS = {"modules": "module", "module_utils": "subject", "plugin_utils": "controller", "filter": "filter"}
FILES = {"module_utils/host.py": "edge", "module_utils/converge.py": "converge"}

MAY_IMPORT = {
    "module": {"edge", "converge", "subject"},
    "edge": {"subject"},
    "converge": {"edge", "subject"},
    "subject": {"subject"},
    "controller": {"controller", "subject"},
    "filter": {"controller", "subject"},
}
ANSIBLE = {
    "module": {"ansible.module_utils.basic"},
    "edge": {"ansible.module_utils.basic"},
    "converge": {"ansible.module_utils.basic"},
    "filter": {"ansible.errors"},
}
# What of the standard library neither opens files nor runs commands nor looks at the machine.
PURE = {
    *("__future__", "abc", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "difflib", "enum"),
    *("fractions", "functools", "hashlib", "heapq", "html", "ipaddress", "itertools", "json", "math", "operator", "random", "re", "shlex"),
    *("statistics", "string", "textwrap", "types", "typing", "unicodedata", "urllib.parse", "xml.etree.ElementTree", "xml.sax.saxutils"),
    *("io.StringIO", "pathlib.PurePosixPath"),
}
BUILTINS = {"open", "exec", "eval", "compile", "input", "__import__"}
# Methods of AnsibleModule that go round the edge.
ROUND_THE_EDGE = {"run_command", "atomic_move", "backup_local", "set_fs_attributes_if_different", "set_file_attributes_if_different"}


def kind_of(name: str) -> str | None:
    """The table's row for a file named relative to ``plugins/``; None when the table has none."""
    return FILES.get(name) or FOLDERS.get(name.split("/", 1)[0])


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes_at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        yield node
        yield from nodes_at_run_time(node)


def imported_names(node: ast.AST, package: str) -> list[str]:
    """Dotted names that an import statement brings, with the imported name as last part; relative ones made absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        base = ".".join([*parents[: len(parents) - node.level + 1], base]).rstrip(".")
    return [f"{base}.{alias.name}" for alias in node.names]


def is_within(name: str, allowed: set[str]) -> bool:
    return any(name == entry or name.startswith(f"{entry}.") for entry in allowed)


def import_offence(kind: str, name: str) -> str | None:
    """What is wrong with this import in a file of this kind."""
    if name.startswith(f"{COLLECTION}."):
        folder, file = [*name.removeprefix(f"{COLLECTION}.").split("."), ""][:2]
        target = kind_of(f"{folder}/{file}.py")
        return None if target in MAY_IMPORT[kind] else f"a {kind} file must not import {name}"
    if is_within(name, {"ansible", "ansible_collections"}):
        return None if is_within(name, ANSIBLE.get(kind, set())) else f"a {kind} file must not import {name}"
    return None if kind == "edge" or is_within(name, PURE) else f"only host.py may import {name}"


def touching_offence(kind: str, node: ast.AST) -> str | None:
    """What is wrong with this call, if it reaches the machine past the edge."""
    if kind == "edge" or not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    if isinstance(node, ast.Name) and node.id in BUILTINS and isinstance(node.ctx, ast.Load):
        return f"only host.py may use {node.id}"
    if isinstance(node, ast.Attribute) and node.attr in ROUND_THE_EDGE:
        return f"only host.py may use {node.attr}"
    return None


def offences(plugins: pathlib.Path) -> list[str]:
    """One sentence for each breach of the table below ``plugins``."""
    found = []
    for path in sorted(plugins.rglob("*.py")):
        name = path.relative_to(plugins).as_posix()
        kind = kind_of(name)
        if kind is None:
            found.append(f"{name}: no row in the table of docs/architecture.md")
            continue
        package = ".".join([COLLECTION, *name.split("/")[:-1]])
        for node in nodes_at_run_time(ast.parse(path.read_text(encoding="utf-8"))):
            sentences = [import_offence(kind, imported) for imported in imported_names(node, package)]
            sentences.append(touching_offence(kind, node))
            found += [f"{name}:{getattr(node, 'lineno', 0)}: {sentence}" for sentence in sentences if sentence]
    return found


def test_the_plugins_keep_to_the_table() -> None:
    assert (PLUGINS / "module_utils" / "host.py").exists()
    assert offences(PLUGINS) == []


def write(folder: pathlib.Path, name: str, source: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


RIGHT = {
    "modules/memory.py": f"from ansible.module_utils.basic import AnsibleModule\nfrom {COLLECTION}.module_utils.host import Host\n",
    "module_utils/host.py": "import os\nimport subprocess\nopen('/proc/meminfo')\nsubprocess.run(['true'], check=True)\n",
    "module_utils/converge.py": f"from {COLLECTION}.module_utils.host import Host\n",
    "module_utils/memory.py": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from {COLLECTION}.module_utils.host import Host\n",
    "module_utils/rails.py": "from pathlib import PurePosixPath\nfrom .memory import pages\n",
    "plugin_utils/judge.py": f"from {COLLECTION}.module_utils import rails\nfrom collections.abc import Mapping\n",
    "filter/judge.py": f"from ansible.errors import AnsibleFilterError\nfrom {COLLECTION}.plugin_utils.judge import judge\n",
}
WRONG = {
    "subject imports the edge": ("module_utils/memory.py", f"from {COLLECTION}.module_utils.host import Host"),
    "subject imports the edge by its folder": ("module_utils/memory.py", f"from {COLLECTION}.module_utils import host"),
    "subject imports the edge relatively": ("module_utils/memory.py", "from .host import Host"),
    "subject imports the edge from the folder above": ("module_utils/memory.py", "from ..module_utils import host"),
    "subject imports controller code": ("module_utils/memory.py", f"import {COLLECTION}.plugin_utils.judge"),
    "subject imports Ansible": ("module_utils/memory.py", "from ansible.module_utils.basic import AnsibleModule"),
    "subject imports another collection": ("module_utils/memory.py", "import ansible_collections.ansible.posix.plugins.module_utils.mount"),
    "controller code imports Ansible": ("plugin_utils/judge.py", "from ansible.errors import AnsibleError"),
    "controller code imports the edge": ("plugin_utils/judge.py", f"from {COLLECTION}.module_utils.host import Host"),
    "filter imports the edge": ("filter/judge.py", f"from {COLLECTION}.module_utils.host import Host"),
    "filter imports converge": ("filter/judge.py", f"from {COLLECTION}.module_utils.converge import converge"),
    "module imports controller code": ("modules/memory.py", f"from {COLLECTION}.plugin_utils.judge import judge"),
    "module imports another part of Ansible": ("modules/memory.py", "from ansible.module_utils.urls import open_url"),
    "edge imports controller code": ("module_utils/host.py", f"from {COLLECTION}.plugin_utils.judge import judge"),
    "subject runs commands": ("module_utils/memory.py", "import subprocess"),
    "subject runs commands, imported late": ("module_utils/memory.py", "def free() -> None:\n    import subprocess"),
    "module reads files": ("modules/memory.py", "text = open('/proc/meminfo').read()"),
    "module takes open by another name": ("modules/memory.py", "reader = open"),
    "module asks os": ("modules/memory.py", "import os"),
    "filter asks os.path": ("filter/judge.py", "from os.path import exists"),
    "controller code takes a real path": ("plugin_utils/judge.py", "from pathlib import Path"),
    "controller code takes all of pathlib": ("plugin_utils/judge.py", "import pathlib"),
    "controller code copies files": ("plugin_utils/judge.py", "import shutil"),
    "controller code opens sockets": ("plugin_utils/judge.py", "import socket"),
    "controller code opens files by io": ("plugin_utils/judge.py", "from io import open"),
    "converge runs commands": ("module_utils/converge.py", "def run(module: object) -> None:\n    module.run_command(['true'])"),
    "module imports by name": ("modules/memory.py", "import importlib"),
    "folder without a row": ("lookup/rails.py", "import re"),
}


def test_a_right_tree_passes(tmp_path: pathlib.Path) -> None:
    for name, source in RIGHT.items():
        write(tmp_path, name, source)
    assert offences(tmp_path) == []


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_line_is_found(tmp_path: pathlib.Path, case: str) -> None:
    for name, source in RIGHT.items():
        write(tmp_path, name, source)
    name, line = WRONG[case]
    write(tmp_path, name, f"{RIGHT.get(name, '')}{line}\n")
    found = offences(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(name)
