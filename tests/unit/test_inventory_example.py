# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""inventories/example is the manual of variables: each one stands there, set or commented out, and none that does not exist."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import KEYS

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Settings of the whole inventory; the names are fixed, and each stands in the example from the day that something reads it.
INVENTORY_WIDE = {
    *("rdma_rails", "rdma_rail_addresses", "rdma_provider", "rdma_node_name", "rdma_kubeconfig", "rdma_context", "rdma_image_registry"),
    *("rdma_image_pull_secret", "rdma_package_mirror", "rdma_proxy", "rdma_report_dir", "host_disruption_allowed", "host_reboot_allowed"),
    *("verify_allow_busy", "verify_allow_incast", "verify_fail_on", "verify_thresholds", "change_window_approved"),
}
SETTING = re.compile(r"^#? ?([a-z]\w*):(?:\s|$)", re.MULTILINE)
HANDED = re.compile(r"^ +([a-z]\w*):", re.MULTILINE)
OURS = re.compile(r"^(rdma|host|verify|cluster|change_window)_")
READERS = ("roles", "playbooks", "plugins")


def options(root: pathlib.Path) -> set[str]:
    """Public options of the roles that users configure; what our own playbooks hand to a role is not theirs to set."""
    found: set[str] = set()
    for path in root.glob("roles/*/meta/argument_specs.yml"):
        if path.parts[-3].startswith(("host_", "verify_", "cluster_")):
            specs = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
            found |= {name for spec in specs.values() for name in spec.get("options", {})}
    handed = {name for path in root.glob("playbooks/*.yml") for name in HANDED.findall(path.read_text(encoding="utf-8"))}
    return found - handed


def inventory_wide(root: pathlib.Path) -> set[str]:
    """Those of the inventory-wide settings that roles, playbooks or plugins read."""
    paths = [path for folder in READERS for path in (root / folder).rglob("*") if path.suffix in (".yml", ".j2", ".py")]
    words = {word for path in paths for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    return INVENTORY_WIDE & words


def settings(root: pathlib.Path) -> set[str]:
    """Variables that stand at the left margin of the example's group_vars and host_vars, set or commented out."""
    paths = (root / "inventories" / "example").glob("*_vars/*")
    return {name for path in paths for name in SETTING.findall(path.read_text(encoding="utf-8"))}


def offences(root: pathlib.Path) -> list[str]:
    known = options(root) | inventory_wide(root)
    shown = settings(root)
    return [
        *(f"{name}: stands nowhere in inventories/example" for name in sorted(known - shown)),
        *(f"{name}: stands in inventories/example, and nothing reads it" for name in sorted(shown - known) if OURS.match(name)),
    ]


def test_each_option_stands_in_the_example() -> None:
    assert options(ROOT)
    assert offences(ROOT) == []


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_a_rail_stands_in_the_example(key: str) -> None:
    paths = [path for path in (ROOT / "inventories" / "example").rglob("*") if path.is_file()]
    assert any(re.search(rf"^[#\s{{-]*{key}:", path.read_text(encoding="utf-8"), re.MULTILINE) for path in paths)


def write(root: pathlib.Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small collection whose example is complete."""
    write(tmp_path, "roles/host_memory/meta/argument_specs.yml", "argument_specs: {main: {options: {host_memory_swap: {type: bool}}}}")
    write(tmp_path, "roles/lab_vm/meta/argument_specs.yml", "argument_specs: {main: {options: {lab_vm_hosts: {type: int}}}}")
    write(tmp_path, "playbooks/verify.yml", "- hosts: all\n  vars: {rails: '{{ rdma_rails }}'}")
    write(tmp_path, "inventories/example/group_vars/all.yml", "rdma_rails: []\n# host_memory_swap: false\nansible_user: root\n")
    return tmp_path


def test_a_complete_example_passes(tree: pathlib.Path) -> None:
    assert offences(tree) == []


def test_a_missing_option_is_found(tree: pathlib.Path) -> None:
    write(tree, "inventories/example/group_vars/all.yml", "rdma_rails: []\n")
    assert offences(tree) == ["host_memory_swap: stands nowhere in inventories/example"]


def test_a_missing_inventory_wide_setting_is_found(tree: pathlib.Path) -> None:
    write(tree, "inventories/example/group_vars/all.yml", "host_memory_swap: true\n")
    assert offences(tree) == ["rdma_rails: stands nowhere in inventories/example"]


def test_a_setting_that_nothing_reads_is_found(tree: pathlib.Path) -> None:
    write(tree, "inventories/example/host_vars/a.yml", "host_memory_swop: true\n")
    assert offences(tree) == ["host_memory_swop: stands in inventories/example, and nothing reads it"]
