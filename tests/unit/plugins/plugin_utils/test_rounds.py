# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.rounds import circle_rounds, plan_rounds, screening_rounds


def names(count: int) -> list[str]:
    return [f"node{number + 1}" for number in range(count)]


def rails(count: int, *names: str) -> dict[str, list[str]]:
    return {f"node{number + 1}": list(names) for number in range(count)}


def assert_disjoint(rounds: list[list[dict[str, str]]], rails_at_once: bool) -> None:
    for pairs in rounds:
        ends = [(pair[side], pair["rail"] if rails_at_once else None) for pair in pairs for side in ("client", "server")]
        assert len(ends) == len(set(ends))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9, 127, 128])
def test_screening_lets_each_host_send_and_receive(count: int) -> None:
    hosts = names(count)
    rounds = screening_rounds(hosts)
    assert len(rounds) == (3 if count % 2 else 2)
    tested = [pair for pairs in rounds for pair in pairs]
    assert {client for client, _server in tested} == {server for _client, server in tested} == set(hosts)
    assert len(tested) == count


def test_screening_of_an_even_number_tests_both_directions_of_each_pair() -> None:
    forward, backward = screening_rounds(names(6))
    assert backward == [(server, client) for client, server in forward]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 13])
def test_the_mesh_holds_every_ordered_pair_once(count: int) -> None:
    tested = [pair for pairs in circle_rounds(names(count)) for pair in pairs]
    assert sorted(tested) == sorted(permutations(names(count), 2))
    assert len(circle_rounds(names(count))) == 2 * (count - 1 + count % 2)


@pytest.mark.parametrize("strategy", ["screen", "mesh"])
@pytest.mark.parametrize("rails_at_once", [False, True])
@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_the_pairs_of_a_round_are_disjoint(strategy: str, rails_at_once: bool, count: int) -> None:
    plan = plan_rounds(names(count), rails(count, "rail0", "rail1"), strategy, rails_at_once=rails_at_once)
    assert_disjoint(plan["rounds"], rails_at_once)
    directions = {(pair["rail"], pair["client"]) for pairs in plan["rounds"] for pair in pairs}
    assert directions == {(rail, host) for rail in ("rail0", "rail1") for host in names(count)}


def test_rounds_do_not_grow_with_hosts() -> None:
    for count in (10, 1000):
        plan = plan_rounds(names(count), rails(count, "rail0", "rail1"), rails_at_once=True, test_seconds=10, start_seconds=5)
        assert len(plan["rounds"]) == 2
        assert plan["predicted_s"] == 25


def test_rails_that_fewer_hosts_have() -> None:
    plan = plan_rounds(names(4), {**rails(4, "rail0"), "node2": ["rail0", "rail1"], "node4": ["rail0", "rail1", "rail2"]})
    second = [pair for pairs in plan["rounds"] for pair in pairs if pair["rail"] == "rail1"]
    assert second == [
        {"rail": "rail1", "client": "node2", "server": "node4"},
        {"rail": "rail1", "client": "node4", "server": "node2"},
    ]
    assert plan["alone"] == [{"host": "node4", "rail": "rail2"}]


def test_a_budget_cuts_whole_rounds_from_the_end_and_says_which() -> None:
    whole = plan_rounds(names(4), rails(4, "rail0", "rail1"), "mesh", test_seconds=10, start_seconds=5)
    assert (len(whole["rounds"]), whole["predicted_s"], whole["cut"]) == (12, 125, [])
    plan = plan_rounds(names(4), rails(4, "rail0", "rail1"), "mesh", test_seconds=10, start_seconds=5, budget_s=49.9)
    assert plan["rounds"] == whole["rounds"][:4]
    assert plan["cut"] == [pair for pairs in whole["rounds"][4:] for pair in pairs]
    assert plan["predicted_s"] == 45


def test_a_cut_costs_all_rails_alike() -> None:
    plan = plan_rounds(names(4), rails(4, "rail0", "rail1"), "mesh", test_seconds=10, budget_s=40)
    counts = {rail: sum(pair["rail"] == rail for pair in plan["cut"]) for rail in ("rail0", "rail1")}
    assert counts["rail0"] == counts["rail1"]


def test_the_plan_is_deterministic() -> None:
    once, again = (plan_rounds(names(9), rails(9, "rail0", "rail1"), "mesh") for _unused in range(2))
    assert once == again


def test_hosts_that_share_no_rail_leave_an_empty_plan() -> None:
    plan = plan_rounds(names(2), {"node1": ["rail0"], "node2": ["rail1"]})
    assert (plan["rounds"], plan["predicted_s"]) == ([], 0)
    assert plan["alone"] == [{"host": "node1", "rail": "rail0"}, {"host": "node2", "rail": "rail1"}]


@pytest.mark.parametrize(
    ("hosts", "options", "sentence"),
    [
        (["node1"], {}, "need at least two hosts, but there is node1; add hosts"),
        ([], {}, "need at least two hosts, but there is none"),
        (["node1", "node1"], {}, "node1 is listed more than once"),
        (["node1", "node2"], {"strategy": "ring"}, "'ring'; allowed are screen and mesh"),
        (["node1", "node2"], {"budget_s": 5, "test_seconds": 12}, "budget of 5 s does not hold one round, which takes 12 s"),
        (["node1", "node2"], {"test_seconds": 0}, "A round of 0 s"),
    ],
)
def test_bad_input_gets_one_sentence(hosts: list[str], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        plan_rounds(hosts, rails(2, "rail0"), **options)
