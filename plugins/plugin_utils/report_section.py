# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything the templates print, in their order: sentences, tiles, cards, maps, tables. Pure."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_card import list_cards, phrase_of, subject_of, summarise_finding
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_host import list_hosts_table
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_junit import list_suites
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_map import list_maps, primary_metric
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import SCHEMA_VERSION, Record, natural_key
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_prometheus import list_families
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import (
    SIGNS,
    clean,
    count_of,
    escape_all,
    escape_markdown,
    escape_markup,
    format_bound,
    format_number,
    format_period,
    format_seconds,
    format_value,
    split_metric,
)

SHOWN_CUTS = 20
NAMED_FINDINGS = 3


def report_sections(document: Record | str, template: str = "text") -> Record:
    """The sections of a report that ``template`` prints; rounding, sentences and order are made here, templates only print.

    ``document`` is the report or its JSON text, ``template`` one of ``SECTIONS``. Every string of the result is escaped for that format,
    whoever wrote it: Ansible's template module ignores ``{% autoescape %}``. Raises ValueError with a sentence.
    """
    if template not in SECTIONS:
        raise ValueError(f"There is no report template {template!r}; there are: {', '.join(SECTIONS)}.")
    report = json.loads(document) if isinstance(document, str) else document
    version = report.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ValueError(f"The report has schema_version {version!r}; this version of rdma.k8s reads {SCHEMA_VERSION}.")
    names, escape = SECTIONS[template]
    return {name: escape_all(MAKERS[name](report), escape) for name in names}


def list_versions(document: Record) -> list[Record]:
    """Versions by name."""
    return [{"name": name, "value": value} for name, value in sorted(document["versions"].items())]


def state_verdict(document: Record) -> Record:
    """The line for one tired person, one sentence, and when, how and where it was measured."""
    outcome = document["verdict"]
    plan = document["plan"]
    extra = count_of(plan["extra_rounds"], "extra round") if plan["extra_rounds"] else None
    parts = [format_period(document["started"], document["finished"]), document["kind"], plan["strategy"], extra]
    return {
        "outcome": outcome,
        "sign": SIGNS[outcome],
        "headline": f"{outcome.capitalize()}: {state_extent(document)}",
        "sentence": state_reason(document),
        "worst": name_worst(document),
        "run_id": document["run_id"],
        "context": " · ".join(part for part in parts if part),
    }


def state_extent(document: Record) -> str:
    """``1 of 6 rails``: how much has the verdict's outcome."""
    outcome, counts = document["verdict"], document["counts"]
    if outcome == "pass":
        return f"all {count_of(counts['rails'], 'rail')} on {count_of(counts['hosts'], 'host')}"
    for noun, rows in (("rail", document["rails"]), ("host", document["hosts"]), ("test", document["tests"])):
        number = sum(row["outcome"] == outcome for row in rows)
        if number:
            return f"{number:,} of {count_of(len(rows), noun)}"
    return count_of(counts["findings"][outcome], "finding") if counts["findings"][outcome] else "nothing was tested"


def state_reason(document: Record) -> str:
    """The worst finding in a sentence, and how it stands with everything else."""
    counts, outcome = document["counts"], document["verdict"]
    found = [finding for finding in document["findings"] if finding["outcome"] != "pass"]
    if not found:
        return f"{count_of(counts['tests'], 'test')} done, all within their thresholds." if counts["tests"] else "Nothing was tested."
    first = next(finding for finding in found if finding["outcome"] == outcome)
    told = summarise_finding(first)
    others = len(found) - 1
    told += f" {count_of(others, 'more finding')} below." if others else " Everything else that was measured is good."
    if counts["missing"] and outcome != "missing":
        told += f" {count_of(counts['missing'], 'test')} not measured."
    return told


def name_worst(document: Record) -> str:
    """The first findings of the verdict's outcome, by name only."""
    found = [f"{subject_of(finding)} {phrase_of(finding)}" for finding in document["findings"] if finding["outcome"] == document["verdict"]]
    more = len(found) - NAMED_FINDINGS
    return ", ".join(found[:NAMED_FINDINGS]) + (f" and {more} more" if more > 0 else "")


def list_tiles(document: Record) -> list[Record]:
    """Five or six numbers under the verdict."""
    counts, plan = document["counts"], document["plan"]
    measured = counts["tests"] - counts["missing"] - counts["inconclusive"]
    tiles = [
        {"value": f"{counts['hosts']:,}", "label": "hosts"},
        {"value": f"{counts['rails']:,}", "label": "rails"},
        {"value": f"{measured:,} / {counts['tests']:,}", "label": "tests measured"},
    ]
    latencies = {test["metric"] for test in document["tests"] if test["metric"] and test["metric"].endswith("_us")}
    for metric in dict.fromkeys((primary_metric(document["tests"]), *sorted(latencies)[:1])):
        values = [test["value"] for test in document["tests"] if test["metric"] == metric and test["value"] is not None]
        if metric and values:
            tiles.append({"value": format_value(metric, statistics.median(values)), "label": f"median {split_metric(metric)[0]}"})
    predicted = f"predicted {format_seconds(plan['predicted_s'])}" if plan["predicted_s"] is not None else "duration"
    return [*tiles, {"value": format_seconds(plan["real_s"]), "label": predicted}]


def list_threshold_rows(document: Record) -> list[Record]:
    """Each threshold as words with its source."""
    return [
        {
            "metric": split_metric(row["metric"])[0],
            "severity": row["severity"] or "",
            "bound": format_bound(row["metric"], row),
            "source": row["source"] or "not stated",
            "checks": f"{row['checks']:,}",
        }
        for row in document["thresholds"]
    ]


def list_plan(document: Record) -> list[Record]:
    """How it was measured, as names and values."""
    plan = document["plan"]
    cut = [f"{pair['client']} → {pair['server']} on {pair['rail']}" for pair in sorted(plan["cut"], key=cut_key)[:SHOWN_CUTS]]
    more = len(plan["cut"]) - len(cut)
    rows = [
        ("Strategy", plan["strategy"] or "not stated"),
        ("Rounds", f"{plan['rounds']:,} planned, {plan['extra_rounds']:,} extra"),
        ("Predicted", "not stated" if plan["predicted_s"] is None else format_seconds(plan["predicted_s"])),
        ("Took", format_seconds(plan["real_s"]) + ratio_of(plan)),
        ("Cut, so missing", "; ".join(cut) + (f" and {more:,} more" if more else "") if cut else "nothing"),
    ]
    return [{"name": name, "value": value} for name, value in rows]


def cut_key(pair: Record) -> tuple[tuple[int, int, str], ...]:
    """Cut pairs by rail, then by name."""
    return natural_key((pair["rail"], pair["client"], pair["server"]))


def ratio_of(plan: Record) -> str:
    """``, 1.02 times the prediction``."""
    return f", {format_number(plan['real_s'] / plan['predicted_s'])} times the prediction" if plan["predicted_s"] else ""


MAKERS: dict[str, Callable[[Record], Any]] = {
    "title": lambda document: f"{document['kind']} {document['run_id']}",
    "verdict": state_verdict,
    "tiles": list_tiles,
    "findings": list_cards,
    "maps": list_maps,
    "hosts": list_hosts_table,
    "thresholds": list_threshold_rows,
    "plan": list_plan,
    "versions": list_versions,
    "suites": list_suites,
    "families": list_families,
}
PAGE = ("title", "verdict", "tiles", "findings", "maps", "hosts", "thresholds", "plan", "versions")
SECTIONS: dict[str, tuple[tuple[str, ...], Callable[[Any], str]]] = {
    "text": (PAGE, clean),
    "html": (PAGE, escape_markup),
    "md": (("title", "verdict", "tiles", "findings", "hosts", "thresholds", "plan", "versions"), escape_markdown),
    "junit.xml": (("title", "suites"), escape_markup),
    "prom": (("families",), str),  # whose labels are escaped one by one,
    "verdict": (("title", "verdict"), clean),
}
