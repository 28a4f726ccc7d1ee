# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of things in a report: outcomes by weight, names as people count. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]

SCHEMA_VERSION = 1

OUTCOMES = ("fail", "missing", "inconclusive", "warn", "pass")
WEIGHT = {outcome: weight for weight, outcome in enumerate(OUTCOMES)}
SCOPES = ("cluster", "path", "host", "node", "rail", "pod", "link", "pair", "tool")


def worst(outcomes: Iterable[str]) -> str:
    """The worst of ``outcomes``, which is pass when there is none."""
    return min(outcomes, key=WEIGHT.__getitem__, default="pass")


def natural_key(name: Any) -> tuple[tuple[int, int, str], ...]:
    """Sorts ``gpu2`` before ``gpu10``; a tuple of names sorts by its parts."""
    if isinstance(name, tuple):
        return tuple(part for member in name for part in (*natural_key(member), (-1, 0, "")))
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.findall(r"[0-9]+|[^0-9]+", str(name)))


def finding_key(finding: Record) -> tuple[Any, ...]:
    """Worst first, then from the whole cluster down to one pair, then by name."""
    names = (finding["host"] or "", finding["rail"] or "", finding["peer"] or "", finding["test"] or "")
    return (WEIGHT[finding["outcome"]], SCOPES.index(finding["scope"]), natural_key(names))
