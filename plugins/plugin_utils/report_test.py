# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judged attempts as the report lists them: tests, measurements, thresholds. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record, natural_key

LABELS = ("host", "peer", "rail", "direction", "test", "message_bytes", "side")
CUT = "The time budget left no room for it."
MORE_TIME = "Give the run more time, or test fewer hosts at once."


def list_tests(attempts: Iterable[Record], cut: Iterable[Record]) -> list[Record]:
    """One row a test with its outcome and the one value that speaks for it; what was cut is missing."""
    rows = [describe_test(attempt) for attempt in attempts]
    return rows + [describe_cut(pair) for pair in cut]


def describe_cut(pair: Record) -> Record:
    """A pair that was left out, as a test that is missing."""
    told = {"cause": CUT, "remedy": MORE_TIME, "outcome": "missing", "measured": False}
    unknown = dict.fromkeys(("round", "test", "direction", "metric", "value"))
    ends = {key: pair[key] for key in ("rail", "client", "server")}
    return {"id": f"cut.{pair['rail']}.{pair['client']}>{pair['server']}", **ends, **unknown, **told}


def describe_test(attempt: Record) -> Record:
    """The attempt without its evidence; ``measured`` tells whether any value came."""
    head = headline(attempt.get("measurements") or [])
    return {
        **{key: attempt[key] for key in ("id", "round", "rail", "test", "client", "server")},
        "direction": attempt.get("direction"),
        "outcome": attempt["verdict"],
        "metric": head["metric"] if head else None,
        "value": head["value"] if head else None,
        "cause": attempt.get("cause"),
        "remedy": attempt.get("remedy"),
        "measured": attempt["outcome"] == "measured",
    }


def flows_of(test: Record) -> list[tuple[str, str]]:
    """``(sender, receiver)`` of the data; the client sends where nothing else is said."""
    forward, backward = (test["client"], test["server"]), (test["server"], test["client"])
    return {"receive": [backward], "both": [forward, backward]}.get(test["direction"], [forward])


def headline(measurements: Sequence[Record]) -> Record | None:
    """The measurement that speaks for a test: the client's average at the largest message, else the first."""

    def rank(measurement: Record) -> tuple[bool, bool, int]:
        labels = measurement.get("labels") or {}
        return (labels.get("side") == "client", ".average_" in measurement["metric"], int(labels.get("message_bytes") or 0))

    return max(filter(is_finite, measurements), key=rank, default=None)


def is_finite(measurement: Record) -> bool:
    """A number that JSON can carry."""
    value = measurement.get("value")
    return isinstance(value, (int, float)) and math.isfinite(value)


def list_measurements(attempts: Iterable[Record]) -> list[Record]:
    """All finite measurements, their labels limited to the known ones."""
    return [
        {
            "metric": measurement["metric"],
            "value": measurement["value"],
            "labels": {name: (measurement.get("labels") or {}).get(name) for name in LABELS},
        }
        for attempt in attempts
        for measurement in filter(is_finite, attempt.get("measurements") or [])
    ]


def list_thresholds(attempts: Iterable[Record]) -> list[Record]:
    """Each threshold that was applied, once, with the number of checks it decided."""
    counted: dict[tuple[Any, ...], int] = {}
    for attempt in attempts:
        for check in attempt.get("checks") or []:
            key = (check["metric"], check["bound"], check["limit"], check.get("source"), check.get("severity"))
            counted[key] = counted.get(key, 0) + 1
    rows = [dict(zip(("metric", "bound", "value", "source", "severity"), key, strict=True), checks=count) for key, count in counted.items()]
    return sorted(rows, key=lambda row: (natural_key(row["metric"]), row["bound"], -(row["value"] or 0)))


def by_id(attempts: Iterable[Record]) -> Mapping[str, Record]:
    """Attempts by their id."""
    return {attempt["id"]: attempt for attempt in attempts}
