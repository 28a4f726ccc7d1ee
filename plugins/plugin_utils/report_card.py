# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as cards: grouped by cause, with sentence, next step and evidence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record, finding_key
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import (
    SIGNS,
    as_sentence,
    count_of,
    format_bound,
    format_value,
    split_code,
    split_metric,
    stop,
)

SHOWN_CARDS = 60
SHOWN_ITEMS = 24
SHOWN_ENTRIES = 8
SHOWN_CHARACTERS = 6000
SPEEDS = {"send": "sends slowly", "receive": "receives slowly", "both": "is slow both ways"}
PHRASES = {"fail": "fails", "missing": "not measured", "inconclusive": "not decided", "warn": "needs a look", "pass": "passes"}


def list_cards(document: Record) -> Record:
    """All findings but passes as ``{cards, more}``, worst first."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for finding in sorted(document["findings"], key=finding_key):
        if finding["outcome"] != "pass":
            groups.setdefault(group_key(finding), []).append(finding)
    evidence = {entry["id"]: entry for entry in document["evidence"]}
    cards = [make_card(group, document["kind"], evidence) for group in list(groups.values())[:SHOWN_CARDS]]
    left = len(groups) - len(cards)
    return {"cards": cards, "more": f"{count_of(left, 'more finding')} in report.json." if left else None}


def group_key(finding: Record) -> tuple[str, ...]:
    """Findings with the same cause and remedy share a card; one without a cause stands alone."""
    alone = finding["id"] if not finding["cause"] else ""
    shared = (finding[key] or "" for key in ("scope", "test", "direction", "cause", "remedy"))
    return (finding["outcome"], *shared, alone)


def make_card(group: Sequence[Record], kind: str, evidence: Mapping[str, Record]) -> Record:
    """One card for findings of the same cause."""
    first = group[0]
    several = len(group) > 1
    shown = group[:SHOWN_ITEMS]
    cited = list(dict.fromkeys(entry for finding in shown for entry in finding["evidence"]))[:SHOWN_ENTRIES]
    return {
        "outcome": first["outcome"],
        "sign": SIGNS[first["outcome"]],
        "title": title_of(group),
        "tag": tag_of(first),
        "members": [{"title": subject_of(finding) if several else None, "sentence": sentence_of(finding)} for finding in shown],
        "evidence": [show_evidence(evidence[entry]) for entry in cited if entry in evidence],
        "more": f"{len(group) - len(shown)} more in report.json." if len(group) > len(shown) else None,
        "cause": split_code(stop(first["cause"])),
        "next": split_code(next_step(group, kind)),
    }


def subject_of(finding: Record) -> str:
    """``gpu03 ↔ gpu12 · rail1``: what the finding is about."""
    ends = [name for name in (finding["host"], finding["peer"]) if name]
    arrow = " → " if finding["direction"] == "send" or finding["scope"] == "pair" else " ↔ "
    parts = [part for part in (arrow.join(ends), finding["rail"]) if part]
    return " · ".join(parts) or finding["test"] or finding["scope"]


def title_of(group: Sequence[Record]) -> str:
    """Subjects and, in a word or two, what is the matter with them."""
    subjects = [subject_of(finding) for finding in group[:3]]
    more = len(group) - len(subjects)
    names = ", ".join(subjects) + (f" and {more} more" if more else "")
    return names + (": " if len(group) > 1 else " ") + phrase_of(group[0])


def phrase_of(finding: Record) -> str:
    """``sends slowly``, ``not measured``, ``below the threshold``."""
    slow = finding["value"] is not None and finding["threshold"] and finding["outcome"] in ("fail", "warn")
    if slow and finding["direction"] in SPEEDS and finding["threshold"]["bound"] == "at_least":
        return SPEEDS[finding["direction"]]
    if slow:
        return "below the threshold" if finding["threshold"]["bound"] == "at_least" else "above the threshold"
    return PHRASES[finding["outcome"]]


def summarise_finding(finding: Record) -> str:
    """``gpu07 · rail2 sends slowly: 171.1 Gb/s, at least 350.1 Gb/s wanted.``"""
    said = (finding["cause"] or "").replace("`", "")
    if finding["value"] is not None:
        said = format_value(finding["metric"], finding["value"])
        said += f", {format_bound(finding['metric'], finding['threshold'])} wanted" if finding["threshold"] else ""
    return f"{subject_of(finding)} {phrase_of(finding)}" + (f": {said.rstrip('.')}." if said else ".")


def sentence_of(finding: Record) -> str:
    """``171.1 Gb/s (ib_write_bw average), at least 350.1 Gb/s: 0.90 of the payload ceiling.``"""
    if finding["value"] is None:
        return f"{finding['test']}: no value." if finding["test"] else ""
    metric = finding["metric"]
    sentence = format_value(metric, finding["value"])
    if metric:
        sentence += f" ({split_metric(metric)[0]})"
    if finding["threshold"]:
        sentence += f"; wanted: {format_bound(metric, finding['threshold'])}"
        sentence += f", from {finding['threshold']['source']}" if finding["threshold"].get("source") else ""
    return sentence + "."


def tag_of(finding: Record) -> str:
    """``rail of a host · ib_write_bw``."""
    scope = "rail of a host" if finding["scope"] == "rail" and finding["host"] else finding["scope"]
    return " · ".join(part for part in (scope, finding["test"]) if part)


def next_step(group: Sequence[Record], kind: str) -> str:
    """The remedy and, where it names no command itself, the command that tests again."""
    remedy = as_sentence(group[0]["remedy"])
    if "ansible-playbook" in remedy:
        return remedy
    return f"{remedy} Test again: `ansible-playbook -i INVENTORY rdma.k8s.{kind}`".strip()


def show_evidence(entry: Record) -> Record:
    """An entry with its text short enough for a page and its facts as lines."""
    output = entry["output"] or ""
    if len(output) > SHOWN_CHARACTERS:
        half = SHOWN_CHARACTERS // 2
        output = f"{output[:half]}\n[… {len(output) - 2 * half} characters more in report.json …]\n{output[-half:]}"
    facts = entry["facts"] if isinstance(entry["facts"], dict) else {}
    lines = [f"{name}: {value}" for name, value in facts.items() if value is not None]
    return {"title": entry["title"], "command": entry["command"], "output": output, "facts": ", ".join(lines)}
