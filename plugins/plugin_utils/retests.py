# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pairs to test next: open ends with partners proven good, so that one test of each decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ansible_collections.rdma.k8s.plugins.plugin_utils.ends import OPPOSITE, End, Flow, Picture

Round = list[dict[str, str]]

# An end gets so many partners; on a rail where nothing is good at all fewer, for then it is the rail.
MOST_PARTNERS = 6
MOST_PARTNERS_NO_GOOD = 3
# A test whose output cannot be trusted says nothing about the fabric yet, so it is made again, up to so many times in all.
MOST_TRIES = 3


class _Builder:
    """Fills one round after another; a host takes part once a round, or once a rail."""

    def __init__(self, picture: Picture, rails_at_once: bool) -> None:
        self.picture = picture
        self.rails_at_once = rails_at_once
        self.taken = set(picture.flows)
        self.busy: set[tuple[str, str | None]] = set()
        self.round: Round = []
        self.good: dict[tuple[str, str], list[str]] = {}
        for rail, hosts in picture.members.items():
            for direction in OPPOSITE:
                good = [host for host in hosts if End(rail, host, direction) in picture.good]
                # From both sides of the list, so that sending and receiving meet different partners.
                self.good[rail, direction] = good if direction == "send" else good[::-1]

    def most_partners(self, end: End) -> int:
        return MOST_PARTNERS if self.good[end.rail, OPPOSITE[end.direction]] else MOST_PARTNERS_NO_GOOD

    def start_round(self) -> None:
        self.busy, self.round = set(), []

    def slot(self, rail: str, host: str) -> tuple[str, str | None]:
        return host, rail if self.rails_at_once else None

    def is_free(self, rail: str, host: str) -> bool:
        return self.slot(rail, host) not in self.busy and (rail, host) not in self.picture.out

    def add(self, flow: Flow) -> bool:
        """Put the flow into the round if both hosts are free."""
        if not (self.is_free(flow.rail, flow.sender) and self.is_free(flow.rail, flow.receiver)):
            return False
        self.busy |= {self.slot(flow.rail, flow.sender), self.slot(flow.rail, flow.receiver)}
        client, server = (flow.receiver, flow.sender) if self.picture.clients_receive else (flow.sender, flow.receiver)
        self.round.append({"rail": flow.rail, "client": client, "server": server})
        self.taken.add(flow)
        return True

    def add_end(self, end: End, partners: Iterable[str]) -> str | None:
        """Test the end with the first partner that is free and new to it; the partner, or None."""
        if not self.is_free(end.rail, end.host):
            return None
        for partner in partners:
            flow = Flow(end.rail, end.host, partner) if end.direction == "send" else Flow(end.rail, partner, end.host)
            if partner != end.host and flow not in self.taken and self.add(flow):
                return partner
        return None


def next_rounds(picture: Picture, rails_at_once: bool) -> list[Round]:
    """Rounds that test each open end and each doubtful flow once, as far as partners reach; empty when nothing is left to learn."""
    builder = _Builder(picture, rails_at_once)
    ends = [end for end in picture.open if len(picture.flows_of_end[end]) < builder.most_partners(end)]
    flows = doubtful_flows(picture)
    slots = Counter(builder.slot(end.rail, end.host) for end in ends)
    rounds: list[Round] = []
    # No more rounds than the busiest host needs: what is learnt in them finds better partners for the rest.
    for _unused in range(max([*slots.values(), 1 if flows else 0], default=0)):
        builder.start_round()
        flows = [flow for flow in flows if not builder.add(flow)]
        ends = _add_ends(builder, ends)
        if not builder.round:
            break
        rounds.append(builder.round)
    return rounds


def doubtful_flows(picture: Picture) -> list[Flow]:
    """Flows to repeat: bad ones that no other test can explain (seen once, in one direction), and those that broke off undecided."""
    return [
        flow
        for flow, state in picture.states.items()
        if (state == "bad" and _is_doubtful(picture, flow)) or (state == "unknown" and _broke_off(picture, flow))
    ]


def _broke_off(picture: Picture, flow: Flow) -> bool:
    attempts = picture.flows[flow]
    tries = len({attempt["round"] for attempt in attempts})
    return tries < MOST_TRIES and any(attempt["outcome"] == "damaged" for attempt in attempts)


def _is_doubtful(picture: Picture, flow: Flow) -> bool:
    seen_once = len({attempt["round"] for attempt in picture.flows[flow]}) == 1
    explained = any(end in picture.named for end in flow.ends)
    exhausted = all(end in picture.good or not has_new_partner(picture, end) for end in flow.ends)
    return seen_once and exhausted and not explained and picture.states.get(flow.reverse) != "bad"


def has_new_partner(picture: Picture, end: End) -> bool:
    """Whether any host that could be tested is new to the end."""
    known = {host for flow in picture.flows_of_end[end] for host in (flow.sender, flow.receiver)}
    return any(host != end.host and host not in known and (end.rail, host) not in picture.out for host in picture.members[end.rail])


def _add_ends(builder: _Builder, ends: list[End]) -> list[End]:
    """Fill the round with open ends: first with partners proven good, then with each other. What is left for later."""
    left = [end for end in ends if not builder.add_end(end, builder.good[end.rail, OPPOSITE[end.direction]])]
    waiting: dict[tuple[str, str], dict[str, None]] = {}
    for end in left:
        if builder.is_free(end.rail, end.host):
            waiting.setdefault((end.rail, end.direction), {})[end.host] = None
    done: set[End] = set()
    for end in left:
        candidates = waiting.get((end.rail, OPPOSITE[end.direction]), {})
        partner = None if end in done else builder.add_end(end, candidates)
        if partner:
            done |= {end, End(end.rail, partner, OPPOSITE[end.direction])}
            for host in (end.host, partner):
                for direction in OPPOSITE:
                    waiting.get((end.rail, direction), {}).pop(host, None)
    return [end for end in left if end not in done]
