# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host table: what each rail of a host sends and receives in the median, worst hosts first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_map import primary_metric
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import WEIGHT, Record, natural_key
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_test import flows_of
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import SIGNS, count_of, format_number, split_metric

SHOWN_HOSTS = 32
NOTHING = {"sent": "", "sent_outcome": "pass", "received": "", "received_outcome": "pass"}


def list_hosts_table(document: Record) -> Record:
    """``{title, rails, shown, folded, fold}``; good hosts beyond ``SHOWN_HOSTS`` are folded, bad ones never."""
    metric = primary_metric(document["tests"])
    sides = gather_sides(document["tests"], metric)
    rails = sorted({row["rail"] for row in document["rails"]}, key=natural_key)
    outcomes = {(row["host"], row["rail"]): row["outcome"] for row in document["rails"]}
    ordered = sorted(document["hosts"], key=lambda host: (WEIGHT[host["outcome"]], natural_key(host["name"])))
    rows = [describe_host(host, rails, sides, outcomes) for host in ordered]
    kept = max(SHOWN_HOSTS, sum(row["outcome"] != "pass" for row in rows))
    unit = split_metric(metric)[1] if metric else ""
    folded = [{**row, "cells": [join_sides(cell) for cell in row["cells"]]} for row in rows[kept:]]
    return {
        "title": f"median sent, received ({unit})" if unit else "outcome of each rail",
        "rails": rails,
        "shown": rows[:kept],
        "folded": folded,
        "fold": f"{count_of(len(folded), 'more host')}, all good" if folded else None,
    }


def join_sides(cell: Record) -> str:
    """One text for a rail where nothing stands out: Ansible takes its time for each value that a template prints."""
    return " / ".join(side for side in (cell["sent"], cell["received"]) if side)


Sides = Mapping[tuple[str, str, str], Sequence[tuple[float, str]]]


def gather_sides(tests: Sequence[Record], metric: str | None) -> Sides:
    """``(host, rail, "sent"|"received")`` -> values from bad to good with the outcome each got; a dead test counts as zero."""
    sides: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    tool = metric.split(".")[0] if metric else None
    for test in tests:
        if tool is None or test["test"] == tool:
            value = test["value"] if test["value"] is not None and test["metric"] == metric else 0.0
            for sender, receiver in flows_of(test):
                for host, side in ((sender, "sent"), (receiver, "received")):
                    sides.setdefault((host, test["rail"], side), []).append((value, test["outcome"]))
    return {key: sorted(values, key=lambda pair: (pair[0], WEIGHT[pair[1]])) for key, values in sides.items()}


def describe_host(host: Record, rails: Sequence[str], sides: Sides, outcomes: Mapping[tuple[str, str], str]) -> Record:
    """One row, a cell a rail."""
    return {
        "name": host["name"],
        "group": host["group"],
        "outcome": host["outcome"],
        "sign": SIGNS[host["outcome"]],
        "cells": [describe_rail(host["name"], rail, sides, outcomes) for rail in rails],
    }


def describe_rail(host: str, rail: str, sides: Sides, outcomes: Mapping[tuple[str, str], str]) -> Record:
    """Median sent and received; where nothing came, the word that says why."""
    if (host, rail) not in outcomes:
        return NOTHING
    cell = {}
    for side in ("sent", "received"):
        # Of an even number the upper middle: one bad partner of two does not make this end bad.
        values = sides.get((host, rail, side))
        value, outcome = values[len(values) // 2] if values else (0.0, outcomes[host, rail] if side == "sent" else "pass")
        word = outcome if side == "sent" or values else ""
        cell[side] = format_number(value) if value else word
        cell[side + "_outcome"] = outcome
    return cell
