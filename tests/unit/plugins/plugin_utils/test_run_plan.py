# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over all hosts: lists, times, limits."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils import run_plan
from ansible_collections.rdma.k8s.plugins.plugin_utils.run_plan import plan_run, round_seconds, tell_seconds

OPTIONS = {
    "message_bytes": 65536,
    "duration_s": 10,
    "iterations": None,
    "port_first": 18600,
    "port_count": 10,
    "start_window_s": 30,
    "deadline_s": 20,
    "grace_s": 60,
}  # fmt: skip
PING = {"test": "ibv_rc_pingpong", "iterations": 100}


def hosts(count: int, **tools: str) -> dict[str, Any]:
    rail = {"name": "rail0", "device": "rxe0", "port": 1, "gid_index": 1, "numa_node": 0, "numa_cpus": "0-1"}
    return {
        f"node{number}": {"rails": {"rail0": {**rail, "address": f"192.0.2.{number}"}}, "tools": tools} for number in range(1, count + 1)
    }


def rounds(count: int) -> list[list[dict[str, str]]]:
    return [[{"rail": "rail0", "client": "node1", "server": "node2"}]] * count


@pytest.mark.parametrize(
    ("tests", "options", "seconds"),
    [
        (["ib_write_bw"], {"duration_s": 10}, 13),
        (["ib_write_bw"], {"duration_s": 10, "iterations": 5}, 5),
        ([PING, "ib_write_bw"], {"duration_s": 10}, 18),
        ([PING, "ib_write_bw"], {"duration_s": 10, "test_s": 1.5}, 3),
        ([{"test": "ib_write_bw", "duration_s": 20}], {"duration_s": 10}, 23),
    ],
)
def test_round_seconds(tests: list[Any], options: dict[str, Any], seconds: float) -> None:
    assert round_seconds(tests, options) == seconds


def test_lists_and_times() -> None:
    run = plan_run(rounds(4), hosts(2), [PING, "ib_write_bw"], OPTIONS, forks=5)
    assert (run["tests"], run["rounds"], run["turns"], run["text"]) == (8, 4, 8, "8 tests in 4 rounds, about 1 min 14 s")
    assert [step["side"] for step in run["steps"]["node1"]] == ["client"] * 8
    ping, bandwidth = run["steps"]["node1"][:2]
    assert (ping["deadline_s"], bandwidth["deadline_s"]) == (20, 30)
    assert " -D 10 " in " ".join(bandwidth["argv"])
    assert ping["start_window_s"] == 32
    assert (run["poll_s"], run["grace_s"], run["start_s"]) == (6, 60, 32)
    assert run["limit_s"] > sum(step["start_window_s"] + 2 * step["deadline_s"] for step in run["steps"]["node2"])


def test_iterations_win_over_the_duration() -> None:
    run = plan_run(rounds(1), hosts(2), ["ib_write_bw"], {**OPTIONS, "iterations": 200})
    argv = " ".join(run["steps"]["node1"][0]["argv"])
    assert " -n 200 " in argv
    assert "-D" not in argv
    assert run["steps"]["node1"][0]["deadline_s"] == 20


def test_each_host_uses_its_own_tools() -> None:
    known = {**hosts(1, ib_write_bw="6.29", numactl=""), "node2": hosts(2)["node2"]}
    steps = plan_run(rounds(1), known, ["ib_write_bw"], OPTIONS)["steps"]
    assert "numactl" in steps["node1"][0]["argv"]
    assert "--bind_source_ip=192.0.2.1" in steps["node1"][0]["argv"]
    assert "taskset" in steps["node2"][0]["argv"]
    assert not any("bind_source_ip" in word for word in steps["node2"][0]["argv"])


def test_a_thousand_hosts_and_few_forks() -> None:
    """All hosts must get their start and each heartbeat before anything gives up."""
    run = plan_run(rounds(200), hosts(1000), ["ib_write_bw"], OPTIONS, forks=10)
    calls = 2.0 * 100
    assert run["start_s"] >= 30 + calls
    assert run["grace_s"] >= 3 * (run["poll_s"] + calls)
    assert run["predicted_s"] / run["poll_s"] <= 60


def test_a_mistake_gives_a_sentence() -> None:
    with pytest.raises(ValueError, match="'ib_write_lot'"):
        plan_run(rounds(1), hosts(2), ["ib_write_lot"], OPTIONS)
    with pytest.raises(ValueError, match="ports"):
        plan_run(rounds(1), hosts(2), ["ib_write_bw"], {**OPTIONS, "port_count": 0})


@pytest.mark.parametrize(
    ("tests", "changes", "numbers", "sentence"),
    [
        (
            [PING],
            {},
            {"verify_perftest_message_bytes": "64K"},
            "verify_perftest_message_bytes is '64K'; it must be a whole number",
        ),
        ([PING], {}, {"verify_perftest_queue_pairs": True}, "verify_perftest_queue_pairs is True; it must be a whole number"),
        ([], {}, {}, "verify_perftest_tests is []; it must be a list of names of tests"),
        ([5], {}, {}, "verify_perftest_tests is [5]; it must be a list"),
        (["ib_writ_bw"], {}, {}, "The test 'ib_writ_bw' is unknown; allowed are ibv_rc_pingpong, "),
        (
            [{"test": "ib_write_bw", "durations": 3}],
            {},
            {},
            "The test ib_write_bw has the unknown option durations; allowed are ",
        ),
        (["ib_write_bw"], {"queue_pairs": 0}, {}, "The option queue_pairs of ib_write_bw is 0; it must be a whole number from 1 to 16384."),
        (
            ["ib_write_bw"],
            {"traffic_class": 300},
            {},
            "The option traffic_class of ib_write_bw is 300; it must be ",
        ),
        (["ib_write_bw"], {"port_first": 65530}, {}, "The ports 65530 to "),
    ],
)
def test_a_problem_is_a_sentence(tests: list[Any], changes: dict[str, Any], numbers: dict[str, Any], sentence: str) -> None:
    [found] = run_plan.find_problems(tests, {**OPTIONS, **changes}, numbers)
    assert found.startswith(sentence)


def test_no_problem() -> None:
    assert run_plan.find_problems([PING, "ib_write_bw"], OPTIONS, {"verify_perftest_queue_pairs": "4"}) == []


def test_times_in_words() -> None:
    assert [tell_seconds(value) for value in (-3, 0.4, 59.4, 60, 200, 7500)] == [
        "0 s",
        "0 s",
        "59 s",
        "1 min 0 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
