# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded fabrics with random faults: each is named, nobody else is, within the promised number of rounds."""

from __future__ import annotations

import math
import random

import pytest
from ansible_collections.rdma.k8s.tests.unit.simulation.fabric import Fabric, Fault, Verification, verify

# How many runs of each size; bigger ones take longer.
RUNS = {(2, 1): 10, (3, 2): 30, (5, 3): 20, (16, 8): 25, (33, 4): 12, (128, 8): 8}
CASES = [(hosts, rails, seed) for (hosts, rails), runs in RUNS.items() for seed in range(runs)]
DIRECTIONS = {"send": "send", "receive": "receive", "rail": None, "host": None}


def random_faults(hosts: int, rails: int, seed: int) -> list[Fault]:
    """Faults of distinct hosts, a minority; in small fabrics one."""
    chance = random.Random(seed)
    names = [f"node{number + 1}" for number in range(hosts)]
    bad = chance.sample(names, chance.randint(1, max(1, hosts // 8)))
    return [random_fault(chance, host, rails) for host in bad]


def random_fault(chance: random.Random, host: str, rails: int) -> Fault:
    scope = chance.choice(["host", "rail", "send", "receive"])
    slow = round(chance.uniform(0.05, 0.85), 3)
    factor = chance.choice([0.0, slow]) if scope in ("host", "rail") else slow
    return Fault(scope, host, None if scope == "host" else f"rail{chance.randrange(rails)}", factor=factor)


def promised_rounds(bad_hosts: int) -> int:
    return 2 + math.ceil(math.log2(bad_hosts + 1))


def key(fault: Fault, rails: int) -> tuple[str, str, str | None, str | None]:
    """What the finding must say of a fault; with one rail, rail and host are the same."""
    scope = "host" if fault.scope == "host" and rails > 1 else "rail"
    rail = "rail0" if fault.scope == "host" and rails == 1 else fault.rail
    return scope, fault.host, rail, DIRECTIONS[fault.scope]


def named(verification: Verification) -> set[tuple[str, str, str | None, str | None]]:
    return {(finding["scope"], finding["host"], finding["rail"], finding["direction"]) for finding in verification.findings}


@pytest.mark.parametrize(("hosts", "rails", "seed"), [case for case in CASES if case[0] > 2])
def test_each_fault_is_named_and_nobody_else(hosts: int, rails: int, seed: int) -> None:
    faults = random_faults(hosts, rails, seed)
    verification = verify(Fabric(hosts, rails, faults, seed))
    assert named(verification) == {key(fault, rails) for fault in faults}
    assert {finding["outcome"] for finding in verification.findings} == {"fail"}
    assert verification.extra_rounds <= promised_rounds(len(faults))


@pytest.mark.parametrize("seed", range(RUNS[2, 1]))
def test_of_two_hosts_only_the_pair_is_named(seed: int) -> None:
    verification = verify(Fabric(2, 1, random_faults(2, 1, seed), seed))
    [finding] = verification.findings
    assert (finding["scope"], {finding["host"], finding["peer"]}) == ("pair", {"node1", "node2"})
    assert "With two hosts only the pair can be named." in finding["cause"]
    assert verification.extra_rounds <= 2


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("hosts", "rails"), [(3, 2), (6, 2), (5, 3)])
def test_one_rail_after_the_other_names_the_same(hosts: int, rails: int, seed: int) -> None:
    faults = random_faults(hosts, rails, seed)
    verification = verify(Fabric(hosts, rails, faults, seed), rails_at_once=False)
    assert named(verification) == {key(fault, rails) for fault in faults}
    assert verification.extra_rounds <= rails * promised_rounds(len(faults))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strategy", ["screen", "mesh"])
@pytest.mark.parametrize(("hosts", "rails"), [(2, 1), (3, 2), (16, 8)])
def test_a_healthy_fabric_is_not_accused(hosts: int, rails: int, strategy: str, seed: int) -> None:
    verification = verify(Fabric(hosts, rails, seed=seed), strategy=strategy)
    assert (verification.findings, verification.extra_rounds) == ([], 0)


@pytest.mark.parametrize("seed", range(6))
def test_the_mesh_needs_no_further_round(seed: int) -> None:
    faults = random_faults(16, 2, seed)
    verification = verify(Fabric(16, 2, faults, seed), strategy="mesh")
    assert named(verification) == {key(fault, 2) for fault in faults}
    assert verification.extra_rounds == 0


@pytest.mark.parametrize("factor", [0.0, 0.5])
@pytest.mark.parametrize(("hosts", "peers"), [(3, ("node1", "node2")), (4, ("node3", "node4")), (16, ("node1", "node2"))])
def test_a_bad_path_is_a_pair_s(hosts: int, peers: tuple[str, str], factor: float) -> None:
    verification = verify(Fabric(hosts, 2, [Fault("pair", peers[0], "rail1", peers[1], factor)]))
    [finding] = verification.findings
    assert (finding["scope"], {finding["host"], finding["peer"]}, finding["rail"]) == ("pair", set(peers), "rail1")
    assert "Both are well with other hosts" in finding["cause"]
    assert verification.extra_rounds <= 3


@pytest.mark.parametrize("hosts", [3, 4, 9, 16])
def test_an_absent_host_costs_only_its_own_pairs(hosts: int) -> None:
    verification = verify(Fabric(hosts, 2, [Fault("absent", "node2")]))
    [finding] = verification.findings
    assert (finding["outcome"], finding["scope"], finding["host"]) == ("missing", "host", "node2")
    good = {(attempt[side], side) for attempt in verification.judged for side in ("client", "server") if attempt["verdict"] == "pass"}
    assert good == {(f"node{number + 1}", side) for number in range(hosts) for side in ("client", "server") if number != 1}


@pytest.mark.parametrize("factor", [0.0, 0.93])
@pytest.mark.parametrize("hosts", [4, 5, 64])
def test_a_bad_rail_accuses_no_host(hosts: int, factor: float) -> None:
    rail = [Fault("rail", f"node{number + 1}", "rail0", factor=factor) for number in range(hosts)]
    verification = verify(Fabric(hosts, 2, rail))
    [finding] = verification.findings
    assert (finding["scope"], finding["host"], finding["rail"]) == ("rail", None, "rail0")
    assert finding["outcome"] == ("warn" if factor else "fail")
    assert verification.extra_rounds <= 6
