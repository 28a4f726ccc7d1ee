# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Huge pages, transparent huge pages and swap: texts of the kernel, and what a wish comes to on a host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

KIB = {"K": 1, "M": 1024, "G": 1024 * 1024}
GIB = 1024**3
FOLDER = re.compile(r"hugepages-(\d+)kB")
SIZE = re.compile(r"([1-9]\d*)([KMG])")
STARTS_AT_BOOT = ("enabled", "enabled-runtime", "generated")
UNIT_STATES = {"mask": "masked", "disable": "disabled"}
SWAP_SERVICES = ("zramswap.service", "zram-config.service", "dphys-swapfile.service")
OFF_MARK = "# off by rdma.k8s: "
HEADER = "# Written by the role host_memory of rdma.k8s; applied at boot.\n"


def parse_size(size: str) -> int:
    """KiB of ``2M`` or ``1G``."""
    match = SIZE.fullmatch(size)
    if not match:
        raise ValueError(f"huge_pages: size is {size!r}; write it as 2M or 1G")
    return int(match[1]) * KIB[match[2]]


def name_size(folder: str) -> str:
    """``2M`` of the kernel's ``hugepages-2048kB``."""
    match = FOLDER.fullmatch(folder)
    kib = int(match[1]) if match else 0
    unit = next(unit for unit in "GMK" if kib % KIB[unit] == 0)
    return f"{kib // KIB[unit]}{unit}"


def pages_path(size: str, node: str) -> str:
    return f"/sys/devices/system/node/node{node}/hugepages/hugepages-{parse_size(size)}kB/nr_hugepages"


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes of each ``Name: N kB`` row of ``/proc/meminfo`` or of a node's ``meminfo``."""
    rows = re.finditer(r"^(?:Node \d+ )?([\w()]+): +(\d+) kB$", text, re.MULTILINE)
    return {row[1]: int(row[2]) * 1024 for row in rows}


def parse_choice(text: str) -> str | None:
    """``madvise`` of ``always [madvise] never``."""
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else None


def plan_pages(
    wishes: Sequence[Mapping[str, Any]], offered: Mapping[str, Sequence[str]], room: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Pages ``{size: {node: count}}`` of a list of ``{size, count, numa_node}``.

    `offered`: NUMA nodes for each size the kernel knows. `room`: bytes of each node that huge pages may take.
    """
    pages: dict[str, dict[str, int]] = {}
    for wish in wishes:
        for node, count in _spread(wish, offered).items():
            if node in pages.setdefault(wish["size"], {}):
                raise ValueError(f"huge_pages: {wish['size']} on NUMA node {node} is asked for twice; give each size and node once")
            pages[wish["size"]][node] = count
    for node, limit in room.items():
        wanted = held_bytes(pages, node)
        if wanted > limit:
            raise ValueError(
                f"huge_pages: {_tell(pages, node)} on NUMA node {node} need {wanted / GIB:.2f} GiB, "
                f"but at most {limit / GIB:.2f} GiB of the node's memory can be huge pages; lower count"
            )
    return pages


def _spread(wish: Mapping[str, Any], offered: Mapping[str, Sequence[str]]) -> dict[str, int]:
    size, count, node = wish["size"], wish["count"], wish.get("numa_node")
    parse_size(size)
    if count < 0:
        raise ValueError(f"huge_pages: count of {size} is {count}; it must be 0 or more")
    if size not in offered:
        raise ValueError(
            f"huge_pages: size is {size}, but this host offers {' and '.join(offered) or 'no huge pages'}; choose one of these"
        )
    nodes = offered[size]
    if node is not None:
        if str(node) not in nodes:
            raise ValueError(f"huge_pages: numa_node is {node}, but this host has memory on {', '.join(nodes)}; choose one of these")
        return {str(node): count}
    if count % len(nodes):
        raise ValueError(
            f"huge_pages: {count} pages of {size} cannot be spread evenly over {len(nodes)} NUMA nodes; "
            f"take a multiple of {len(nodes)}, or one entry with numa_node for each"
        )
    return {name: count // len(nodes) for name in nodes}


def _tell(pages: Mapping[str, Mapping[str, int]], node: str) -> str:
    return " and ".join(f"{counts[node]} pages of {size}" for size, counts in pages.items() if counts.get(node))


def room_for_pages(memory_bytes: int, other_pages_bytes: int = 0) -> int:
    """Bytes of a node that huge pages may take: all but a tenth, at most 4 GiB of which is kept for the system."""
    return max(0, memory_bytes - min(memory_bytes // 10, 4 * GIB) - other_pages_bytes)


def held_bytes(pages: Mapping[str, Mapping[str, int]], node: str) -> int:
    """Bytes of a node that are huge pages of these sizes now."""
    return sum(parse_size(size) * 1024 * counts.get(node, 0) for size, counts in pages.items())


def tell_shortage(size: str, node: str, asked: int, came: int, boot_file: str) -> str:
    """Why the kernel shows another number of huge pages than was written."""
    story = f"huge_pages: asked for {asked} pages of {size} on NUMA node {node}"
    if came > asked:
        return f"{story}, {came} remain: processes use them; stop these, then run again"
    return (
        f"{story}, {came} came: the node's free memory is too small or fragmented; "
        f"{boot_file} asks for them at boot, so restart the host, then run again (or lower count)"
    )


def boot_text(pages: Mapping[str, Mapping[str, int]], transparent: str | None) -> str | None:
    """Text of the tmpfiles.d file that sets the same at boot; None when there is nothing to set."""
    lines = [
        f"w! {pages_path(size, node)} - - - - {count}\n" for size, counts in sorted(pages.items()) for node, count in sorted(counts.items())
    ]
    if transparent:
        lines.append(f"w! /sys/kernel/mm/transparent_hugepage/enabled - - - - {transparent}\n")
    return HEADER + "".join(lines) if lines else None


def parse_swaps(text: str) -> list[str]:
    """Names in ``/proc/swaps``; the kernel writes a blank as ``\\040``."""
    return [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), row.split()[0]) for row in text.splitlines()[1:] if row.strip()]


def is_swap_line(line: str) -> bool:
    fields = line.split()
    return len(fields) >= 3 and not fields[0].startswith("#") and fields[2] == "swap"


def swap_lines(fstab: str) -> list[str]:
    return [line for line in fstab.splitlines() if is_swap_line(line)]


def without_swap(fstab: str) -> str:
    """The fstab with its swap lines commented out, each with a mark that says by whom."""
    return "".join(OFF_MARK + line if is_swap_line(line) else line for line in fstab.splitlines(keepends=True))


def parse_swap_units(listing: str) -> dict[str, str]:
    """Unit -> state of ``systemctl list-unit-files``: those that turn swap on at the next boot."""
    rows = [line.split() for line in listing.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) >= 2 and row[1] in STARTS_AT_BOOT}


def unit_verb(state: str) -> str:
    """A generated unit cannot be disabled, one in /etc cannot be masked."""
    return "mask" if state == "generated" else "disable"


def plan_swap(before: Mapping[str, Any]) -> dict[str, Any]:
    """Swap off, and no source left that turns it on at boot."""
    if not before["fits_in_memory"]:
        raise ValueError(
            f"swap: what is in {', '.join(before['active'])} does not fit into the free memory; stop some processes, then run again"
        )
    return {"active": [], "fstab": [], "units": {}, "zram_generator": False, "fits_in_memory": True}
