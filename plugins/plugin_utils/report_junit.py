# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as JUnit suites: a case for each test of each rail of a host, and one for each other finding. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_card import phrase_of, sentence_of, subject_of
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record, natural_key, worst


def list_suites(document: Record) -> list[Record]:
    """One suite a rail and one for findings that belong to no single rail of a host."""
    found: dict[tuple[str | None, str | None], list[Record]] = {}
    for finding in document["findings"]:
        single = not finding["peer"] and finding["host"] and finding["rail"]
        found.setdefault((finding["host"], finding["rail"]) if single else (None, None), []).append(finding)
    tools = sorted({test["test"] for test in document["tests"] if test["test"]}) or [document["kind"]]
    tested = tests_by_rail(document["tests"])
    by_rail: dict[str, list[Record]] = {}
    for row in document["rails"]:
        for tool in tools:
            about = [finding for finding in found.get((row["host"], row["rail"]), []) if finding["test"] in (None, tool)]
            outcomes = [finding["outcome"] for finding in about] or [untold_outcome(row, tested.get((row["host"], row["rail"], tool)))]
            by_rail.setdefault(row["rail"], []).append(make_case(f"{row['rail']}.{tool}", row["host"], outcomes, about))
    suites = [make_suite(rail, by_rail[rail]) for rail in sorted(by_rail, key=natural_key)]
    others = [make_case("findings", f"{finding['id']}", [finding["outcome"]], [finding]) for finding in found.get((None, None), [])]
    return suites + ([make_suite("findings", others)] if others else [])


def tests_by_rail(tests: Sequence[Record]) -> dict[tuple[str, str, str], list[str]]:
    """Outcomes by host, rail and tool."""
    outcomes: dict[tuple[str, str, str], list[str]] = {}
    for test in tests:
        for side in ("client", "server"):
            outcomes.setdefault((test[side], test["rail"], test["test"]), []).append(test["outcome"])
    return outcomes


def untold_outcome(rail: Record, outcomes: Sequence[str] | None) -> str:
    """Without a finding of its own: missing where nothing was measured, else good (its partners' faults have their own cases)."""
    if not outcomes or all(outcome in ("missing", "inconclusive") for outcome in outcomes):
        return worst(outcomes or ["missing"])
    return "pass" if rail["outcome"] == "pass" else "warn"


def make_case(group: str, name: str, outcomes: Sequence[str], findings: Sequence[Record]) -> Record:
    """A test case; ``failure`` for fail and missing, ``error`` for inconclusive."""
    outcome = worst(outcomes)
    told = [f"{subject_of(finding)} {phrase_of(finding)}" for finding in findings if finding["outcome"] == outcome]
    lines = [line for finding in findings for line in (sentence_of(finding), finding["cause"], finding["remedy"]) if line]
    element = {"fail": "failure", "missing": "failure", "inconclusive": "error"}.get(outcome)
    said = {"message": "; ".join(told) or outcome, "text": "\n".join(lines)}
    return {"group": group, "name": name, "outcome": outcome, "element": element, **said}


def make_suite(name: str, cases: Sequence[Record]) -> Record:
    """A suite with its counts."""
    elements = [case["element"] for case in cases]
    counts = {"tests": len(cases), "failures": elements.count("failure"), "errors": elements.count("error")}
    return {"name": name, "cases": list(cases), **counts}
