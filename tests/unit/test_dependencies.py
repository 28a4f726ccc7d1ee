# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""galaxy.yml declares the collections that roles and playbooks use: all of them and no other."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_DECLARED = {"ansible.builtin", "ansible.legacy", "rdma.k8s"}
LISTS_OF_TASKS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")
ACTION = re.compile(r"^([a-z]\w*\.[a-z]\w*)\.\w+$")
IN_A_TEMPLATE = re.compile(
    r"\|\s*([a-z]\w*\.[a-z]\w*)\.\w+"  # a filter
    r"|\bis\s+(?:not\s+)?([a-z]\w*\.[a-z]\w*)\.\w+"  # a test
    r"|\b(?:lookup|query|q)\(\s*['\"]([a-z]\w*\.[a-z]\w*)\."  # a lookup
)


def tasks(data: Any) -> Iterator[dict[str, Any]]:
    """Plays, blocks and tasks of a file of tasks or plays."""
    for entry in data if isinstance(data, list) else []:
        if isinstance(entry, dict):
            yield entry
            for key in LISTS_OF_TASKS:
                yield from tasks(entry.get(key))


def used(root: pathlib.Path) -> set[str]:
    """Collections named by an action, filter, test or lookup in roles and playbooks."""
    found: set[str] = set()
    for folder in ("roles", "playbooks"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".yml", ".yaml", ".j2"):
                continue
            text = path.read_text(encoding="utf-8")
            found |= {name for match in IN_A_TEMPLATE.finditer(text) for name in match.groups() if name}
            if path.suffix != ".j2" and {"tasks", "handlers", "playbooks"} & set(path.parts):
                matches = (ACTION.match(key) for task in tasks(yaml.safe_load(text)) for key in task)
                found |= {match[1] for match in matches if match}
    return found - NOT_DECLARED


def declared(root: pathlib.Path) -> set[str]:
    return set(yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"])


def test_declared_are_the_used() -> None:
    assert declared(ROOT) == used(ROOT)


def test_each_way_of_use_is_found(tmp_path: pathlib.Path) -> None:
    tasks_file = tmp_path / "roles" / "host_memory" / "tasks" / "main.yml"
    tasks_file.parent.mkdir(parents=True)
    tasks_file.write_text(
        """
- name: Set
  block:
    - name: Set it
      ansible.posix.sysctl: {name: vm.nr_hugepages, value: "{{ lookup('community.general.random_string') }}"}
      vars: {net.ipv4.ip_forward: 1}
      when: name is not ansible.utils.ipv4
    - name: Run
      rdma.k8s.memory: {pages: "{{ pages | kubernetes.core.k8s_config_resource_name }}"}
""",
        encoding="utf-8",
    )
    assert used(tmp_path) == {"ansible.posix", "community.general", "ansible.utils", "kubernetes.core"}
