# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers, times and bounds as people read them, and outside text made harmless for each format. Pure."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.report_order import Record

UNITS = {"gbit_s": "Gb/s", "gbyte_s": "GB/s", "us": "µs", "bytes": "bytes", "count": "", "ratio": "", "mpps": "Mpps", "s": "s"}
BOUNDS = {"at_least": "at least", "at_most": "at most"}
SIGNS = {"fail": "✕", "missing": "?", "inconclusive": "~", "warn": "!", "pass": "✓"}

# What XML 1.0 forbids, terminal control, and marks that change the direction of the text around them.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# Markup of CommonMark and of what ticket systems add to it; an underscore within a word is none.
MARKDOWN = re.compile(r"([\\`*\[\]#!|~$@]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|:(?=//)|(?<=\bwww)\.|^[-+=])")
LIST_NUMBER = re.compile(r"^([0-9]{1,9})([.)])(?=\s|$)")


def split_metric(metric: str) -> tuple[str, str]:
    """``ib_write_bw.average_gbit_s`` as ``("ib_write_bw average", "Gb/s")``."""
    for suffix in sorted(UNITS, key=len, reverse=True):
        if metric.endswith("_" + suffix):
            return metric[: -len(suffix) - 1].replace(".", " "), UNITS[suffix]
    return metric.replace(".", " "), ""


def format_number(value: float | None) -> str:
    """Four digits at most behind the point, fewer the larger the number."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 100:
        return f"{value:,.1f}"
    return f"{value:.2f}" if size >= 1 or not value else f"{value:.3g}" if size < 0.01 else f"{value:.3f}"


def format_value(metric: str | None, value: Any) -> str:
    """A value with its unit; text stays as it is."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    return f"{format_number(float(value))} {split_metric(metric or '')[1]}".strip()


def format_bound(metric: str | None, threshold: Record) -> str:
    """``at least 350.1 Gb/s``."""
    return f"{BOUNDS.get(threshold['bound'], threshold['bound'])} {format_value(metric, threshold['value'])}"


def format_seconds(seconds: float) -> str:
    """``8 min 52 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def format_period(started: str, finished: str) -> str:
    """``30 Nov 2026 02:10 to 02:19 UTC``."""
    first, last = (datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ") for text in (started, finished))
    until = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%d %b %H:%M}"
    return f"{first:%d %b %Y %H:%M} to {until} UTC"


def count_of(number: int, noun: str) -> str:
    """``1 rail``, ``2 rails``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def stop(text: str | None) -> str:
    """``text`` with the full stop of a sentence."""
    said = (text or "").strip()
    return said if not said or said.endswith((".", "!", "?", "`")) else f"{said}."


def as_sentence(text: str | None) -> str:
    """``text`` with a capital and a full stop; not for what may begin with a name."""
    said = stop(text)
    return said[:1].upper() + said[1:]


def split_code(text: str | None) -> list[Record]:
    """A sentence cut at its backticks, so that a template can print commands as such."""
    return [{"text": part, "code": bool(number % 2)} for number, part in enumerate((text or "").split("`")) if part]


def clean(text: Any) -> str:
    """``text`` without characters that XML forbids or that steer a terminal."""
    return UNPRINTABLE.sub("", str(text).replace("\r\n", "\n").replace("\r", "\n"))


def escape_all(value: Any, escape: Callable[[Any], str]) -> Any:
    """``value`` with every string in it escaped, however deep; keys are ours."""
    if isinstance(value, dict):
        return {key: escape_all(member, escape) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [escape_all(member, escape) for member in value]
    return escape(value) if isinstance(value, str) else value


def escape_markup(text: Any) -> str:
    """Text for HTML and XML, also between double quotes."""
    return html.escape(clean(text), quote=True)


def escape_markdown(text: Any) -> str:
    """One line of Markdown in which nothing of ``text`` is markup, in a table, too."""
    line = " ".join(clean(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LIST_NUMBER.sub(r"\1\\\2", MARKDOWN.sub(r"\\\1", line))


def escape_label(text: Any) -> str:
    """A label value of the Prometheus text format."""
    return clean(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
