# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's filters: known by their names, and what is wrong comes as Ansible's own error with the one sentence."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

PLAN: dict[str, Any] = {"rounds": [[{"rail": "rail0", "client": "a", "server": "b"}]], "cut": [], "alone": []}
BAD_THRESHOLD = [{"metric": "ib_write_bw.average_gbit_s", "at_leest": 1}]


def door(name: str) -> Callable[..., Any]:
    module = importlib.import_module(f"ansible_collections.rdma.k8s.plugins.filter.{name}")
    filters: dict[str, Callable[..., Any]] = module.FilterModule().filters()
    return filters[name]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("plan_rounds", (["a"], {"a": ["rail0"]}), "need at least two hosts"),
        ("test_steps", (PLAN, {}, ["ib_right_bw"], {}), "'ib_right_bw' is unknown; allowed are ibv_rc_pingpong"),
        ("judge", ([], BAD_THRESHOLD, {}), "unknown key 'at_leest'; did you mean at_least"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(name: str, arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(AnsibleFilterError, match=sentence):
        door(name)(*arguments)


def test_from_plan_to_findings() -> None:
    rail = {"name": "rail0", "device": "rxe0", "port": 1, "address": "192.0.2.1", "gid_index": 1}
    rails = {"a": {"rail0": rail}, "b": {"rail0": {**rail, "address": "192.0.2.2"}}}
    options = {"port_first": 18600, "port_last": 18650, "start_window_s": 30, "deadline_s": 20, "iterations": 500}
    plan = door("plan_rounds")(["a", "b"], {"a": ["rail0"], "b": ["rail0"]})
    steps = door("test_steps")(plan, rails, ["ib_write_bw"], options)
    attempts = door("test_attempts")(steps, {}, {"b": "it was unreachable"})
    judged = door("judge")(attempts, [], rails)
    result = door("localise")(judged, plan=plan)
    assert [(attempt["verdict"], attempt["blamed"]) for attempt in judged] == [("missing", "b")] * 2
    assert [(finding["outcome"], finding["host"], finding["rail"]) for finding in result["findings"]] == [
        ("missing", "b", None),
        ("missing", "a", "rail0"),
    ]
    assert result["settled"]


def test_mistakes_in_thresholds_are_sentences() -> None:
    thresholds = [{"metric": "ib_write_bw.average_gbit_s", "where": {"rail": "rail0"}, "at_least": 1}]
    assert door("threshold_problems")(thresholds, ["a"], ["rail0"]) == []
    [unknown_rail] = door("threshold_problems")(thresholds, ["a"], ["rail1"])
    [unknown_key] = door("threshold_problems")(BAD_THRESHOLD)
    [no_list] = door("threshold_problems")({"metric": "ib_write_bw.average_gbit_s"})
    assert "'rail0'; did you mean rail1" in unknown_rail
    assert "unknown key 'at_leest'; did you mean at_least" in unknown_key
    assert no_list.endswith("it must be a list of thresholds, each with metric and at_least or at_most.")


def test_a_host_that_told_nothing_is_missing() -> None:
    [finding] = door("lost_hosts")(["a"])
    assert (finding["outcome"], finding["scope"], finding["host"]) == ("missing", "host", "a")
