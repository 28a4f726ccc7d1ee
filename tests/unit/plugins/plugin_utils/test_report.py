# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report says of a run: verdict, counts, findings, sections."""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.localise import localise
from ansible_collections.rdma.k8s.plugins.plugin_utils.report import build_report, print_document
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_section import report_sections
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_text import format_number, format_seconds, format_value
from simulated_run import simulate

ROOT = pathlib.Path(__file__).resolve().parents[4]
SCHEMA = json.loads((ROOT / "roles/verify_report/files/report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

Run = dict[str, Any]


@pytest.fixture
def slow() -> Run:
    """The laboratory's own fault: node2 sends slowly on rail1."""
    return simulate(3, 2, rate=0.16, strategy="mesh", senders=[("node2", "rail1")], seconds=95)


@pytest.fixture
def green() -> Run:
    return simulate(3, 2, rate=0.16)


def document_of(run: Run) -> Run:
    document = build_report(**run)
    VALIDATOR.validate(document)
    return document


def test_a_slow_rail_is_named_in_the_first_lines(slow: Run) -> None:
    verdict = report_sections(document_of(slow))["verdict"]
    assert verdict["headline"] == "Fail: 1 of 6 rails"
    assert verdict["sentence"] == (
        "node2 · rail1 sends slowly: 0.070 Gb/s, at least 0.145 Gb/s wanted. Everything else that was measured is good."
    )
    assert verdict["worst"] == "node2 · rail1 sends slowly"
    assert verdict["context"] == "30 Nov 2026 02:10 to 02:11 UTC · verify_hosts · mesh"


def test_a_green_run_says_what_it_covers(green: Run) -> None:
    document = document_of(green)
    verdict = report_sections(document)["verdict"]
    assert document["verdict"] == "pass"
    assert verdict["headline"] == "Pass: all 6 rails on 3 hosts"
    assert document["findings"] == []
    assert document["evidence"] == []
    assert document["counts"]["tests"] == document["counts"]["pass"] == len(green["attempts"])


def test_rails_and_hosts_carry_the_worst_of_what_was_found(slow: Run) -> None:
    document = document_of(slow)
    outcomes = {(row["host"], row["rail"]): row["outcome"] for row in document["rails"]}
    assert [key for key, outcome in outcomes.items() if outcome == "fail"] == [("node2", "rail1")]
    assert {host["name"]: host["outcome"] for host in document["hosts"]} == {"node1": "pass", "node2": "fail", "node3": "pass"}


def test_what_was_cut_is_missing(green: Run) -> None:
    green["plan"]["cut"] = [{"rail": "rail1", "client": "node1", "server": "node3"}]
    document = document_of(green)
    assert document["verdict"] == "missing"
    assert document["counts"]["missing"] == 1
    assert [(row["outcome"], row["rail"], row["cause"]) for row in document["findings"]] == [
        ("missing", "rail1", "The time budget left no room for it.")
    ]
    assert report_sections(document)["verdict"]["headline"] == f"Missing: 1 of {len(green['attempts']) + 1} tests"


def test_a_bad_test_without_a_finding_gets_one(slow: Run) -> None:
    slow["findings"] = []
    document = document_of(slow)
    assert document["verdict"] == "fail"
    assert [(row["scope"], row["rail"]) for row in document["findings"]] == [("pair", "rail1")]
    assert "2 pairs: node2 to " in document["findings"][0]["cause"]
    assert len(document["findings"][0]["evidence"]) == 4


def test_a_warning_does_not_explain_a_failure_unless_it_cites_it(slow: Run) -> None:
    slow["findings"][0]["outcome"] = "warn"
    assert document_of(slow)["verdict"] == "warn"
    slow["findings"][0]["evidence"] = []
    assert document_of(slow)["verdict"] == "fail"


def test_a_finding_about_all_does_not_hide_a_worse_test(slow: Run) -> None:
    slow["plan"]["cut"] = [{"rail": "rail1", "client": "node1", "server": "node3"}]
    slow["findings"] = [{"outcome": "missing", "scope": "cluster", "cause": "The time budget left out 1 of 13 planned pairs."}]
    document = document_of(slow)
    assert [(row["outcome"], row["scope"]) for row in document["findings"]] == [("fail", "pair"), ("missing", "cluster")]


def test_a_test_in_which_the_client_receives_is_drawn_the_other_way_round(slow: Run) -> None:
    for attempt in slow["attempts"]:
        attempt.update(client=attempt["server"], server=attempt["client"], direction="receive")
    maps = report_sections(document_of(slow))["maps"]["maps"]
    titles = [cell["title"] for drawn in maps for cell in drawn["cells"] if cell["shade"] == "fail"]
    assert titles == ["node2 → node1: fail, 0.070 Gb/s", "node2 → node3: fail, 0.070 Gb/s"]


def test_a_rail_without_any_test_is_missing(green: Run) -> None:
    green["rails"]["node3"]["rail9"] = green["rails"]["node3"]["rail0"]
    green["rails"]["node4"] = {"rail0": green["rails"]["node3"]["rail0"]}
    document = document_of(green)
    assert document["verdict"] == "missing"
    assert [(row["scope"], row["host"], row["rail"]) for row in document["findings"]] == [
        ("host", "node4", None),
        ("rail", "node3", "rail9"),
    ]


def test_an_unreachable_host_explains_its_tests(green: Run) -> None:
    for attempt in green["attempts"]:
        if "node3" in (attempt["client"], attempt["server"]):
            attempt.update(outcome="absent", verdict="missing", measurements=[], checks=[], cause="node3 did not answer.")
    green["findings"] = [{"outcome": "missing", "scope": "host", "host": "node3", "cause": "node3 cannot be reached.", "remedy": None}]
    document = document_of(green)
    assert len(document["findings"]) == 1
    assert report_sections(document)["verdict"]["headline"] == "Missing: 2 of 6 rails"


def test_nothing_tested_is_missing() -> None:
    document = document_of({"kind": "verify_hosts", "attempts": [], "findings": [], "started": 0, "finished": 1})
    assert document["verdict"] == "missing"
    assert report_sections(document)["verdict"]["headline"] == "Missing: nothing was tested"


def test_old_firmware_warns_of_the_host_and_not_of_its_rails(green: Run) -> None:
    green["findings"] = [{"outcome": "warn", "scope": "host", "host": "node1", "cause": "Firmware 28.39 where others have 28.41."}]
    document = document_of(green)
    assert {row["outcome"] for row in document["rails"]} == {"pass"}
    assert report_sections(document)["verdict"]["headline"] == "Warn: 1 of 3 hosts"


def test_evidence_holds_command_and_text_and_never_an_environment(slow: Run) -> None:
    slow["findings"].append(
        {
            "outcome": "warn",
            "scope": "host",
            "host": "node1",
            "cause": "Slow governor.",
            "evidence": [
                {"title": "governor", "command": "cat scaling_governor", "output": "powersave", "facts": {"cpu": {"ENV": "hunter2"}}}
            ],
        }
    )
    document = document_of(slow)
    known = {entry["id"]: entry for entry in document["evidence"]}
    assert {entry for finding in document["findings"] for entry in finding["evidence"]} == set(known)
    assert all(entry["command"] for entry in known.values())
    assert "0.07" in known[document["findings"][0]["evidence"][0]]["output"]
    assert "hunter2" not in json.dumps(document)


def test_evidence_is_bounded(slow: Run) -> None:
    for attempt in slow["attempts"]:
        attempt["evidence"]["client"]["output"] = "x" * 65536
    slow["findings"] += [
        {"outcome": "fail", "scope": "pair", "cause": str(number), "evidence": [attempt["id"] for attempt in slow["attempts"]]}
        for number in range(500)
    ]
    assert len(print_document(build_report(**slow))) < 1_000_000


def test_findings_with_the_same_cause_share_a_card() -> None:
    run = simulate(8, 2, senders=[("node2", "rail1"), ("node4", "rail1"), ("node6", "rail1"), ("node8", "rail1")])
    cards = report_sections(document_of(run))["findings"]["cards"]
    assert [card["title"] for card in cards] == ["node2 · rail1, node4 · rail1, node6 · rail1 and 1 more: sends slowly"]
    assert [member["title"] for member in cards[0]["members"]] == [f"node{number} · rail1" for number in (2, 4, 6, 8)]
    assert cards[0]["next"][-1]["text"] == "ansible-playbook -i INVENTORY rdma.k8s.verify_hosts"


def test_cards_come_worst_first(green: Run) -> None:
    green["findings"] = [
        {"outcome": outcome, "scope": "host", "host": f"node{number}", "cause": outcome}
        for number in (10, 2)
        for outcome in ("warn", "missing", "inconclusive", "fail")
    ]
    cards = report_sections(document_of(green))["findings"]["cards"]
    assert [card["outcome"] for card in cards] == ["fail", "missing", "inconclusive", "warn"]
    assert [member["title"] for member in cards[0]["members"]] == ["node2", "node10"]


def test_a_bad_sender_is_a_stripe_and_its_partners_are_not_accused(slow: Run) -> None:
    sections = report_sections(document_of(slow))
    rail1 = sections["maps"]["maps"][1]
    assert {cell["x"] for cell in rail1["cells"] if cell["shade"] == "fail"} == {rail1["cells"][2]["x"]}
    assert sum(cell["shade"] == "fail" for cell in rail1["cells"]) == 2
    assert sections["hosts"]["shown"][0]["name"] == "node2"
    cells = [(row["name"], rail, cell) for row in sections["hosts"]["shown"] for rail, cell in enumerate(row["cells"])]
    assert [(name, rail) for name, rail, cell in cells if cell["sent_outcome"] != "pass"] == [("node2", 1)]
    assert all(cell["received_outcome"] == "pass" for _rail, _host, cell in cells)


@pytest.mark.parametrize("groups", [{}, {f"gpu{number:03}": f"leaf{number % 4}" for number in range(1, 201)}], ids=["blocks", "leaves"])
def test_many_hosts_are_shown_by_group(groups: dict[str, str]) -> None:
    run = simulate(200, 2, prefix="gpu", senders=[("gpu007", "rail1")])
    sections = report_sections(document_of({**run, "groups": groups}))
    maps = sections["maps"]["maps"]
    places = len(maps[0]["labels"])
    assert places == (4 if groups else 29)
    assert all(len(drawn["cells"]) <= places**2 for drawn in maps)
    assert [cell["shade"] for drawn in maps for cell in drawn["cells"]].count("fail") == 1
    assert "gpu007 → " in next(cell["title"] for cell in maps[1]["cells"] if cell["shade"] == "fail")
    assert (len(sections["hosts"]["shown"]), len(sections["hosts"]["folded"])) == (32, 168)


def test_dead_tests_have_words_instead_of_numbers(green: Run) -> None:
    for attempt in green["attempts"]:
        if attempt["rail"] == "rail0" and attempt["client"] == "node1":
            attempt.update(outcome="dead", verdict="fail", measurements=[], checks=[], cause="No byte arrived.")
    sections = report_sections(document_of(green))
    cells = {row["name"]: row["cells"][0] for row in sections["hosts"]["shown"]}
    assert cells["node1"]["sent"] == cells["node1"]["sent_outcome"] == "fail"
    assert any("no value. No byte arrived." in cell["title"] for cell in sections["maps"]["maps"][0]["cells"])


def test_another_schema_version_is_refused(green: Run) -> None:
    with pytest.raises(ValueError, match=r"schema_version 2; this version of rdma\.k8s reads 1"):
        report_sections({**document_of(green), "schema_version": 2})


def test_another_template_is_refused(green: Run) -> None:
    with pytest.raises(ValueError, match="no report template 'pdf'"):
        report_sections(document_of(green), "pdf")


def test_a_kind_that_is_no_file_name_is_refused(green: Run) -> None:
    with pytest.raises(ValueError, match="kind is"):
        build_report(**{**green, "kind": "../etc"})


def test_values_that_json_lacks_are_left_out(slow: Run) -> None:
    slow["findings"][0]["value"] = float("nan")
    slow["attempts"][0]["measurements"][0]["value"] = float("inf")
    document = json.loads(print_document(build_report(**slow)))
    VALIDATOR.validate(document)
    assert len(document["measurements"]) == len(slow["attempts"]) - 1


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in members for place in places(member, (*path, key)))]


def with_change(document: Run, path: tuple[Any, ...], change: Callable[[Any, Any], Any]) -> Run:
    """A copy in which the parent of ``path`` was changed."""
    changed = copy.deepcopy(document)
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return changed


FREE = ("versions", "tools", "facts")


def test_the_schema_refuses_what_is_wrong_anywhere(slow: Run) -> None:
    document = document_of(slow)
    paths = [path for path in places(document) if path and not any(key in FREE for key in path[:-1])]
    named = [path for path in paths if isinstance(path[-1], str)]
    assert len(named) > 300
    changes: dict[str, Callable[[Any, Any], Any]] = {
        "absent": lambda parent, key: parent.pop(key),
        "beside another key": lambda parent, key: parent.update(surplus=1),
        "a list": lambda parent, key: parent.update({key: [[]]}),
    }
    for path in named:
        accepted = [name for name, change in changes.items() if VALIDATOR.is_valid(with_change(document, path, change))]
        assert accepted == [], path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "red"),
        (("schema_version",), 2),
        (("started",), "yesterday"),
        (("kind",), "../etc"),
        (("counts", "fail"), -1),
        (("findings", 0, "scope"), "planet"),
        (("findings", 0, "threshold"), {"bound": ">", "value": 1, "source": None}),
        (("tests", 0, "value"), "fast"),
        (("measurements", 0, "labels", "side"), "left"),
    ],
)
def test_the_schema_refuses_wrong_values(slow: Run, path: tuple[Any, ...], value: Any) -> None:
    assert not VALIDATOR.is_valid(with_change(document_of(slow), path, lambda parent, key: parent.__setitem__(key, value)))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


NUMBERS = [(1234.5, "1,234.5"), (386.12, "386.1"), (97.5, "97.50"), (0.0704, "0.070"), (0.00012, "0.00012"), (0, "0.00"), (None, "-")]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_numbers(value: float | None, text: str) -> None:
    assert format_number(value) == text


def test_units() -> None:
    assert format_value("ib_write_lat.t_avg_us", 2.1) == "2.10 µs"
    assert format_value("ib_write_bw.average_gbit_s", 386.12) == "386.1 Gb/s"
    assert format_value(None, "28.39.1002") == "28.39.1002"
    assert [format_seconds(value) for value in (9.4, 532, 7260)] == ["9 s", "8 min 52 s", "2 h 1 min"]


@pytest.mark.parametrize("strategy", ["screen", "mesh"])
def test_what_the_localisation_finds_is_what_the_report_says(strategy: str) -> None:
    run = simulate(6, 2, strategy=strategy, senders=[("node2", "rail1")], dead=[("rail0", "node1", "node4")])
    run["plan"]["cut"] = [{"rail": "rail1", "client": "node1", "server": "node3"}]
    found = localise(run["attempts"], plan=run["plan"])["findings"]
    document = document_of({**run, "findings": found})
    assert {row["id"] for row in document["findings"]} == {row["id"] for row in found}
    assert document["verdict"] == "fail"
    assert "node2" in report_sections(document)["verdict"]["worst"]
