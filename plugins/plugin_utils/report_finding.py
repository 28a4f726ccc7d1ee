# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings made complete: every field there, and nothing unmeasured or bad left without one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import WEIGHT, Record, finding_key

FIELDS = ("id", "outcome", "scope", "host", "peer", "rail", "test", "metric", "value", "threshold", "cause", "remedy", "evidence")
MARKING_SCOPES = ("host", "node", "rail", "pod", "link")
UNTESTED = "No test of it was planned or carried out."
RETEST = "Find out why it took no part, then run the verification again."
READ_EVIDENCE = "Read the evidence."
KEPT_ATTEMPTS = 4


def complete_findings(findings: Iterable[Record], tests: Sequence[Record], rails: Mapping[str, Mapping[str, Record]]) -> list[Record]:
    """``findings`` in the order of the report, with those added that ``tests`` and ``rails`` still call for."""
    given = [make_finding(**finding) for finding in findings]
    given += explain_tests(tests, given)
    given += explain_rails(tests, given, rails)
    return number_findings(sorted(given, key=finding_key))


def make_finding(outcome: str, scope: str, **fields: object) -> Record:
    """A finding with every field of the schema, ``None`` where nothing is known; unknown fields are dropped."""
    given = {"outcome": outcome, "scope": scope, **fields}
    finding = {field: given.get(field) for field in (*FIELDS, "direction")}
    if isinstance(finding["value"], float) and not math.isfinite(finding["value"]):
        finding["value"] = None
    return {**finding, "evidence": list(finding["evidence"] or [])}  # type: ignore[call-overload]


def number_findings(findings: Sequence[Record]) -> list[Record]:
    """Every finding gets an id of its own, the given one where it has one."""
    seen: set[str] = set()
    for finding in findings:
        parts = (finding[key] for key in ("scope", "host", "peer", "rail", "test"))
        name = base = str(finding["id"] or ".".join(str(part) for part in parts if part))
        number = 1
        while name in seen:
            number += 1
            name = f"{base}#{number}"
        seen.add(name)
        finding["id"] = name
    return list(findings)


def explains(finding: Record, test: Record) -> bool:
    """Whether the finding speaks of this test and is not milder than it; a milder one has to cite the test."""
    everywhere = finding["host"] is None and finding["rail"] is None
    if finding["outcome"] != test["outcome"] and (everywhere or WEIGHT[finding["outcome"]] > WEIGHT[test["outcome"]]):
        return False
    if any(finding[key] not in (None, test[key]) for key in ("rail", "test") if test[key] is not None):
        return False
    ends = {test["client"], test["server"]}
    return {finding["host"], finding["peer"]} - {None} <= ends


def explain_tests(tests: Iterable[Record], findings: Sequence[Record]) -> list[Record]:
    """One finding for each kind of bad test that no finding explains, whatever their number."""
    cited = {entry for finding in findings for entry in finding["evidence"] if isinstance(entry, str)}
    by_host: dict[str | None, list[Record]] = {}
    for finding in findings:
        by_host.setdefault(finding["host"], []).append(finding)
    left: dict[tuple[str, str, str | None], list[Record]] = {}
    for test in tests:
        if test["outcome"] == "pass" or test["id"] in cited:
            continue
        candidates = [finding for host in (None, test["client"], test["server"]) for finding in by_host.get(host, ())]
        if not any(explains(finding, test) for finding in candidates):
            left.setdefault((test["outcome"], test["rail"], test["test"]), []).append(test)
    return [summarise(outcome, rail, name, group) for (outcome, rail, name), group in left.items()]


def summarise(outcome: str, rail: str, name: str | None, group: Sequence[Record]) -> Record:
    """One finding about a group of tests of one rail that went the same way."""
    first = group[0]
    said, remedy = (commonest([test[key] for test in group]) for key in ("cause", "remedy"))
    cited = [test["id"] for test in group[:KEPT_ATTEMPTS]]
    common: Record = {"outcome": outcome, "scope": "pair", "rail": rail, "test": name, "evidence": cited, "remedy": remedy or READ_EVIDENCE}
    if len(group) == 1:
        ends = {"host": first["client"], "peer": first["server"]}
        return make_finding(**common, **ends, metric=first["metric"], value=first["value"], cause=said)
    pairs = ", ".join(f"{test['client']} to {test['server']}" for test in group[:3]) + (" and others" if len(group) > 3 else "")
    return make_finding(**common, cause=f"{len(group)} pairs: {pairs}." + (f" {said}" if said else ""))


def commonest(texts: Sequence[str | None]) -> str | None:
    """The text given most often."""
    given = [text for text in texts if text]
    return max(given, key=given.count, default=None)


def explain_rails(tests: Sequence[Record], findings: Sequence[Record], rails: Mapping[str, Mapping[str, Record]]) -> list[Record]:
    """A missing finding for each rail that took part in no test, once a host when that holds for all its rails."""
    seen = {(test[side], test["rail"]) for test in tests for side in ("client", "server")}
    seen |= {(finding["host"], finding["rail"]) for finding in findings if finding["outcome"] not in ("pass", "warn")}
    added = []
    for host, row in rails.items():
        idle = [] if (host, None) in seen else [rail for rail in row if (host, rail) not in seen]
        if idle and len(idle) == len(row):
            added.append(make_finding("missing", "host", host=host, cause=UNTESTED, remedy=RETEST))
        else:
            added += [make_finding("missing", "rail", host=host, rail=rail, cause=UNTESTED, remedy=RETEST) for rail in idle]
    return added


def finding_marks(findings: Iterable[Record]) -> dict[tuple[str | None, str | None], list[str]]:
    """Outcomes by ``(host, rail)`` of the findings that accuse a host or a rail itself, not a pair or a path."""
    marks: dict[tuple[str | None, str | None], list[str]] = {}
    for finding in findings:
        if finding["scope"] in MARKING_SCOPES and not finding["peer"] and (finding["host"] or finding["rail"]):
            marks.setdefault((finding["host"], finding["rail"]), []).append(finding["outcome"])
    return marks
