# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import memory

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "memory"
TWO_NODES = {"2M": ["0", "1"], "1G": ["0", "1"]}
ROOM = {"0": 8 * memory.GIB, "1": 8 * memory.GIB}


def test_meminfo_in_bytes() -> None:
    rows = memory.parse_meminfo((FIXTURES / "proc_meminfo.txt").read_text())
    assert (rows["MemTotal"], rows["SwapTotal"], rows["Active(anon)"]) == (1500940 * 1024, 0, 240 * 1024)
    assert "HugePages_Total" not in rows  # a count, not a size
    assert memory.parse_meminfo("Node 1 MemTotal:         773164 kB\n") == {"MemTotal": 773164 * 1024}


@pytest.mark.parametrize(("folder", "size"), [("hugepages-2048kB", "2M"), ("hugepages-1048576kB", "1G"), ("hugepages-64kB", "64K")])
def test_names_of_sizes(folder: str, size: str) -> None:
    assert memory.name_size(folder) == size
    assert memory.pages_path(size, "1") == f"/sys/devices/system/node/node1/hugepages/{folder}/nr_hugepages"


def test_the_mode_is_in_brackets() -> None:
    assert memory.parse_choice("always [madvise] never\n") == "madvise"
    assert memory.parse_choice("") is None


@pytest.mark.parametrize(
    ("wishes", "pages"),
    [
        ([], {}),
        ([{"size": "2M", "count": 64}], {"2M": {"0": 32, "1": 32}}),
        ([{"size": "2M", "count": 64, "numa_node": 1}], {"2M": {"1": 64}}),
        ([{"size": "2M", "count": 1, "numa_node": 0}, {"size": "2M", "count": 0, "numa_node": 1}], {"2M": {"0": 1, "1": 0}}),
        ([{"size": "1G", "count": 2}, {"size": "2M", "count": 2}], {"1G": {"0": 1, "1": 1}, "2M": {"0": 1, "1": 1}}),
    ],
)
def test_pages_of_a_wish(wishes: list[dict[str, Any]], pages: dict[str, dict[str, int]]) -> None:
    assert memory.plan_pages(wishes, TWO_NODES, ROOM) == pages


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"size": "2M", "count": 65}, "huge_pages: 65 pages of 2M cannot be spread evenly over 2 NUMA nodes; take a multiple of 2"),
        ({"size": "2M", "count": 4097, "numa_node": 0}, "4097 pages of 2M on NUMA node 0 need 8.00 GiB, but at most 8.00 GiB"),
        ({"size": "1G", "count": 18}, "9 pages of 1G on NUMA node 0 need 9.00 GiB, but at most 8.00 GiB of the node's memory"),
        ({"size": "2M", "count": 2, "numa_node": 7}, "numa_node is 7, but this host has memory on 0, 1"),
        ({"size": "16G", "count": 2}, "size is 16G, but this host offers 2M and 1G"),
        ({"size": "2MB", "count": 2}, "size is '2MB'; write it as 2M or 1G"),
        ({"size": "2M", "count": -2}, "count of 2M is -2; it must be 0 or more"),
    ],
)
def test_a_wish_that_makes_no_sense(wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match="huge_pages") as error:
        memory.plan_pages([wish], TWO_NODES, ROOM)
    assert sentence in str(error.value)


def test_the_same_pages_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="2M on NUMA node 1 is asked for twice"):
        memory.plan_pages([{"size": "2M", "count": 2}, {"size": "2M", "count": 1, "numa_node": 1}], TWO_NODES, ROOM)


def test_sizes_share_the_memory_of_a_node() -> None:
    with pytest.raises(ValueError, match=r"4 pages of 1G and 4096 pages of 2M on NUMA node 0 need 12\.00 GiB"):
        memory.plan_pages([{"size": "1G", "count": 4, "numa_node": 0}, {"size": "2M", "count": 4096, "numa_node": 0}], TWO_NODES, ROOM)


@pytest.mark.parametrize(("total", "other", "room"), [(10, 0, 9), (1024, 0, 1020), (10, 4, 5), (10, 20, 0)])
def test_some_memory_is_kept(total: int, other: int, room: int) -> None:
    assert memory.room_for_pages(total * memory.GIB, other * memory.GIB) == room * memory.GIB


def test_the_boot_file() -> None:
    text = memory.boot_text({"2M": {"1": 32, "0": 64}}, "madvise")
    assert text is not None
    assert text.splitlines()[1:] == [
        "w! /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages - - - - 64",
        "w! /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages - - - - 32",
        "w! /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise",
    ]
    assert memory.boot_text({}, None) is None


def test_swaps() -> None:
    text = "Filename\t\tType\n/swapfile file\t65532\t0\t-2\n/my\\040swap file 1 0 -3\n/dev/zram0 partition 8388604 0 100\n"
    assert memory.parse_swaps(text) == ["/swapfile", "/my swap", "/dev/zram0"]
    assert memory.parse_swaps("Filename Type Size Used Priority\n") == []
    assert memory.parse_swaps("") == []


FSTAB = """\
# <file system> <mount point> <type> <options>
UUID=997000e8 / ext4 errors=remount-ro 0 1
#/dev/sdb none swap sw 0 0
/swapfile none swap sw 0 0
\tUUID=1234\tswap\tswap\tdefaults\t0 0
/srv/swap /srv/swap ext4 defaults 0 0"""


def test_swap_lines_of_an_fstab() -> None:
    assert memory.swap_lines(FSTAB) == ["/swapfile none swap sw 0 0", "\tUUID=1234\tswap\tswap\tdefaults\t0 0"]
    off = memory.without_swap(FSTAB)
    assert off.count(memory.OFF_MARK) == 2
    assert off.replace(memory.OFF_MARK, "") == FSTAB
    assert memory.swap_lines(off) == []
    assert memory.without_swap(off) == off


def test_swap_units() -> None:
    """FC-54, FC-55. Composed in the form of ``systemctl list-unit-files --no-legend --plain``."""
    rows = (
        "dev-sda3.swap generated -",
        "old.swap masked enabled",
        "other.swap enabled enabled",
        "static.swap static -",
        "zramswap.service enabled enabled",
    )
    listing = "\n".join(rows)
    assert memory.parse_swap_units(listing) == {"dev-sda3.swap": "generated", "other.swap": "enabled", "zramswap.service": "enabled"}
    assert (memory.unit_verb("generated"), memory.unit_verb("enabled")) == ("mask", "disable")
