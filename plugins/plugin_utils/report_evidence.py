# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence of the findings: exact commands and raw text, bounded in size, never an environment. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_test import by_id

OUTPUT_CHARACTERS = 16 * 1024
ALL_CHARACTERS = 4 * 1024 * 1024
KEPT_ENTRIES = 8
SECRET_KEYS = ("env", "environ", "environment")


def collect_evidence(findings: Sequence[Record], attempts: Sequence[Record]) -> list[Record]:
    """The entries that ``findings`` cite; their ``evidence`` becomes the ids of these.

    A finding cites attempts by id, or brings ``{title, command, output, facts}`` itself.
    """
    known = by_id(attempts)
    entries: dict[str, Record] = {}
    room = ALL_CHARACTERS
    for finding in findings:
        cited = [
            entry for number, item in enumerate(finding["evidence"], 1) for entry in entries_of(item, f"{finding['id']}/{number}", known)
        ]
        cited = cited[:KEPT_ENTRIES]
        for entry in cited:
            if entry["id"] not in entries:
                entries[entry["id"]] = shorten_entry(entry, min(room, OUTPUT_CHARACTERS))
                room -= len(entries[entry["id"]]["output"] or "")
        finding["evidence"] = [entry["id"] for entry in cited]
    return list(entries.values())


def entries_of(item: Any, identity: str, attempts: Any) -> list[Record]:
    """The entries behind one citation; an id that no attempt has yields none."""
    if isinstance(item, str):
        attempt = attempts.get(item) or {}
        sides = attempt.get("evidence") or {}
        return [side_entry(attempt, side, sides[side]) for side in ("client", "server") if sides.get(side)]
    facts = without_environment(item.get("facts"))
    return [make_entry(str(item.get("id") or identity), item.get("title"), item.get("command"), item.get("output"), facts)]


def side_entry(attempt: Record, side: str, told: Record) -> Record:
    """One side of a test as an entry."""
    title = f"{attempt['test']} on {attempt['rail']}, {side} {attempt[side]}, round {attempt['round']}"
    facts = {key: told.get(key) for key in ("ended", "exit_status")}
    return make_entry(f"{attempt['id']}/{side}", title, told.get("command"), told.get("output"), facts)


def make_entry(identity: str, title: Any, command: Any, output: Any, facts: Any) -> Record:
    """An entry of the schema; whatever else was with it is not stored."""
    texts = {name: None if text is None else str(text) for name, text in (("command", command), ("output", output))}
    told = facts if isinstance(facts, dict) or facts is None else {"facts": facts}
    return {"id": identity, "title": str(title or identity), **texts, "facts": told}


def shorten_entry(entry: Record, room: int) -> Record:
    """Head and tail of an output that is longer than ``room`` characters."""
    output = entry["output"]
    if output is None or len(output) <= room:
        return entry
    half = max(room // 2, 0)
    note = f"\n[{len(output) - 2 * half} characters left out]\n"
    return {**entry, "output": output[:half] + note + (output[-half:] if half else "")}


def without_environment(facts: Any) -> Any:
    """``facts`` without any member that holds an environment, however deep."""
    if isinstance(facts, dict):
        return {str(key): without_environment(value) for key, value in facts.items() if str(key).lower() not in SECRET_KEYS}
    if isinstance(facts, (list, tuple)):
        return [without_environment(value) for value in facts]
    return facts
