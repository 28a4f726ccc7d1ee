# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Heat maps, one a rail: the column sends to the row. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record, natural_key, worst
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_test import flows_of
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import SIGNS, count_of, format_number, format_value

HOSTS_SHOWN = 48
BLOCKS_SHOWN = 32
TYPICAL = 0.99
LABEL_CHARACTERS = 12
BLOCK = " … "


def primary_metric(tests: Sequence[Record]) -> str | None:
    """The metric of maps and host table: the commonest bandwidth, else the commonest of all."""
    counted: dict[str, int] = {}
    for test in tests:
        if test["metric"]:
            counted[test["metric"]] = counted.get(test["metric"], 0) + 1
    return max(counted, key=lambda metric: (metric.endswith(("_gbit_s", "_gbyte_s")), counted[metric]), default=None)


def list_maps(document: Record) -> Record:
    """``{title, maps, folded}``: what each map shows in coordinates, colours and words."""
    tests = [test for test in document["tests"] if test["client"] and test["server"]]
    metric = primary_metric(tests)
    places, buckets = place_hosts(document["hosts"], {name for test in tests for name in (test["client"], test["server"])})
    by_rail: dict[str, list[Record]] = {}
    for test in tests:
        by_rail.setdefault(test["rail"], []).append(test)
    maps = [draw_map(rail, by_rail[rail], metric, places, buckets) for rail in sorted(by_rail, key=natural_key)]
    folded = len(places) > len(buckets)
    return {
        "title": metric_title(metric),
        "maps": maps,
        "legend": list_legend(tests),
        "note": fold_note(folded, len(buckets)),
        "wide": len(buckets) > 20,
    }


def list_legend(tests: Sequence[Record]) -> list[Record]:
    """The outcomes that occur, with their signs, and what an empty place means."""
    found = {"pass", *(test["outcome"] for test in tests)}
    rows = [{"shade": name, "sign": "" if name == "pass" else SIGNS[name], "text": name} for name in SIGNS if name in found]
    pale = {"shade": "pale", "sign": "", "text": f"pass, below {TYPICAL} of the rail's median"}
    return [*rows, pale, {"shade": "unplanned", "sign": "", "text": "not in the plan"}]


def metric_title(metric: str | None) -> str:
    """``ib_write_bw, column sends to row``."""
    return f"{metric.split('.')[0] if metric else 'outcome'}, column sends to row"


def fold_note(folded: bool, buckets: int) -> str | None:
    """What a cell stands for when hosts share it."""
    return f"Hosts are shown in {buckets} groups; a cell has the colour of the worst test in it." if folded else None


def place_hosts(hosts: Sequence[Record], tested: set[str]) -> tuple[dict[str, int], list[str]]:
    """``{host: place}`` and the name of each place: the host, its group, or a block of neighbours."""
    groups = {host["name"]: host["group"] for host in hosts if host["name"] in tested}
    names = sorted(groups, key=lambda name: natural_key((groups[name] or "", name)))
    if len(names) <= HOSTS_SHOWN:
        return {name: place for place, name in enumerate(names)}, names
    distinct = sorted({str(group) for group in groups.values()}, key=natural_key)
    if all(groups.values()) and 1 < len(distinct) <= BLOCKS_SHOWN:
        return {name: distinct.index(str(groups[name])) for name in names}, distinct
    size = -(-len(names) // BLOCKS_SHOWN)
    blocks = [names[start : start + size] for start in range(0, len(names), size)]
    return {name: place for place, block in enumerate(blocks) for name in block}, [f"{block[0]}{BLOCK}{block[-1]}" for block in blocks]


def draw_map(rail: str, tests: Sequence[Record], metric: str | None, places: Mapping[str, int], names: Sequence[str]) -> Record:
    """One rail's map; a place without a cell was not part of the plan."""
    cell = next(size for most, size in ((4, 54), (8, 40), (20, 14), (10**9, 10)) if len(names) <= most)
    gathered: dict[tuple[int, int], list[Record]] = {}
    for test in tests:
        for sender, receiver in flows_of(test):
            gathered.setdefault((places[sender], places[receiver]), []).append(test)
    values = [test["value"] for test in tests if test["metric"] == metric and test["value"] is not None]
    typical = statistics.median(values) if values else None
    font = 10 if cell > 14 else min(cell - 3, 9)
    left = label_room(names, font)
    top = left if cell <= 20 else font + 8
    alone = len(places) == len(names)
    extent = cell * len(names)
    return {
        "rail": rail,
        "caption": caption_of(tests),
        "left": left,
        "top": top,
        "extent": extent,
        "width": left + extent + (top // 2 if cell <= 20 else 0) + 2,
        "height": top + extent + 2,
        "shown_width": left + extent + top if cell > 14 else 2 * (left + extent),
        "middle": (cell - (2 if cell > 14 else 1)) / 2,
        "size": cell - (2 if cell > 14 else 1),
        "font": font,
        "slanted": cell <= 20,
        "labels": [{"text": label_of(name), "title": name, "at": cell * place + cell / 2} for place, name in enumerate(names)],
        "own": [cell * place for place in range(len(names)) if alone],
        "cells": [draw_cell(key, group, metric, names, cell, typical) for key, group in sorted(gathered.items())],
    }


def draw_cell(
    key: tuple[int, int], tests: Sequence[Record], metric: str | None, names: Sequence[str], cell: int, typical: float | None
) -> Record:
    """One cell in pixels from the map's corner, its class and what to say about it."""
    outcome = worst(test["outcome"] for test in tests)
    spoken = [test for test in tests if test["metric"] == metric and test["value"] is not None]
    weakest = min(spoken, key=lambda test: test["value"], default=None)
    value = weakest["value"] if weakest else None
    shade = "pale" if outcome == "pass" and value is not None and typical and value < TYPICAL * typical else outcome
    large = cell >= 40
    text = format_number(value) if large and value is not None else "" if outcome == "pass" else SIGNS[outcome]
    sender, receiver = key
    return {
        "x": cell * sender,
        "y": cell * receiver,
        "shade": shade,
        "text": text,
        "title": describe_cell(f"{names[sender]} → {names[receiver]}", outcome, tests, weakest),
    }


def describe_cell(pair: str, outcome: str, tests: Sequence[Record], weakest: Record | None) -> str:
    """The tooltip: pair, outcome, value, and why where there is none."""
    if len({(test["client"], test["server"]) for test in tests}) > 1:
        bad = sum(test["outcome"] == outcome for test in tests)
        least = f"; least {weakest['client']} → {weakest['server']}: {format_value(weakest['metric'], weakest['value'])}" if weakest else ""
        return f"{pair}: {bad} of {count_of(len(tests), 'test')} {outcome}{least}"
    cause = next((f". {test['cause']}" for test in tests if test["outcome"] == outcome and test["cause"]), "")
    value = f", {format_value(weakest['metric'], weakest['value'])}" if weakest else ", no value"
    return f"{pair}: {outcome}{value}{cause if outcome != 'pass' else ''}"


def caption_of(tests: Sequence[Record]) -> str:
    """``15 fail, 225 pass``: the map in words."""
    counted: dict[str, int] = {}
    for test in tests:
        counted[test["outcome"]] = counted.get(test["outcome"], 0) + 1
    return ", ".join(f"{counted[outcome]:,} {outcome}" for outcome in SIGNS if outcome in counted)


def label_room(names: Sequence[str], font: int) -> int:
    """Pixels that the longest label takes."""
    return max((len(label_of(name)) for name in names), default=0) * font * 6 // 10 + 8


def label_of(name: str) -> str:
    """A label that fits: the end of a name tells hosts apart; a block has the name of its first host."""
    text = name.split(BLOCK)[0]
    return text if len(text) <= LABEL_CHARACTERS else "…" + text[-LABEL_CHARACTERS + 1 :]
