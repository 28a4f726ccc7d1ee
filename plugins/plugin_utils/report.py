# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one JSON document: what was tested, what came out, what was found. Pure."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_evidence import collect_evidence
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_finding import complete_findings, finding_marks
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import OUTCOMES, SCHEMA_VERSION, Record, natural_key, worst
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_test import list_measurements, list_tests, list_thresholds

RAIL_FIELDS = ("netdev", "address", "device", "port", "gid_index", "numa_node", "link_layer", "rate_gbit_s", "active_mtu", "virtual")
TEST_FIELDS = ("id", "round", "rail", "test", "client", "server", "direction", "outcome", "metric", "value", "cause")


def print_document(document: Record) -> str:
    """A document as the JSON text of ``report.json``."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def utc_text(epoch: float) -> str:
    """Seconds since 1970 as ``2026-11-30T02:10:00Z``."""
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_run(kind: str, started: float) -> str:
    """The run's name, also that of its folder: ``20261130T021000Z-verify_hosts``."""
    return re.sub(r"[-:]", "", utc_text(started)) + "-" + kind


def build_report(
    kind: str,
    attempts: Sequence[Record],
    findings: Sequence[Record],
    *,
    started: float,
    finished: float,
    plan: Record | None = None,
    rails: Mapping[str, Mapping[str, Record]] | None = None,
    facts: Mapping[str, Record] | None = None,
    groups: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
    run_id: str | None = None,
) -> Record:
    """The document of ``report.schema.json``.

    ``attempts`` are judged, ``rails`` is ``{host: {rail: resolved}}``, times are seconds since 1970.
    ValueError with a sentence for a wrong ``kind``.
    What was cut, not measured or not explained by a finding becomes a finding here: no report is greener than its tests.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", kind):
        raise ValueError(f"kind is {kind!r}; allowed is the name of a playbook such as verify_hosts.")
    rails, facts, plan = rails or {}, facts or {}, plan or {}
    tests = list_tests(attempts, plan.get("cut") or [])
    known = complete_findings(findings, tests, rails)
    evidence = collect_evidence(known, attempts)
    rail_rows = list_rails(rails, tests, known)
    hosts = list_hosts(rail_rows, known, facts, groups or {})
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "run_id": run_id or name_run(kind, started),
        "started": utc_text(started),
        "finished": utc_text(finished),
        "versions": {**(versions or {}), **tool_versions(facts, tests)},
        "verdict": worst([finding["outcome"] for finding in known] + ([] if tests else ["missing"])),  # each bad test has its finding
        "counts": count_all(tests, known, rail_rows, hosts),
        "hosts": hosts,
        "rails": rail_rows,
        "plan": describe_plan(plan, tests, finished - started),
        "thresholds": list_thresholds(attempts),
        "tests": [{field: test[field] for field in TEST_FIELDS} for test in tests],
        "measurements": list_measurements(attempts),
        "findings": known,
        "evidence": evidence,
    }


def count_all(tests: Sequence[Record], findings: Sequence[Record], rails: Sequence[Record], hosts: Sequence[Record]) -> Record:
    """Tests by outcome; beside them hosts, rails (each host's counted) and findings by outcome."""
    return {
        "hosts": len(hosts),
        "rails": len(rails),
        "tests": len(tests),
        **{outcome: sum(test["outcome"] == outcome for test in tests) for outcome in OUTCOMES},
        "findings": {outcome: sum(finding["outcome"] == outcome for finding in findings) for outcome in OUTCOMES},
    }


def describe_plan(plan: Record, tests: Sequence[Record], real_s: float) -> Record:
    """What was planned beside what came: rounds and seconds."""
    planned = len(plan.get("rounds") or [])
    predicted = plan.get("predicted_s")
    return {
        "strategy": plan.get("strategy"),
        "rounds": planned,
        "extra_rounds": max(len({test["round"] for test in tests if test["round"] is not None}) - planned, 0),
        "predicted_s": None if predicted is None else round(float(predicted), 1),
        "real_s": round(real_s, 1),
        "cut": [{key: pair[key] for key in ("rail", "client", "server")} for pair in plan.get("cut") or []],
    }


def list_rails(rails: Mapping[str, Mapping[str, Record]], tests: Sequence[Record], findings: Sequence[Record]) -> list[Record]:
    """One row a rail of a host; a rail none of whose tests was measured is missing."""
    ends = [(test[side], test["rail"], test["measured"]) for test in tests for side in ("client", "server")]
    measured = {(host, rail) for host, rail, done in ends if done}
    named = {(host, rail) for host, row in rails.items() for rail in row} | {(host, rail) for host, rail, done in ends}
    named |= {(finding["host"], finding["rail"]) for finding in findings if finding["host"] and finding["rail"] and not finding["peer"]}
    marks = finding_marks(findings)
    rows = []
    for host, rail in sorted(named, key=natural_key):
        marked = [*marks.get((host, rail), ()), *marks.get((None, rail), ())]
        marked += [
            outcome for outcome in marks.get((host, None), ()) if outcome != "warn"
        ]  # old firmware does not make each rail a warning
        outcome = worst([*marked, "pass" if (host, rail) in measured else "missing"])
        resolved = rails.get(host, {}).get(rail) or {}
        rows.append({"host": host, "rail": rail, "outcome": outcome, **{field: resolved.get(field) for field in RAIL_FIELDS}})
    return rows


def list_hosts(rails: Sequence[Record], findings: Sequence[Record], facts: Mapping[str, Record], groups: Mapping[str, str]) -> list[Record]:
    """One row a host; its outcome is the worst of its rails and of the findings about it."""
    outcomes: dict[str, list[str]] = {}
    for row in rails:
        outcomes.setdefault(row["host"], []).append(row["outcome"])
    for finding in findings:
        if finding["host"] and not finding["peer"]:
            outcomes.setdefault(finding["host"], []).append(finding["outcome"])
    for host in facts:
        outcomes.setdefault(host, [])
    return [
        {
            "name": host,
            "outcome": worst(outcomes[host] or ["missing"]),
            "group": groups.get(host),
            "kernel": (facts.get(host) or {}).get("kernel"),
            "tools": dict((facts.get(host) or {}).get("tools") or {}),
        }
        for host in sorted(outcomes, key=natural_key)
    ]


def tool_versions(facts: Mapping[str, Record], tests: Iterable[Record]) -> dict[str, str]:
    """The versions of the tools that were used, all of them where hosts differ."""
    used = {test["test"] for test in tests if test["test"]}
    found: dict[str, set[str]] = {}
    for host in facts.values():
        for tool, version in (host.get("tools") or {}).items():
            if tool in used and version:
                found.setdefault(tool, set()).add(str(version))
    return {tool: ", ".join(sorted(versions, key=natural_key)) for tool, versions in sorted(found.items())}
