# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What judged attempts say about each end of each rail: proven good, named as faulty, or still open.

An *end* is one direction of one host's rail; a *flow* goes from a sending to a receiving end. One good flow proves both its ends. An end is
named when it fails with at least two partners, one of them proven good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

Record = Mapping[str, Any]
Direction = Literal["send", "receive"]

OPPOSITE: dict[Direction, Direction] = {"send": "receive", "receive": "send"}
BAD = ("fail", "warn")


class End(NamedTuple):
    """One direction of a host on a rail."""

    rail: str
    host: str
    direction: Direction


class Flow(NamedTuple):
    """Data from one host to another on a rail."""

    rail: str
    sender: str
    receiver: str

    @property
    def ends(self) -> tuple[End, End]:
        return End(self.rail, self.sender, "send"), End(self.rail, self.receiver, "receive")

    @property
    def reverse(self) -> Flow:
        return Flow(self.rail, self.receiver, self.sender)


@dataclass
class Picture:
    """All attempts by flow. ``out``: hosts on rails that cannot be tested; ``blamed``: ends whose own host admits the fault."""

    flows: dict[Flow, list[Record]] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    out: set[tuple[str, str]] = field(default_factory=set)
    blamed: dict[End, list[Flow]] = field(default_factory=dict)
    clients_receive: bool = False  # all tests read

    @cached_property
    def states(self) -> dict[Flow, str]:
        """``good``, ``bad``, ``mixed`` (both were seen) or ``unknown``, of each flow that was tried."""
        return {flow: state_of(attempts) for flow, attempts in self.flows.items()}

    @cached_property
    def good(self) -> set[End]:
        """Ends that carried a good flow."""
        return {end for flow, state in self.states.items() if state in ("good", "mixed") for end in flow.ends}

    @cached_property
    def bad_flows(self) -> dict[End, list[Flow]]:
        """Bad flows by the ends that could be at fault."""
        found: dict[End, list[Flow]] = {}
        for flow, state in self.states.items():
            if state == "bad" and not any(end in self.blamed for end in flow.ends):
                for end in flow.ends:
                    found.setdefault(end, []).append(flow)
        return found

    @cached_property
    def named(self) -> dict[End, list[Flow]]:
        """Ends at fault, each with the flows that accuse it: those whose other end is proven good."""
        found = dict(self.blamed)
        for end, flows in self.bad_flows.items():
            accusing = [flow for flow in flows if self.other(flow, end) in self.good]
            if end not in self.good and accusing and len(flows) > 1:
                found[end] = accusing
        return found

    @cached_property
    def open(self) -> list[End]:
        """Ends of tested rails that are neither proven nor named, in the order of the hosts."""
        ends = [End(rail, host, direction) for rail, hosts in self.members.items() for host in hosts for direction in OPPOSITE]
        closed = self.good.union(self.named)
        return [end for end in ends if end in self.flows_of_end and end not in closed and (end.rail, end.host) not in self.out]

    @cached_property
    def flows_of_end(self) -> dict[End, list[Flow]]:
        """The flows by which each end was tried."""
        found: dict[End, list[Flow]] = {}
        for flow in self.flows:
            for end in flow.ends:
                found.setdefault(end, []).append(flow)
        return found

    @staticmethod
    def other(flow: Flow, end: End) -> End:
        """The other end of the flow."""
        sending, receiving = flow.ends
        return receiving if end == sending else sending


def read_picture(judged: Iterable[Record]) -> Picture:
    """Sort judged attempts, in the order in which they were made, by flow."""
    picture = Picture()
    members: dict[str, dict[str, None]] = {}
    worked: set[tuple[str, str]] = set()
    blamed: dict[tuple[str, str], str] = {}
    directions = set()
    for attempt in judged:
        directions.add(attempt.get("direction"))
        hosts = (attempt["client"], attempt["server"])
        members.setdefault(attempt["rail"], {}).update(dict.fromkeys(hosts))
        for flow in flows_of(attempt):
            picture.flows.setdefault(flow, []).append(attempt)
        if attempt["verdict"] in ("pass", *BAD) and not attempt.get("blamed"):
            worked.update((attempt["rail"], host) for host in hosts)
        elif attempt.get("blamed"):
            blamed[attempt["rail"], attempt["blamed"]] = attempt["outcome"]
    picture.clients_receive = directions == {"receive"}
    picture.members = {rail: list(hosts) for rail, hosts in members.items()}
    picture.out = {place for place in blamed if place not in worked}
    for rail, host in (place for place, outcome in blamed.items() if outcome == "dead" and place in picture.out):
        for end in (End(rail, host, "send"), End(rail, host, "receive")):
            picture.blamed[end] = [flow for flow in picture.flows if end in flow.ends]
    return picture


def flows_of(attempt: Record) -> list[Flow]:
    """The flows that an attempt tests."""
    forward = Flow(attempt["rail"], attempt["client"], attempt["server"])
    return {"both": [forward, forward.reverse], "receive": [forward.reverse]}.get(attempt.get("direction") or "send", [forward])


def state_of(attempts: Iterable[Record]) -> str:
    """The state of one flow: bad where one of its tests was never good."""
    seen: dict[str, set[str]] = {}
    for attempt in attempts:
        seen.setdefault(attempt["test"], set()).add(_result_of(attempt))
    sets = list(seen.values())
    if any("bad" in states and "good" not in states for states in sets):
        return "bad"
    if not all("good" in states for states in sets):
        return "unknown"
    return "mixed" if any("bad" in states for states in sets) else "good"


def _result_of(attempt: Record) -> str:
    if attempt["verdict"] in BAD:
        return "bad"
    # What was measured without a threshold carried data; testing it again would not tell more.
    return "good" if attempt["verdict"] == "pass" or attempt["outcome"] == "measured" else "unknown"
