# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of what a role changed on a host: enough to put everything back."""

from __future__ import annotations

import json
from typing import Any

VERSION = "0.1.0"  # of the collection; equal to galaxy.yml, which does not travel to hosts


def parse_record(text: str | None) -> list[dict[str, Any]]:
    """Entries ``{what, before, after, when, version}`` of a record file; no file, no entries.

    ValueError when the file is not such a list: overwriting it would lose what the host looked like before us.
    """
    try:
        entries = json.loads(text or "[]")
    except ValueError:
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and {"what", "before"} <= entry.keys() for entry in entries):
        raise ValueError("the record of changes is damaged; move it away, then run again")
    return entries


def add_change(entries: list[dict[str, Any]], change: dict[str, Any]) -> list[dict[str, Any]]:
    """The record with a change added; an item changed before keeps its first ``before``."""
    for index, entry in enumerate(entries):
        if entry["what"] == change["what"]:
            return [*entries[:index], {**change, "before": entry["before"]}, *entries[index + 1 :]]
    return [*entries, change]
