# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.rails import resolve_rails
from ansible_collections.rdma.k8s.plugins.plugin_utils.host_comparison import compare_hosts
from recorded_host import facts_of, rxe_host

RAILS = [{"name": "rail0", "netdev": "fab0", "address": None}]


def compare(facts: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    findings = compare_hosts(facts, {host: resolve_rails(RAILS, own, host)[0] for host, own in facts.items()})
    return [(finding["outcome"], finding["host"], finding["cause"]) for finding in findings]


@pytest.fixture
def facts() -> dict[str, Any]:
    own = facts_of(rxe_host())
    return {name: copy.deepcopy(own) for name in ("a", "b", "c", "d", "e")}


def test_equal_hosts(facts: dict[str, Any]) -> None:
    assert compare(facts) == []


def test_the_odd_one_out(facts: dict[str, Any]) -> None:
    facts["c"]["kernel"] = "5.15.0"
    facts["d"]["devices"][0]["firmware"] = "28.39.1002"
    facts["e"]["netdevs"]["fab0"]["mtu"] = 9000
    assert compare(facts) == [
        ("warn", "c", "kernel is 5.15.0, on 4 other hosts it is 6.1.0-57-amd64."),
        ("warn", "d", "rail0: firmware is 28.39.1002, on 4 other hosts it is None."),
        ("warn", "e", "rail0: mtu is 9000, on 4 other hosts it is 1500."),
    ]


def test_without_a_majority_nobody_is_odd(facts: dict[str, Any]) -> None:
    two = {name: facts[name] for name in ("a", "b")}
    two["b"]["tools"]["ib_write_bw"] = "6.27"
    assert compare(two) == [("warn", None, "perftest differs between hosts: 6.06 on a; 6.27 on b.")]


def test_many_hosts_are_not_all_named(facts: dict[str, Any]) -> None:
    many = {f"n{number}": {**facts["a"], "kernel": "x" if number % 2 else "y"} for number in range(12)}
    assert compare(many) == [
        ("warn", None, "kernel differs between hosts: x on n1, n3, n5, n7 and 2 more; y on n0, n2, n4, n6 and 2 more.")
    ]
