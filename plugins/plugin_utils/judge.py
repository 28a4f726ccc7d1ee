# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attempts and thresholds → verdicts. What was not measured has not passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import BANDWIDTH_TESTS
from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import (
    METRICS,
    SEVERITIES,
    checked_thresholds,
    rate_thresholds,
    speaks_of,
)

Record = Mapping[str, Any]
Attempt = dict[str, Any]

# Worst first.
VERDICTS = ("fail", "missing", "inconclusive", "warn", "pass")
UNMEASURED = {"dead": "fail", "absent": "missing", "failed": "inconclusive", "damaged": "inconclusive"}
# Tests that ask whether anything arrives; their numbers are judged only where users set a threshold.
CONNECTIVITY_TESTS = ("ibv_rc_pingpong",)
# No link carries more than its rate; the tools round to two digits.
ABOVE_RATE = 1.005


def judge(attempts: Iterable[Record], thresholds: Sequence[Record], rails_by_host: Mapping[str, Mapping[str, Record]]) -> list[Attempt]:
    """The attempts with ``verdict``, ``checks`` and, where the verdict needs one, ``cause`` and ``remedy``.

    ``thresholds``: the users', before those that follow from the links' rates. ``ValueError`` with one sentence for a wrong threshold.
    """
    checked = checked_thresholds(thresholds)
    return [_judge_attempt(attempt, checked, rails_by_host) for attempt in attempts]


def _judge_attempt(attempt: Record, thresholds: Sequence[Record], rails_by_host: Mapping[str, Mapping[str, Record]]) -> Attempt:
    if attempt["outcome"] != "measured":
        return {**attempt, "verdict": UNMEASURED[attempt["outcome"]], "checks": []}
    rails = [rails_by_host.get(attempt[side], {}).get(attempt["rail"], {}) for side in ("client", "server")]
    checks: list[Attempt] = []
    for measurement in attempt["measurements"]:
        if _exceeds_link(measurement, rails):
            return {**attempt, "verdict": "inconclusive", "checks": checks, **_impossible(measurement)}
        checks += _check(measurement, thresholds, rails)
    if checks:
        return {**attempt, "verdict": worst(check["outcome"] for check in checks), "checks": checks}
    if attempt["test"] in CONNECTIVITY_TESTS:
        return {**attempt, "verdict": "pass", "checks": []}
    return {
        **attempt,
        "verdict": "inconclusive",
        "checks": [],
        "cause": "The value was measured, but nothing says what it must reach: the link's rate is unknown and no threshold matches.",
        "remedy": "set verify_thresholds",
    }


def _check(measurement: Record, thresholds: Sequence[Record], rails: Sequence[Record]) -> list[Attempt]:
    """One check a severity, by the first threshold that speaks of the measurement."""
    matching = [threshold for threshold in thresholds if speaks_of(threshold, measurement)]
    matching += rate_thresholds(measurement, rails)
    checks = []
    for severity in SEVERITIES:
        threshold = next((each for each in matching if each["severity"] == severity), None)
        if threshold:
            value, limit = measurement["value"], threshold["limit"]
            holds = value >= limit if threshold["bound"] == "at_least" else value <= limit
            checks.append(
                {
                    "metric": measurement["metric"],
                    "value": value,
                    "bound": threshold["bound"],
                    "limit": limit,
                    "severity": severity,
                    "source": threshold["source"],
                    "outcome": "pass" if holds else severity,
                }
            )
    return checks


def _exceeds_link(measurement: Record, rails: Sequence[Record]) -> bool:
    rates = [float(rail.get("rate_gbit_s") or 0) for rail in rails]
    labels = measurement["labels"]
    if labels.get("test") not in BANDWIDTH_TESTS or not all(rates):
        return False
    return float(measurement["value"]) > ABOVE_RATE * min(rates) * (2 if labels.get("direction") == "both" else 1)


def _impossible(measurement: Record) -> dict[str, str]:
    unit = METRICS[measurement["metric"]]
    return {
        "cause": f"{measurement['value']:g} {unit} are more than the link can carry, so the value cannot be right.",
        "remedy": "compare the rate that the host reports for the port with the card, and read the output for its unit",
    }


def worst(verdicts: Iterable[str]) -> str:
    """The worst of ``verdicts``; missing when there is none."""
    return min(verdicts, key=VERDICTS.index, default="missing")


def verdict(findings: Iterable[Record], counts: Mapping[str, int]) -> str:
    """The verdict of a run: the worst of its findings; without findings that of its tests. ``counts``: number of tests by verdict."""
    found = [finding["outcome"] for finding in findings]
    return worst([*found, "pass" if counts.get("pass") else "missing"] if found else (name for name in VERDICTS if counts.get(name)))
