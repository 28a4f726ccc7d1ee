# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates: what they print, and that nothing outside text can do gets through them."""

from __future__ import annotations

import html.parser
import io
import json
import pathlib
import re
from typing import Any
from xml.etree import ElementTree

import junitparser
import markdown_it
import pytest
from prometheus_client.parser import text_string_to_metric_families
from rendered_report import FORMATS, render, render_all
from simulated_run import simulate

VOID = {"meta", "br", "hr", "img", "input", "link"}
HOSTILE = "a\"b'c<script>alert(1)</script>` | [x](http://evil) **b** {{ 7*7 }} {% raw %} \\ \n# h\x1b[31m\u202e\x00&amp;"
FRAMES = {"outcome", "scope", "kind", "started", "finished", "verdict", "bound", "side", "severity", "link_layer", "direction"}


class Page(html.parser.HTMLParser):
    """Tags in balance, and what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def poison(value: Any, key: str = "") -> Any:
    """``value`` with hostile text appended to every string that outside programs or users write."""
    if isinstance(value, dict):
        return {name: poison(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [poison(member, key) for member in value]
    return value + HOSTILE if isinstance(value, str) and key not in FRAMES else value


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    return render_all(simulate(3, 2, rate=0.16, strategy="mesh", senders=[("node2", "rail1")], dead=[("rail0", "node1", "node3")]))


@pytest.fixture(scope="module")
def poisoned(reports: dict[str, str]) -> dict[str, str]:
    document = json.dumps(poison(json.loads(reports["json"])))
    return {name: render(name, document) for name in FORMATS}


def test_html_is_in_balance_and_needs_nothing_else(reports: dict[str, str]) -> None:
    page = Page(reports["html"])
    assert page.open == []
    assert "script" not in page.tags
    assert not [name for name, _value in page.attributes if name in ("src", "href", "action") or name.startswith("on")]
    assert "url(" not in reports["html"]
    assert "@import" not in reports["html"]


def test_html_says_the_verdict_first_and_keeps_the_evidence(reports: dict[str, str]) -> None:
    said = " ".join(" ".join(Page(reports["html"]).text).split())
    places = [said.rindex(words) for words in ("Fail: 1 of 6 rails", "What to do", "Every pair", "Thresholds")]
    assert places == sorted(places)
    assert "ib_write_bw -d mlx5_2 -x 3 --report_gbits" in said
    assert "0.90 of the payload ceiling" in said


def test_html_is_for_phone_dark_and_print(reports: dict[str, str]) -> None:
    for part in ("width=device-width", "prefers-color-scheme: dark", "@media print", "::details-content", 'lang="en"', 'role="img"'):
        assert part in reports["html"]


def test_html_shows_colours_as_signs_too(reports: dict[str, str]) -> None:
    root = ElementTree.fromstring(next(re.finditer(r"<svg.*?</svg>", reports["html"][reports["html"].index("rail0 ") :], re.S)).group())
    titles = [title.text for title in root.iter("title")]
    assert "node1 → node3: missing, no value. node3 did not answer." in titles
    assert "?" in [text.text for text in root.iter("text")]


def test_hostile_text_adds_no_markup_to_html(reports: dict[str, str], poisoned: dict[str, str]) -> None:
    clean, page = Page(reports["html"]), Page(poisoned["html"])
    assert page.open == []
    assert set(page.tags) <= set(clean.tags)
    assert {name for name, _value in page.attributes} <= {name for name, _value in clean.attributes}
    assert "<script" not in poisoned["html"]
    assert "alert(1)</script>" in "".join(page.text)


def test_no_format_lets_control_characters_through(poisoned: dict[str, str]) -> None:
    for name, text in poisoned.items():
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), name


def test_junit_loads_and_counts(reports: dict[str, str]) -> None:
    suites = junitparser.JUnitXml.fromfile(io.BytesIO(reports["junit.xml"].encode()))
    cases = {(case.classname, case.name): case for suite in suites for case in suite}
    assert [type(result).__name__ for result in cases["rail1.ib_write_bw", "node2"].result] == ["Failure"]
    assert cases["rail1.ib_write_bw", "node2"].result[0].message == "node2 · rail1 sends slowly"
    assert cases["rail1.ib_write_bw", "node1"].result == []
    failures = {suite.name: suite.failures for suite in suites}
    assert failures == {"rail0": 0, "rail1": 1, "findings": 1}
    assert len(cases) == 7


def test_hostile_junit_loads(reports: dict[str, str], poisoned: dict[str, str]) -> None:
    clean, dirty = (ElementTree.fromstring(text.encode()) for text in (reports["junit.xml"], poisoned["junit.xml"]))
    assert [element.tag for element in dirty.iter()] == [element.tag for element in clean.iter()]


def test_prometheus_reads_every_sample(reports: dict[str, str]) -> None:
    families = {family.name: family.samples for family in text_string_to_metric_families(reports["prom"])}
    assert {sample.labels["outcome"]: sample.value for sample in families["rdma_verify_verdict"]}["fail"] == 1
    assert {sample.labels["outcome"]: sample.value for sample in families["rdma_verify_tests"]}["missing"] == 1
    sent = [(sample.labels["host"], sample.labels["rail"], sample.value) for sample in families["rdma_verify_measurement"]]
    slow = [value for host, rail, value in sent if (host, rail) == ("node2", "rail1")]
    assert slow == [0.07, 0.07]
    bad = [(sample.labels["host"], sample.labels["rail"]) for sample in families["rdma_verify_rail_ok"] if not sample.value]
    assert bad == [("node2", "rail1")]


def test_hostile_labels_stay_labels(reports: dict[str, str], poisoned: dict[str, str]) -> None:
    clean, dirty = (list(text_string_to_metric_families(text)) for text in (reports["prom"], poisoned["prom"]))
    assert [family.name for family in dirty] == [family.name for family in clean]
    assert [len(family.samples) for family in dirty] == [len(family.samples) for family in clean]
    assert any("<script>" in sample.labels.get("host", "") for family in dirty for sample in family.samples)


def test_a_repeated_measurement_is_one_sample() -> None:
    run = simulate(3, 1)
    run["attempts"] += [{**attempt, "id": f"again.{attempt['id']}", "round": 9} for attempt in run["attempts"]]
    lines = [line.rpartition(" ")[0] for line in render_all(run)["prom"].splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))


def tokens(text: str) -> list[str]:
    """Kinds of the Markdown elements, in their order."""
    found = []
    for token in markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").parse(text):
        found += [token.type, *(child.type for child in token.children or [] if child.type not in ("text", "text_special", "softbreak"))]
    return found


def test_markdown_fits_a_ticket(reports: dict[str, str]) -> None:
    assert reports["md"].startswith("# Fail: 1 of 6 rails\n")
    assert "## ✕ fail: node2 · rail1 sends slowly" in reports["md"]
    assert "table_open" in tokens(reports["md"])
    assert len(reports["md"]) < 6000


def test_hostile_text_adds_no_markup_to_markdown(reports: dict[str, str], poisoned: dict[str, str]) -> None:
    assert tokens(poisoned["md"]) == tokens(reports["md"])


def test_a_thousand_hosts_give_a_page_a_browser_can_open() -> None:
    reports = render_all(simulate(1000, 8, prefix="gpu", senders=[("gpu0007", "rail2")], dead=[("rail3", "gpu0001", "gpu0501")]))
    assert len(reports["html"]) < 2_000_000
    assert len(reports["md"]) < 20_000
    assert Page(reports["html"]).open == []


def test_templates_print_and_do_not_think() -> None:
    folder = pathlib.Path(__file__).resolve().parents[4] / "roles" / "verify_report" / "templates"
    for path in folder.glob("*.j2"):
        code = " ".join(re.findall(r"\{[{%].*?[%}]\}", path.read_text(encoding="utf-8")))
        assert set(re.findall(r"\|\s*([a-z][\w.]*)", code)) == {"rdma.k8s.report_sections"}, path.name
