# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about what was not measured: absent hosts, tools that failed, pairs that were cut. What was not measured has not passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.ends import Flow, Picture, flows_of
from ansible_collections.rdma.k8s.plugins.plugin_utils.findings import Finding, make_finding

Record = Mapping[str, Any]


def gap_findings(picture: Picture, judged: Iterable[Record], plan: Record) -> list[Finding]:
    """One finding for each cause, whatever the number of its tests."""
    absent: dict[str, list[Record]] = {}
    own: dict[tuple[str, str | None, str | None], list[Record]] = {}
    common: dict[tuple[str, str | None], list[Record]] = {}
    passing: dict[Flow, list[Record]] = {}
    for attempt in judged:
        flow = flows_of(attempt)[0]
        if attempt["verdict"] == "missing":
            absent.setdefault(attempt.get("blamed") or attempt["server"], []).append(attempt)
        elif attempt["outcome"] == "damaged" and picture.states[flow] == "good":
            passing.setdefault(flow, []).append(attempt)
        elif attempt["outcome"] == "damaged" and picture.states[flow] != "unknown":
            continue  # the finding about the flow cites it
        elif attempt["verdict"] == "inconclusive" and attempt.get("blamed"):
            own.setdefault((attempt["blamed"], attempt["cause"], attempt.get("remedy")), []).append(attempt)
        elif attempt["verdict"] == "inconclusive":
            common.setdefault((attempt["test"], attempt.get("remedy")), []).append(attempt)
    return [
        *(_absent(host, attempts) for host, attempts in absent.items()),
        *(_own(host, cause, remedy, attempts) for (host, cause, remedy), attempts in own.items()),
        *(_common(test, remedy, attempts) for (test, remedy), attempts in common.items()),
        *(_passing(picture, flow, attempts) for flow, attempts in passing.items()),
        *_unmet(picture),
        *_planned(plan),
    ]


def lost_hosts(hosts: Iterable[str]) -> list[Finding]:
    """A finding for each host of the play that told nothing, because it failed or was lost before."""
    cause = "It took no part: it failed or was unreachable in an earlier step."
    remedy = "see above what happened to it, then verify again"
    return [make_finding("missing", "host", cause, remedy, host=host) for host in hosts]


def _absent(host: str, attempts: Sequence[Record]) -> Finding:
    cause = f"{attempts[0]['cause']} So {_count(attempts)} missing."
    return make_finding("missing", "host", cause, "see why it was unreachable or ended early, then verify again", _ids(attempts), host=host)


def _own(host: str, cause: str | None, remedy: str | None, attempts: Sequence[Record]) -> Finding:
    rails = {attempt["rail"] for attempt in attempts}
    tests = {attempt["test"] for attempt in attempts}
    known = {"host": host, "rail": rails.pop() if len(rails) == 1 else None, "test": tests.pop() if len(tests) == 1 else None}
    sentence = f"{cause} So {_count(attempts)} inconclusive."
    return make_finding("inconclusive", "rail" if known["rail"] else "host", sentence, remedy or "read the output", _ids(attempts), **known)


def _common(test: str, remedy: str | None, attempts: Sequence[Record]) -> Finding:
    pairs = {(attempt["rail"], attempt["client"], attempt["server"]) for attempt in attempts}
    rails = {attempt["rail"] for attempt in attempts}
    first = attempts[0]
    known: dict[str, str] = {"test": test}
    if len(rails) == 1:
        known["rail"] = first["rail"]
    if len(pairs) == 1:
        known.update(host=first["client"], peer=first["server"])
    scope = "pair" if len(pairs) == 1 else "rail" if len(rails) == 1 else "cluster"
    sentence = f"{first['cause']} So {_count(attempts)} inconclusive."
    return make_finding("inconclusive", scope, sentence, remedy or "read the output", _ids(attempts), **known)


def _passing(picture: Picture, flow: Flow, attempts: Sequence[Record]) -> Finding:
    tries = len({attempt["round"] for attempt in picture.flows[flow]})
    cause = f"{attempts[0]['cause']} That happened in {len(attempts)} of {tries} runs, so it comes and goes."
    remedy = "repeat the test over a longer time, and read the kernel log of both hosts"
    known = {"host": flow.sender, "peer": flow.receiver, "rail": flow.rail, "test": attempts[0]["test"]}
    return make_finding("warn", "pair", cause, remedy, _ids(attempts), **known)


def _unmet(picture: Picture) -> list[Finding]:
    """Hosts that were there, but met nobody: all that tried them was absent."""
    places: dict[tuple[str, str], list[Record]] = {}
    for end in picture.open:
        attempts = [attempt for flow in picture.flows_of_end[end] for attempt in picture.flows[flow]]
        if all(attempt["verdict"] == "missing" for attempt in attempts):
            places.setdefault((end.host, end.rail), []).extend(attempts)
    remedy = "verify again when its partners are there"
    return [
        make_finding(
            "missing", "rail", f"{host} was not measured on {rail}: no partner took part.", remedy, _ids(attempts), host=host, rail=rail
        )
        for (host, rail), attempts in places.items()
    ]


def _planned(plan: Record) -> list[Finding]:
    """What the plan itself leaves out."""
    found = [
        make_finding(
            "missing",
            "rail",
            f"No other host has {place['rail']}, so {place['host']} cannot be tested on it.",
            "give the rail to another host, or take it out of rdma_rails of this one",
            host=place["host"],
            rail=place["rail"],
        )
        for place in plan.get("alone") or ()
    ]
    cut = plan.get("cut") or ()
    if cut:
        total = len(cut) + sum(len(pairs) for pairs in plan["rounds"])
        cause = f"The time budget left out {len(cut)} of {total} planned pairs."
        found.append(make_finding("missing", "cluster", cause, "raise the time budget, or choose the strategy screen"))
    return found


def _count(attempts: Sequence[Record]) -> str:
    return f"{len(attempts)} tests are" if len(attempts) > 1 else "1 test is"


def _ids(attempts: Iterable[Record]) -> list[str]:
    return [attempt["id"] for attempt in attempts]
