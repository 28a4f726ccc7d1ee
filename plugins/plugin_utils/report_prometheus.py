# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as Prometheus metric families. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import OUTCOMES, Record
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import escape_label


def list_families(document: Record) -> list[Record]:
    """Verdict, counts, outcome of each rail, and every measurement, the last one where a test was repeated."""
    kind = {"kind": document["kind"]}
    counts = document["counts"]
    finished = datetime.datetime.fromisoformat(document["finished"]).timestamp()
    return [
        family("verdict", "1 for the verdict of the run, 0 for the others.", states(kind, document["verdict"])),
        family("finished_timestamp_seconds", "When the run ended.", [(kind, finished)]),
        family("duration_seconds", "How long the run took.", [(kind, document["plan"]["real_s"])]),
        family("tests", "Tests by outcome.", [({**kind, "outcome": outcome}, counts[outcome]) for outcome in OUTCOMES]),
        family("findings", "Findings by outcome.", [({**kind, "outcome": name}, counts["findings"][name]) for name in OUTCOMES]),
        family(
            "rail_ok",
            "1 when the rail of the host passed or only warned.",
            [({"host": row["host"], "rail": row["rail"]}, float(row["outcome"] in ("pass", "warn"))) for row in document["rails"]],
        ),
        family("measurement", "A measured value; its unit is in the label metric.", measurement_samples(document["measurements"])),
    ]


def states(labels: Mapping[str, str], state: str) -> list[tuple[dict[str, str], float]]:
    """One sample an outcome."""
    return [({**labels, "outcome": outcome}, float(outcome == state)) for outcome in OUTCOMES]


def measurement_samples(measurements: Iterable[Record]) -> list[tuple[dict[str, str], float]]:
    """One sample for each set of labels: a second one would make the file invalid."""
    samples: dict[tuple[tuple[str, str], ...], float] = {}
    for measurement in measurements:
        labels = [(name, str(value)) for name, value in measurement["labels"].items() if value is not None]
        samples[(("metric", measurement["metric"]), *labels)] = measurement["value"]
    return [(dict(labels), value) for labels, value in samples.items()]


def family(name: str, text: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> Record:
    """A gauge with its lines; label names are ours, label values anybody's."""
    full = f"rdma_verify_{name}"
    return {"name": full, "help": text, "lines": [f"{full}{{{print_labels(labels)}}} {float(value)!r}" for labels, value in samples]}


def print_labels(labels: Mapping[str, str]) -> str:
    """Labels as the text format has them, values escaped."""
    return ",".join(f'{name}="{escape_label(value)}"' for name, value in labels.items())
