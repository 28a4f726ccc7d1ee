# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated fabric with known faults, which answers a plan with attempts. It stands in for hosts, cards and switches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.judge import judge
from ansible_collections.rdma.k8s.plugins.plugin_utils.localise import localise
from ansible_collections.rdma.k8s.plugins.plugin_utils.rounds import plan_rounds

RATE_GBIT_S = 100.0
HEALTHY_GBIT_S = 97.0  # of 98.0 that MTU 4096 lets through
NOISE = 0.005


@dataclass(frozen=True)
class Fault:
    """``scope``: host, rail, send, receive, pair or absent. ``factor``: what it leaves of the bandwidth; 0 is dead."""

    scope: str
    host: str
    rail: str | None = None
    peer: str | None = None
    factor: float = 0.0

    def hits(self, rail: str, sender: str, receiver: str) -> bool:
        if self.rail not in (None, rail):
            return False
        if self.scope == "pair":
            return {sender, receiver} == {self.host, self.peer}
        if self.scope == "send" and self.factor:
            return sender == self.host
        if self.scope == "receive" and self.factor:
            return receiver == self.host
        return self.host in (sender, receiver)


class Fabric:
    """``hosts`` hosts with ``rails`` rails each."""

    def __init__(self, hosts: int, rails: int, faults: Iterable[Fault] = (), seed: int = 0) -> None:
        self.hosts = [f"node{number + 1}" for number in range(hosts)]
        names = [f"rail{number}" for number in range(rails)]
        self.rails_of_host = dict.fromkeys(self.hosts, names)
        rail = {"rate_gbit_s": RATE_GBIT_S, "active_mtu": 4096, "link_layer": "ethernet", "address": "192.0.2.1"}
        self.rails_by_host = {host: dict.fromkeys(names, rail) for host in self.hosts}
        self.faults = list(faults)
        self.random = random.Random(seed)
        self.round = 0

    def run(self, rounds: Iterable[Iterable[dict[str, str]]]) -> list[dict[str, Any]]:
        """Judged attempts of the rounds."""
        return judge(self.measure(rounds), [], self.rails_by_host)

    def measure(self, rounds: Iterable[Iterable[dict[str, str]]]) -> list[dict[str, Any]]:
        """Attempts of the rounds."""
        attempts = []
        for pairs in rounds:
            self.round += 1
            attempts += [attempt for pair in pairs for attempt in self.attempts(**pair)]
        return attempts

    def attempts(self, rail: str, client: str, server: str) -> list[dict[str, Any]]:
        """A ping-pong and a bandwidth test of one pair."""
        hitting = [fault for fault in self.faults if fault.hits(rail, client, server)]
        gone = next((fault.host for fault in hitting if fault.scope == "absent"), None)
        factor = min((fault.factor for fault in hitting), default=1.0)
        value = round(min(HEALTHY_GBIT_S * factor * self.random.gauss(1, NOISE), 98.0), 2)
        found: list[dict[str, Any]] = []
        for test, metric, measured in (("ibv_rc_pingpong", "round_trip_us", 8.5), ("ib_write_bw", "average_gbit_s", value)):
            labels = {
                "host": client,
                "peer": server,
                "rail": rail,
                "direction": "send",
                "test": test,
                "message_bytes": 65536,
                "side": "client",
            }
            outcome = "absent" if gone else "measured" if factor else "dead"
            found.append(
                {
                    "id": f"{self.round}.{rail}.{client}>{server}.{test}",
                    "round": self.round,
                    "rail": rail,
                    "test": test,
                    "client": client,
                    "server": server,
                    "direction": "send",
                    "outcome": outcome,
                    "measurements": [{"metric": f"{test}.{metric}", "value": measured, "labels": labels}] if outcome == "measured" else [],
                    "cause": {"absent": f"{gone} did not take part.", "dead": "Silence."}.get(outcome),
                    "remedy": None,
                    "blamed": gone,
                    "evidence": {"client": None, "server": None},
                }
            )
        return found


@dataclass
class Verification:
    """What came of one verification: its findings, all attempts, and how many rounds it took beside the plan's."""

    findings: list[dict[str, Any]]
    judged: list[dict[str, Any]]
    extra_rounds: int


def verify(
    fabric: Fabric,
    *,
    rails_at_once: bool = True,
    strategy: str = "screen",
    most_rounds: int = 16,
    watch: Callable[[Any], None] = lambda _: None,
) -> Verification:
    """Plan, run, judge and localise until it is settled, as the playbook does."""
    plan = plan_rounds(fabric.hosts, fabric.rails_of_host, strategy, rails_at_once=rails_at_once)
    judged = fabric.run(plan["rounds"])
    extra = 0
    while True:
        result = localise(judged, plan=plan, rails_at_once=rails_at_once, rounds_left=most_rounds - extra)
        watch(result)
        if result["settled"]:
            return Verification(result["findings"], judged, extra)
        judged += fabric.run(result["next_rounds"])
        extra += len(result["next_rounds"])
