# SPDX-License-Identifier: GPL-3.0-or-later
"""Watching a run: who answers, who is gone, what is said."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.run_watch import watch

RUN = {"steps": {"a": [], "b": [], "c": []}, "tests": 6, "rounds": 3, "turns": 6, "predicted_s": 60.0, "start_s": 30, "limit_s": 300}
UNREACHABLE = {"unreachable": True, "msg": "Failed to connect to the host via ssh:\nno route"}
STARTED = {host: {"started": 1, "ansible_job_id": "j1"} for host in "abc"}


def answer(state: str = "running", current: int = 1, done: int = 0, failed: int = 0) -> dict[str, Any]:
    counts = {"round": 2 * current - 1, "clients_done": done, "clients_failed": failed, "finished": state == "finished"}
    return {"state": state, "progress": counts if state != "none" else {}}


def all_answer(**more: Any) -> dict[str, Any]:
    return {host: answer(**more) for host in "abc"}


def test_a_run_from_start_to_end() -> None:
    state = watch(RUN, {}, STARTED, 0)
    assert (state["over"], state["absent"], state["text"]) == (False, [], "starting, 0 of 6 tests done, 0 failed, about 1 min 0 s left")
    state = watch(RUN, state, {**all_answer(current=2, done=1), "b": answer(current=1, done=1, failed=1)}, 30)
    assert (state["over"], state["text"]) == (False, "round 1 of 3, 3 of 6 tests done, 1 failed, about 30 s left")
    state = watch(RUN, state, {**all_answer(state="finished", current=3, done=2), "b": answer(current=3, done=1)}, 50)
    assert (state["over"], state["text"]) == (False, "round 3 of 3, 5 of 6 tests done, 0 failed, about 10 s left")
    state = watch(RUN, state, all_answer(state="finished", current=3, done=2), 55)
    assert (state["over"], state["text"]) == (True, "round 3 of 3, 6 of 6 tests done, 0 failed, over after 55 s")


def test_a_run_that_takes_longer_than_predicted() -> None:
    state = watch(RUN, watch(RUN, {}, STARTED, 0), all_answer(), 70)
    assert state["text"] == "round 1 of 3, 0 of 6 tests done, 0 failed, longer than predicted"


def test_a_host_that_cannot_be_started_is_absent_at_once() -> None:
    state = watch(RUN, {}, {**STARTED, "b": UNREACHABLE, "c": {"failed": True, "msg": "no Python"}}, 0)
    assert (state["absent"], state["gone"]) == (["b", "c"], ["b", "c"])
    assert state["reasons"]["b"] == "could not be started: Failed to connect to the host via ssh:"
    assert watch(RUN, state, {"a": answer(state="finished"), "b": {"skipped": True}, "c": {"skipped": True}}, 9)["over"]


def test_one_missed_answer_is_forgiven_a_second_is_not() -> None:
    state = watch(RUN, {}, STARTED, 0)
    state = watch(RUN, state, {**all_answer(), "b": UNREACHABLE}, 3)
    assert state["absent"] == []
    state = watch(RUN, state, all_answer(), 6)
    state = watch(RUN, state, {**all_answer(), "b": UNREACHABLE}, 9)
    assert state["absent"] == []
    state = watch(RUN, state, {**all_answer(), "b": UNREACHABLE}, 12)
    assert (state["absent"], state["gone"]) == (["b"], ["b"])
    assert "absent: b" in state["text"]
    state = watch(RUN, state, {**all_answer(state="finished"), "b": {"skipped": True}}, 15)
    assert (state["over"], state["absent"]) == (True, ["b"])


@pytest.mark.parametrize("early", ["stopped", "died"])
def test_a_run_that_ended_early_is_not_waited_for(early: str) -> None:
    state = watch(RUN, {}, STARTED, 0)
    state = watch(RUN, state, {**all_answer(), "b": answer(state=early)}, 3)
    assert (state["over"], state["absent"], state["reasons"]) == (False, ["b"], {"b": f"its run {early}"})


def test_a_run_that_never_begins() -> None:
    state = watch(RUN, {}, STARTED, 0)
    for elapsed in (3, 29):
        state = watch(RUN, state, {**all_answer(), "c": answer(state="none")}, elapsed)
        assert state["absent"] == []
    for elapsed in (31, 34):
        state = watch(RUN, state, {**all_answer(), "c": answer(state="none")}, elapsed)
    assert state["reasons"] == {"c": "its run did not start"}


def test_the_watch_itself_ends() -> None:
    state = watch(RUN, watch(RUN, {}, STARTED, 0), all_answer(), 301)
    assert state["over"]


def test_many_absent_hosts_stay_one_line() -> None:
    hosts = [f"node{number:02}" for number in range(40)]
    state = watch({**RUN, "steps": {host: [] for host in hosts}}, {}, dict.fromkeys(hosts, UNREACHABLE), 0)
    assert state["over"]
    assert state["text"].endswith("node06, node07 …, over after 0 s")
