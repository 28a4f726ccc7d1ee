# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes all roles look alike: one source for defaults, prefixes, documentation of what goes in and out."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
# A role takes a setting of the whole inventory as its own default; its specification holds the value that counts without that setting.
FROM_INVENTORY = re.compile(r"^\{\{ (\w+) \| default\(([^(),|]*)\) \}\}$")


def load(path: pathlib.Path) -> Any:
    """The YAML document of a file; an empty mapping when the file is absent or holds nothing."""
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.exists() else {}


def entry_points(role: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Entry point -> its options."""
    specs = load(role / "meta" / "argument_specs.yml").get("argument_specs", {})
    return {name: spec.get("options", {}) for name, spec in specs.items()}


def mappings(data: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a YAML document, at any depth."""
    if isinstance(data, dict):
        yield data
        data = list(data.values())
    if isinstance(data, list):
        for entry in data:
            yield from mappings(entry)


def names_set_by(task: dict[str, Any]) -> list[str]:
    """Variables that a task leaves behind: registered ones and facts."""
    facts = task.get("ansible.builtin.set_fact") or {}
    registered = [task["register"]] if isinstance(task.get("register"), str) else []
    return [*registered, *(name for name in facts if name != "cacheable")]


def file_offences(role: pathlib.Path) -> Iterator[str]:
    for name in ("README.md", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml"):
        if not (role / name).exists() or not (role / name).read_text(encoding="utf-8").strip():
            yield f"{name} is absent or empty"
    galaxy = load(role / "meta" / "main.yml").get("galaxy_info", {})
    for key, value in {"license": "GPL-3.0-or-later", "min_ansible_version": "2.19"}.items():
        if galaxy.get(key) not in (value, [value]):
            yield f"meta/main.yml: galaxy_info.{key} must be {value}"


def option_offences(role: pathlib.Path) -> Iterator[str]:
    points = entry_points(role)
    if "main" not in points:
        yield "meta/argument_specs.yml: no entry point main"
    wanted: dict[str, Any] = {}
    for point, options in points.items():
        if not (role / "tasks" / f"{point}.yml").exists():
            yield f"meta/argument_specs.yml: no tasks/{point}.yml for the entry point {point}"
        for name, option in options.items():
            if not name.startswith(f"{role.name}_"):
                yield f"{name}: public variables begin with {role.name}_"
            if not option.get("description") or not option.get("type"):
                yield f"{name}: description or type is missing"
            if "default" in option and wanted.setdefault(name, option["default"]) != option["default"]:
                yield f"{name}: two entry points have different defaults"
    defaults = load(role / "defaults" / "main.yml")
    for name in sorted(wanted.keys() | defaults.keys()):
        default = defaults.get(name, "absent")
        if repr(wanted.get(name, "absent")) not in (repr(default), repr(without_inventory(default))):
            yield f"{name}: defaults/main.yml and meta/argument_specs.yml differ"


def without_inventory(value: Any) -> Any:
    """A default as it counts in an inventory that sets none of the settings shared by roles."""
    shared = FROM_INVENTORY.match(value) if isinstance(value, str) else None
    return yaml.safe_load(shared[2]) if shared else value


def variable_offences(role: pathlib.Path) -> Iterator[str]:
    """Variables set in tasks: internal ones say whose they are, public ones are documented outputs."""
    readme = (role / "README.md").read_text(encoding="utf-8") if (role / "README.md").exists() else ""
    for path in sorted([*role.glob("tasks/**/*.yml"), *role.glob("handlers/**/*.yml")]):
        for task in mappings(load(path)):
            for name in names_set_by(task):
                if name.startswith(f"__{role.name}_"):
                    continue
                if not name.startswith(f"{role.name}_"):
                    yield f"{path.name}: {name} must begin with {role.name}_ or __{role.name}_"
                elif not re.search(rf"\b{name}\b", readme):
                    yield f"{path.name}: {name} is an output, and README.md does not name it"
    for name in load(role / "vars" / "main.yml"):
        if not name.startswith(f"__{role.name}_"):
            yield f"vars/main.yml: {name} must begin with __{role.name}_"


def offences(role: pathlib.Path) -> list[str]:
    """One sentence for each way in which a role does not look like the others."""
    return [*file_offences(role), *option_offences(role), *variable_offences(role)]


@pytest.mark.parametrize("role", sorted(path for path in ROLES.iterdir() if path.is_dir()), ids=lambda path: path.name)
def test_the_role_looks_like_the_others(role: pathlib.Path) -> None:
    assert offences(role) == []


SPECS = """
argument_specs:
  main:
    short_description: Huge pages
    options:
      host_memory_swap: {type: bool, default: false, description: Whether swap stays on}
      host_memory_pages: {type: dict, required: true, description: Pages of each size}
"""
RIGHT = {
    "README.md": "Reserves huge pages. Sets host_memory_reboot_required.\n",
    "meta/main.yml": "galaxy_info: {license: GPL-3.0-or-later, min_ansible_version: '2.19'}\n",
    "meta/argument_specs.yml": SPECS,
    "defaults/main.yml": "host_memory_swap: false\n",
    "vars/main.yml": "__host_memory_sizes: [2048]\n",
    "tasks/main.yml": """
- name: Reserve
  block:
    - name: Reserve the pages
      rdma.k8s.memory: {pages: "{{ host_memory_pages }}"}
      register: __host_memory_result
    - name: Tell whether a reboot is needed
      ansible.builtin.set_fact: {host_memory_reboot_required: "{{ __host_memory_result.reboot }}"}
""",
}
WRONG = {
    "README.md is absent": ("README.md", ""),
    "galaxy_info.license": ("meta/main.yml", "galaxy_info: {license: MIT, min_ansible_version: '2.19'}"),
    "galaxy_info.min_ansible_version": ("meta/main.yml", "galaxy_info: {license: GPL-3.0-or-later}"),
    "host_memory_swap: defaults/main.yml and": ("defaults/main.yml", "host_memory_swap: true"),
    "host_memory_swap: defaults": ("defaults/main.yml", "host_memory_swap: 0"),
    "host_memory_swap: defaults/main": ("defaults/main.yml", "host_memory_swap: '{{ host_swap | default(true) }}'"),
    "host_memory_extra: defaults": ("defaults/main.yml", "host_memory_swap: false\nhost_memory_extra: 1"),
    "swap: public variables begin": ("meta/argument_specs.yml", f"{SPECS}      swap: {{type: bool, description: Swap}}\n"),
    "host_memory_more: description or type": ("meta/argument_specs.yml", f"{SPECS}      host_memory_more: {{type: bool}}\n"),
    "no tasks/undo.yml": ("meta/argument_specs.yml", f"{SPECS}  undo: {{short_description: Undo}}\n"),
    "result must begin": ("tasks/main.yml", "- name: Look\n  rdma.k8s.memory:\n  register: result"),
    "host_memory_done is an output": ("tasks/main.yml", "- name: Tell\n  ansible.builtin.set_fact: {host_memory_done: true}"),
    "sizes must begin": ("vars/main.yml", "sizes: [2048]"),
}


def write_role(folder: pathlib.Path, files: dict[str, str]) -> pathlib.Path:
    role = folder / "host_memory"
    for name, text in files.items():
        (role / name).parent.mkdir(parents=True, exist_ok=True)
        (role / name).write_text(text, encoding="utf-8")
    return role


def test_a_right_role_passes(tmp_path: pathlib.Path) -> None:
    assert offences(write_role(tmp_path, RIGHT)) == []


def test_a_default_may_come_from_the_inventory(tmp_path: pathlib.Path) -> None:
    defaults = "host_memory_swap: '{{ host_swap | default(false) }}'"
    assert offences(write_role(tmp_path, {**RIGHT, "defaults/main.yml": defaults})) == []


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_role_is_found(tmp_path: pathlib.Path, sentence: str) -> None:
    name, text = WRONG[sentence]
    found = offences(write_role(tmp_path, {**RIGHT, name: text}))
    assert any(sentence in line for line in found)
