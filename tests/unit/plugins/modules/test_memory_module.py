# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_host
import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.memory import SWAP_SERVICES, pages_path, parse_swaps
from ansible_collections.rdma.k8s.plugins.modules import memory

PARAMS: dict[str, Any] = {
    "huge_pages": [{"size": "2M", "count": 64, "numa_node": 0}, {"size": "2M", "count": 32, "numa_node": 1}],
    "transparent_huge_pages": "madvise",
    "swap": "off",
}
NOTHING: dict[str, Any] = {"huge_pages": [], "transparent_huge_pages": None, "swap": "leave"}
SWAPS = "Filename Type Size Used Priority\n/swapfile file 65532 0 -2\n/dev/zram0 partition 1 0 100\n"
LISTING = ("systemctl", "list-unit-files", "--no-legend", "--plain", "*.swap", *SWAP_SERVICES)
UNITS = "/units"  # where this double keeps what systemctl shows


def kernel(files: dict[str, str | int], path: str, value: str) -> None:
    files[path] = f"always [{value}] never" if path == memory.TRANSPARENT else value


def change_unit(unit: str, before: str, after: str) -> Callable[[fake_host.FakeHost], str]:
    def act(host: fake_host.FakeHost) -> str:
        host.files[UNITS] = str(host.files[UNITS]).replace(f"{unit} {before}", f"{unit} {after}")
        return ""

    return act


def swap_off(name: str) -> Callable[[fake_host.FakeHost], str]:
    def act(host: fake_host.FakeHost) -> str:
        host.files["/proc/swaps"] = "".join(
            row for row in str(host.files["/proc/swaps"]).splitlines(keepends=True) if not row.startswith(name)
        )
        return ""

    return act


def make_host(free_kib: int = 1000000, used_kib: int = 0) -> fake_host.FakeHost:
    return fake_host.FakeHost(
        {
            "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 726528 kB\n",
            "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 773164 kB\n",
            "/sys/devices/system/node/node2/meminfo": "Node 2 MemTotal: 0 kB\n",
            pages_path("2M", "0"): "0\n",
            pages_path("2M", "1"): "0\n",
            pages_path("2M", "2"): "0\n",
            memory.TRANSPARENT: "[always] madvise never\n",
            "/proc/meminfo": f"MemAvailable: {free_kib} kB\nSwapTotal: 200000 kB\nSwapFree: {200000 - used_kib} kB\n",
            "/proc/swaps": SWAPS,
            "/etc/fstab": "UUID=1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n",
            "/usr/lib/systemd/zram-generator.conf": "[zram0]\nzram-size = ram / 2\n",
            UNITS: "dev-zram0.swap generated -\nzramswap.service enabled enabled\n",
        },
        {
            LISTING: lambda host: str(host.files[UNITS]),
            ("systemctl", "mask", "dev-zram0.swap"): change_unit("dev-zram0.swap", "generated", "masked"),
            ("systemctl", "disable", "zramswap.service"): change_unit("zramswap.service", "enabled", "disabled"),
            ("swapoff", "/swapfile"): swap_off("/swapfile"),
            ("swapoff", "/dev/zram0"): swap_off("/dev/zram0"),
        },
        kernel=kernel,
    )


def test_all_of_it_now_and_at_boot() -> None:
    host = make_host()
    result = fake_host.converge(memory, PARAMS, host)
    assert result["changed"]
    assert (host.files[pages_path("2M", "0")], host.files[pages_path("2M", "1")]) == ("64", "32")
    assert host.files[memory.TRANSPARENT] == "always [madvise] never"
    assert parse_swaps(str(host.files["/proc/swaps"])) == []
    assert host.files["/etc/fstab"] == "UUID=1 / ext4 defaults 0 1\n# off by rdma.k8s: /swapfile none swap sw 0 0\n"
    assert "[zram" not in str(host.files["/etc/systemd/zram-generator.conf"])
    assert "nr_hugepages - - - - 64\n" in str(host.files[memory.BOOT_FILE])
    assert not fake_host.converge(memory, PARAMS, host.reborn())["changed"]


def test_check_mode_predicts_and_touches_nothing() -> None:
    host = make_host()
    predicted = fake_host.converge(memory, PARAMS, host, check_mode=True)
    assert host.changes == 0
    assert predicted == fake_host.converge(memory, PARAMS, host)


def test_each_kill_is_survived() -> None:
    assert fake_host.survives_each_kill(memory, PARAMS, make_host) == 20  # ten changes, two points each


def test_the_record_holds_what_was_there() -> None:
    host = make_host()
    fake_host.converge(memory, PARAMS, host)
    before = {entry["what"].get("path") or entry["what"]["name"]: entry["before"] for entry in host.record}
    assert before == {
        memory.BOOT_FILE: None,
        memory.TRANSPARENT: "always",
        "/etc/fstab": "UUID=1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n",
        "/etc/systemd/zram-generator.conf": None,
        "dev-zram0.swap": "generated",
        "zramswap.service": "enabled",
        "/swapfile": "on",
        "/dev/zram0": "on",
        pages_path("2M", "0"): "0\n",
        pages_path("2M", "1"): "0\n",
    }


def test_without_a_wish_nothing_is_looked_at_or_changed() -> None:
    host = make_host()
    assert not fake_host.converge(memory, NOTHING, host)["changed"]
    assert host.ran == []


def test_a_wish_withdrawn_takes_the_boot_file_away_and_leaves_the_pages() -> None:
    host = make_host()
    fake_host.converge(memory, PARAMS, host)
    assert fake_host.converge(memory, NOTHING, host.reborn())["changed"]
    assert memory.BOOT_FILE not in host.files
    assert host.files[pages_path("2M", "0")] == "64"


@pytest.mark.parametrize(("came", "sentence"), [("11", "11 came: the node's free memory"), ("40", "40 remain: processes use them")])
def test_another_count_than_asked_for_is_an_error(came: str, sentence: str) -> None:
    """FC-52: the write itself reports success."""
    host = make_host()
    host.kernel = lambda files, path, value: files.__setitem__(path, came)
    wish = {**NOTHING, "huge_pages": [{"size": "2M", "count": 16, "numa_node": 1}]}
    result = fake_host.converge(memory, wish, host)
    assert result["failed"]
    assert result["msg"].startswith(f"huge_pages: asked for 16 pages of 2M on NUMA node 1, {sentence}")
    assert "Traceback" not in result["msg"]
    assert memory.BOOT_FILE in host.files  # so that the restart it advises helps


def test_a_node_that_is_short_does_not_keep_the_others_from_theirs() -> None:
    host = make_host()
    host.kernel = lambda files, path, value: files.__setitem__(path, "3" if "node0" in path else value)
    result = fake_host.converge(memory, {**NOTHING, "huge_pages": [{"size": "2M", "count": 16}]}, host)
    assert "asked for 8 pages of 2M on NUMA node 0, 3 came" in result["msg"]
    assert "node 1" not in result["msg"]
    assert host.files[pages_path("2M", "1")] == "8"


def test_a_second_write_that_gets_all_is_enough() -> None:
    writes: list[str] = []

    def compacting(files: dict[str, str | int], path: str, value: str) -> None:
        writes.append(value)
        files[path] = value if len(writes) == 2 else "11"

    host = make_host()
    host.kernel = compacting
    assert fake_host.converge(memory, {**NOTHING, "huge_pages": [{"size": "2M", "count": 16, "numa_node": 1}]}, host)["changed"]
    assert writes == ["16", "16"]


def test_a_node_without_memory_gets_no_share() -> None:
    """FC-53."""
    host = make_host()
    fake_host.converge(memory, {**NOTHING, "huge_pages": [{"size": "2M", "count": 8}]}, host)
    assert [str(host.files[pages_path("2M", node)]).strip() for node in "012"] == ["4", "4", "0"]


def test_swap_that_memory_cannot_hold_is_refused_before_anything_changes() -> None:
    host = make_host(free_kib=1000, used_kib=2000)
    result = fake_host.converge(memory, PARAMS, host)
    assert result["msg"].startswith("swap: what is in /swapfile, /dev/zram0 does not fit into the free memory")
    assert host.changes == 0


def test_more_than_memory_is_refused_before_anything_changes() -> None:
    host = make_host()
    result = fake_host.converge(memory, {**PARAMS, "huge_pages": [{"size": "2M", "count": 4096}]}, host)
    assert result["msg"].startswith("huge_pages: 2048 pages of 2M on NUMA node 0 need 4.00 GiB, but at most 0.62 GiB")
    assert host.changes == 0


def test_what_the_host_holds_since_boot_is_not_refused() -> None:
    host = make_host()
    host.files[pages_path("2M", "0")] = "340\n"  # 680 MiB of 709 MiB
    result = fake_host.converge(memory, {**NOTHING, "huge_pages": [{"size": "2M", "count": 340, "numa_node": 0}]}, host)
    assert result["diff"]["after"]["huge_pages"] == {"2M": {"0": 340, "1": 0}}
    more = fake_host.converge(memory, {**NOTHING, "huge_pages": [{"size": "2M", "count": 341, "numa_node": 0}]}, host)
    assert "341 pages of 2M on NUMA node 0 need 0.67 GiB, but at most 0.66 GiB" in more["msg"]


def test_no_fstab_no_systemd_no_swap() -> None:
    """FC-54: a missing fstab is not an error."""
    host = fake_host.FakeHost(
        {"/proc/meminfo": "MemAvailable: 1 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", "/proc/swaps": SWAPS.splitlines()[0]}
    )
    assert not fake_host.converge(memory, {**NOTHING, "swap": "off"}, host)["changed"]


def test_a_kernel_without_transparent_huge_pages_is_named() -> None:
    result = fake_host.converge(memory, {**NOTHING, "transparent_huge_pages": "never"}, fake_host.FakeHost())
    assert result["msg"] == "transparent_huge_pages: this kernel has none; leave the option out"
