# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of perftest and ibv_rc_pingpong."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import TESTS, checked_options, perftest_arguments
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import rc_pingpong_arguments

RAIL = {
    "name": "rail0",
    "device": "mlx5_0",
    "port": 1,
    "gid_index": 3,
    "address": "192.0.2.5",
    "numa_node": 1,
    "numa_cpus": "2-3",
}  # fmt: skip


def line(side: str = "client", test: str = "ib_write_bw", rail: dict[str, Any] | None = None, **options: Any) -> str:
    return " ".join(perftest_arguments(test, side, {**RAIL, **(rail or {})}, "192.0.2.6" if side == "client" else None, 18515, options))


def test_both_sides_differ_in_the_peer_only() -> None:
    options: dict[str, Any] = {"message_bytes": 65536, "queue_pairs": 4, "iterations": 300, "bidirectional": True, "has_numactl": True}
    assert line(**options) == line("server", **options) + " 192.0.2.6"
    assert line(**options) == (
        "stdbuf -oL numactl -N 1 -m 1 ib_write_bw -d mlx5_0 -i 1 -x 3 -F --report_gbits -s 65536 -q 4 -n 300 -b -p 18515 192.0.2.6"
    )


@pytest.mark.parametrize("test", TESTS)
def test_each_test_gets_only_what_it_takes(test: str) -> None:
    words = line(test=test, message_bytes=4096, queue_pairs=2, bidirectional=True, duration_s=10).split()
    bandwidth = test.endswith("_bw")
    assert ("--report_gbits" in words, "-q" in words, "-b" in words) == (bandwidth, bandwidth, bandwidth)
    assert ("-s" in words) == ("atomic" not in test)
    assert words[words.index("-D") + 1] == "10"


@pytest.mark.parametrize(
    ("rail", "options", "prefix"),
    [
        ({}, {"has_numactl": False}, "stdbuf -oL taskset -c 2-3 ib_write_bw"),
        ({"numa_node": None}, {"has_numactl": True}, "stdbuf -oL ib_write_bw"),
        ({"numa_node": -1}, {"has_numactl": True}, "stdbuf -oL ib_write_bw"),
        ({"numa_cpus": None}, {}, "stdbuf -oL ib_write_bw"),
    ],
)
def test_pinning(rail: dict[str, Any], options: dict[str, Any], prefix: str) -> None:
    assert line(rail=rail, **options).startswith(prefix + " ")


def test_traffic_class_with_and_without_rdma_cm() -> None:
    assert "--tclass=106" in line(traffic_class=106).split()
    words = line(traffic_class=106, rdma_cm=True)
    assert " -R -T 106 " in words
    assert "--tclass" not in words


@pytest.mark.parametrize(
    ("version", "bound"), [("6.06", False), ("6.13", False), ("6.20", True), ("6.29", True), ("", False), (None, False), ("x", False)]
)
def test_the_source_address_where_the_version_has_it(version: str | None, bound: bool) -> None:
    assert ("--bind_source_ip=192.0.2.5" in line(version=version).split()) == bound


def test_fc13_the_gpu_stands_before_dmabuf() -> None:
    assert "--use_cuda=0 --use_cuda_dmabuf 192.0.2.6" in line(cuda_device=0, cuda_dmabuf=True)
    assert "cuda" not in line(cuda_dmabuf=True)


def test_fc14_each_side_has_its_own_gid_index() -> None:
    assert " -x 5 " in line(rail={"gid_index": 5})
    assert " -x " not in line(rail={"gid_index": None})


def test_a_gid_index_that_perftest_does_not_take() -> None:
    assert " -x " not in line(rail={"gid_index": 65}, rdma_cm=True)
    with pytest.raises(ValueError, match="rail rail0: GID index 65 is above perftest's 64; connect with rdma_cm"):
        line(rail={"gid_index": 65})


@pytest.mark.parametrize("word", ["\u2013report_gbits", "\u201c--tclass=1\u201d", "--mtu=\u00a01024", "'-e'", "-e -N", "", "a\nb"])
def test_fc17_pasted_options_are_refused_with_the_character(word: str) -> None:
    with pytest.raises(ValueError, match="extra option") as caught:
        line(extra_options=[word])
    if "\u2013" in word:
        assert "U+2013" in str(caught.value)


def test_plain_extra_options_stand_before_the_peer() -> None:
    assert line(extra_options=["-e", "--mtu=1024"]).endswith(" -e --mtu=1024 192.0.2.6")
    assert checked_options([]) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ib_write_lot", "client", RAIL, "192.0.2.6", 1, {}), "test 'ib_write_lot': allowed are ib_write_bw"),
        (("ib_write_bw", "both", RAIL, "192.0.2.6", 1, {}), "side 'both': allowed are client and server"),
        (("ib_write_bw", "client", RAIL, None, 1, {}), "needs the server's address on rail rail0"),
        (("ib_write_bw", "client", RAIL, "192.0.2.6", 1, {"iterations": 5, "duration_s": 5}), "give one of them"),
    ],
)
def test_what_cannot_be(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        perftest_arguments(*arguments)


def test_rc_pingpong_arguments() -> None:
    server = rc_pingpong_arguments("server", RAIL, None, 18600, {"iterations": 100, "has_numactl": True})
    assert " ".join(server) == "stdbuf -oL numactl -N 1 -m 1 ibv_rc_pingpong -d mlx5_0 -i 1 -g 3 -n 100 -p 18600"
    client = rc_pingpong_arguments("client", {**RAIL, "gid_index": None, "numa_node": None}, "192.0.2.6", 18600, {})
    assert " ".join(client) == "stdbuf -oL ibv_rc_pingpong -d mlx5_0 -i 1 -p 18600 192.0.2.6"
    with pytest.raises(ValueError, match="needs the server's address"):
        rc_pingpong_arguments("client", RAIL, None, 1, {})
    with pytest.raises(ValueError, match="allowed are"):
        rc_pingpong_arguments("x", RAIL, None, 1, {})
