#!/usr/bin/python
# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: memory
short_description: Set huge pages, transparent huge pages and swap
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Reserves huge pages on each NUMA node, sets the mode of transparent huge pages and turns swap off, now and at each boot.
  - Everything is read back. Fewer huge pages than asked for are an error that says how many came.
  - What is not asked for is left as it is.
extends_documentation_fragment: ansible.builtin.action_common_attributes
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  platform: {platforms: posix, support: full}
options:
  huge_pages:
    description: Huge pages to reserve. Sizes and nodes that are not listed stay as they are.
    type: list
    elements: dict
    default: []
    suboptions:
      size:
        description: Size of a page, C(2M) or C(1G); what the kernel offers depends on the processor.
        type: str
        required: true
      count:
        description: Number of pages, on this node or on all together.
        type: int
        required: true
      numa_node:
        description: The NUMA node. Without it the pages are spread evenly over the nodes that have memory.
        type: int
  transparent_huge_pages:
    description: Mode of transparent huge pages. Without it the mode is left as it is.
    type: str
    choices: [always, madvise, never]
  swap:
    description:
      - V(off) turns off swap of every kind (fstab, swap units, zram) and keeps it off.
      - V(leave) changes nothing.
    type: str
    choices: ["off", leave]
    default: leave
"""

EXAMPLES = r"""
- name: Reserve four gibibytes a node and turn swap off
  rdma.k8s.memory:
    huge_pages:
      - {size: 2M, count: 2048, numa_node: 0}
      - {size: 2M, count: 2048, numa_node: 1}
    transparent_huge_pages: madvise
    swap: "off"
"""

RETURN = r""" # """

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils import memory
from ansible_collections.rdma.k8s.plugins.module_utils.converge import converge
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError

NODES = "/sys/devices/system/node"
TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled"
BOOT_FILE = "/etc/tmpfiles.d/90-rdma-k8s-memory.conf"
FSTAB = "/etc/fstab"
ZRAM_FILES = [f"{folder}/systemd/zram-generator.conf" for folder in ("/etc", "/run", "/usr/local/lib", "/usr/lib")]
TRIES = 3  # the kernel compacts memory at each; a second write often gets what the first did not


def gather(host: Host, params: dict[str, Any]) -> dict[str, Any]:
    nodes, pages = read_nodes(host)
    sizes = {wish["size"] for wish in params["huge_pages"]}
    other = {size: counts for size, counts in pages.items() if size not in sizes}
    transparent = memory.parse_choice(host.read_if_there(TRANSPARENT) or "")
    if params["transparent_huge_pages"] and not transparent:
        raise ValueError("transparent_huge_pages: this kernel has none; leave the option out")
    return {
        "huge_pages": {size: counts for size, counts in pages.items() if size in sizes},
        "room_bytes": {node: memory.room_for_pages(total, memory.held_bytes(other, node)) for node, total in nodes.items()},
        "offered": {size: list(counts) for size, counts in pages.items()},
        "transparent_huge_pages": transparent,
        "swap": gather_swap(host) if params["swap"] == "off" else None,
        "boot_file": host.read_if_there(BOOT_FILE),
    }


def read_nodes(host: Host) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Bytes of each NUMA node that has memory, and pages {size: {node: count}}."""
    memory_bytes: dict[str, int] = {}
    pages: dict[str, dict[str, int]] = {}
    for folder in host.list_names(NODES):
        node = folder[len("node") :]
        total = memory.parse_meminfo(host.read_if_there(f"{NODES}/{folder}/meminfo") or "").get("MemTotal") if node.isdigit() else None
        if total:
            memory_bytes[node] = total
            for size in map(memory.name_size, host.list_names(f"{NODES}/{folder}/hugepages")):
                pages.setdefault(size, {})[node] = int(host.read(memory.pages_path(size, node)))
    return memory_bytes, pages


def gather_swap(host: Host) -> dict[str, Any]:
    listing = ("systemctl", "list-unit-files", "--no-legend", "--plain", "*.swap", *memory.SWAP_SERVICES)
    meminfo = memory.parse_meminfo(host.read("/proc/meminfo"))
    zram = next((text for text in map(host.read_if_there, ZRAM_FILES) if text is not None), "")
    return {
        "active": memory.parse_swaps(host.read_if_there("/proc/swaps") or ""),
        "fstab": memory.swap_lines(host.read_if_there(FSTAB) or ""),
        "units": memory.parse_swap_units(host.run(*listing, accept=(0, 1)) if host.which("systemctl") else ""),
        "zram_generator": "[zram" in zram,
        "fits_in_memory": meminfo["SwapTotal"] - meminfo["SwapFree"] <= meminfo["MemAvailable"],
    }


def plan(before: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    # What a host holds since boot is possible, however little it leaves.
    room = {node: max(limit, memory.held_bytes(before["huge_pages"], node)) for node, limit in before["room_bytes"].items()}
    wanted = memory.plan_pages(params["huge_pages"], before["offered"], room)
    transparent = params["transparent_huge_pages"]
    return {
        **before,
        "huge_pages": {size: {**counts, **wanted[size]} for size, counts in before["huge_pages"].items()},
        "transparent_huge_pages": transparent or before["transparent_huge_pages"],
        "swap": memory.plan_swap(before["swap"]) if before["swap"] else None,
        "boot_file": memory.boot_text(wanted, transparent),
    }


def apply(host: Host, before: dict[str, Any], after: dict[str, Any]) -> None:
    if after["boot_file"] != before["boot_file"]:
        if after["boot_file"] is None:
            host.remove(BOOT_FILE)
        else:
            host.write(BOOT_FILE, after["boot_file"])
    if after["transparent_huge_pages"] != before["transparent_huge_pages"]:
        host.set_attribute(TRANSPARENT, after["transparent_huge_pages"], before["transparent_huge_pages"])
    if before["swap"]:
        turn_swap_off(host, before["swap"])
    changes = [
        (count - before["huge_pages"][size][node], size, node, count)
        for size, counts in after["huge_pages"].items()
        for node, count in counts.items()
        if count != before["huge_pages"][size][node]
    ]
    # What gives memory back comes first; a node that is short does not keep the others from theirs.
    shortages = [set_pages(host, size, node, count) for _difference, size, node, count in sorted(changes)]
    if any(shortages):
        raise HostError("; ".join(filter(None, shortages)))


def turn_swap_off(host: Host, before: dict[str, Any]) -> None:
    """First what would turn it on again, so that a restart in between does no harm."""
    if before["fstab"]:
        host.write(FSTAB, memory.without_swap(host.read(FSTAB)))
    if before["zram_generator"]:
        host.write(ZRAM_FILES[0], "# Empty by the role host_memory of rdma.k8s: no swap on zram.\n")
    for unit, state in before["units"].items():
        verb = memory.unit_verb(state)
        host.change(("systemctl", verb, unit), {"kind": "unit", "name": unit}, state, memory.UNIT_STATES[verb])
    for name in before["active"]:
        host.change(("swapoff", name), {"kind": "swap", "name": name}, "on", "off", timeout_s=1800)


def set_pages(host: Host, size: str, node: str, count: int) -> str | None:
    """What is wrong when the kernel shows another count in the end."""
    path = memory.pages_path(size, node)
    for _try in range(TRIES):
        host.set_attribute(path, str(count))
        came = int(host.read(path))
        if came == count:
            return None
    return memory.tell_shortage(size, node, count, came, BOOT_FILE)


def main() -> None:
    pages = {"size": {"type": "str", "required": True}, "count": {"type": "int", "required": True}, "numa_node": {"type": "int"}}
    module = AnsibleModule(
        argument_spec={
            "huge_pages": {"type": "list", "elements": "dict", "default": [], "options": pages},
            "transparent_huge_pages": {"type": "str", "choices": ["always", "madvise", "never"]},
            "swap": {"type": "str", "choices": ["off", "leave"], "default": "leave"},
        },
        supports_check_mode=True,
    )
    converge(module, "host_memory", gather, plan, apply)


if __name__ == "__main__":
    main()
