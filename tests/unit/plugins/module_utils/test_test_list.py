# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's list of test sides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import test_list as lists

STAT = "4242 (ib write) bw) S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 5832704 392 1844"


def step(number: int = 1, side: str = "client", **more: Any) -> dict[str, Any]:
    limits = {"start_window_s": 30, "deadline_s": 10}
    return {"id": f"{number}.rail0", "round": number, "side": side, "host": "a", "peer": "b", "argv": ["x", "-n", "1"], **limits, **more}


def test_rounds_in_order() -> None:
    rounds = lists.rounds_of([step(3), step(1), step(3, id="3.rail1"), step(1, "server")])
    assert [[each["id"] for each in steps] for steps in rounds] == [["1.rail0", "1.rail0"], ["3.rail0", "3.rail1"]]


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ([], "steps is empty"),
        ([{"id": "1"}], r"steps\[0\] lacks argv, deadline_s, host, peer, round, side, start_window_s"),
        ([step(), step(2, "both")], r"steps\[1\].side is 'both': allowed are client and server"),
        ([step(), step()], "1.rail0 \\(client\\) twice"),
    ],
)
def test_a_list_that_cannot_be_run(steps: list[dict[str, Any]], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lists.check_steps(steps)


def test_a_test_within_one_host_has_both_sides() -> None:
    lists.check_steps([step(), step(1, "server")])
    assert len(lists.rounds_of([step(), step(1, "server")])[0]) == 2


def test_the_heartbeat_is_lost_when_its_stamp_stands_still() -> None:
    watch = lists.Watch(10.0, 1, 100.0)
    assert not watch.is_lost(1, 110.0)
    assert watch.is_lost(1, 110.1)
    assert not watch.is_lost(2, 110.2)
    assert not watch.is_lost(2, 120.0)
    assert watch.is_lost(2, 120.3)
    assert not watch.is_lost(1, 120.4), "a clock that was set back is no lost heartbeat"


def test_progress() -> None:
    rounds = [[step(1), step(1, "server")], [step(3), step(3, "server", id="3.rail1")]]
    tally = lists.Tally(rounds)
    counts = {"done": 0, "failed": 0, "clients_done": 0, "clients_failed": 0}
    assert tally.progress(0) == {"round": 1, "steps": 4, **counts, "running": ["1.rail0", "1.rail0"]}
    for side, status in (("client", 0), ("server", 1)):
        tally.add(lists.result_of(step(1, side), "exited", status, 1, (5.0, 6.0), ""))
    tally.add(lists.result_of(step(3), "silent", None, 1, (5.0, 6.0), ""))
    counts = {"done": 3, "failed": 2, "clients_done": 2, "clients_failed": 1}
    assert tally.progress(1) == {"round": 3, "steps": 4, **counts, "running": ["3.rail1"]}
    assert tally.progress(2)["running"] == []
    assert tally.progress(2)["round"] == 3


def test_a_result_can_be_told_by_json() -> None:
    result = lists.result_of(step(), "exited", 0, 2, (5.0, 6.5), b"a\xffb".decode("utf-8", "surrogateescape"))
    assert json.loads(json.dumps(result, ensure_ascii=False).encode()) == result
    assert (result["output"], result["command"], result["starts"]) == ("a\ufffdb", "x -n 1", 2)
    assert (result["started"], result["finished"], result["exit_status"], result["ended"]) == (5.0, 6.5, 0, "exited")


def test_the_oldest_runs_go() -> None:
    runs = {"f": 6.0, "a": 1.0, "b": 2.0, "broken": 0.0, "c": 3.0, "d": 4.0, "e": 5.0}
    assert lists.runs_to_remove(runs) == ["a", "broken"]
    assert lists.runs_to_remove({"a": 1.0}) == []


def test_identity_of_a_process() -> None:
    assert lists.start_ticks(STAT) == "987654"
    assert lists.start_ticks(STAT.replace(") S", ") Z")) is None
    assert lists.start_ticks(None) is None
    assert lists.start_ticks("") is None


def test_state_of_a_run() -> None:
    progress = {"finished": False, "stopped": False, "ticks": "987654"}
    assert lists.state_of(progress, "987654") == "running"
    assert lists.state_of(progress, "111") == "died"
    assert lists.state_of(progress, None) == "died"
    assert lists.state_of({**progress, "ticks": None}, None) == "died"
    assert lists.state_of({**progress, "finished": True}, None) == "finished"
    assert lists.state_of({**progress, "finished": True, "stopped": True}, None) == "stopped"
