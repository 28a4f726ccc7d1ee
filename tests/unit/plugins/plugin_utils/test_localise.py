# SPDX-License-Identifier: GPL-3.0-or-later
"""Localisation on hand-made attempts; tests/unit/simulation does it on whole fabrics."""

from __future__ import annotations

from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.localise import localise

LIMIT = 88.2


def attempt(
    number: int, path: str, value: float | None = 97.0, rail: str = "rail0", test: str = "ib_write_bw", **changes: Any
) -> dict[str, Any]:
    """``path``: ``a>b``. ``value``: Gb/s, None is dead."""
    client, server = path.split(">")
    verdict = "fail" if value is None or value < LIMIT else "pass"
    check = {
        "metric": "ib_write_bw.average_gbit_s",
        "value": value,
        "bound": "at_least",
        "limit": LIMIT,
        "severity": "fail",
        "source": "us",
    }
    return {
        "id": f"{number}.{rail}.{path}.{test}",
        "round": number,
        "rail": rail,
        "test": test,
        "client": client,
        "server": server,
        "direction": "send",
        "outcome": "dead" if value is None else "measured",
        "measurements": [],
        "cause": "Silence." if value is None else None,
        "remedy": None,
        "blamed": None,
        "verdict": verdict,
        "checks": [] if value is None else [{**check, "outcome": verdict}],
        **changes,
    }


def screen(**bad: Any) -> list[dict[str, Any]]:
    """Four hosts screened on one rail; ``ab=9.7`` makes a to b slow."""
    paths = [(1, "a>b"), (1, "c>d"), (2, "b>a"), (2, "d>c")]
    return [
        attempt(number, path, **({"value": bad[path.replace(">", "")]} if path.replace(">", "") in bad else {})) for number, path in paths
    ]


def pairs(rounds: list[list[dict[str, str]]]) -> list[set[str]]:
    return [{f"{pair['client']}>{pair['server']}" for pair in one} for one in rounds]


def test_nothing_is_asked_of_a_good_fabric() -> None:
    assert localise(screen()) == {"findings": [], "next_rounds": [], "settled": True}


def test_suspects_meet_partners_that_are_proven_good() -> None:
    result = localise(screen(ab=9.7))
    assert pairs(result["next_rounds"]) == [{"a>d", "c>b"}]
    assert not result["settled"]


def test_a_slow_sender() -> None:
    judged = [*screen(ab=9.7), attempt(3, "a>c", 9.6), attempt(3, "d>b")]
    result = localise(judged)
    assert result["settled"]
    [finding] = result["findings"]
    assert finding == {
        "id": "rail.a.rail0.send.ib_write_bw",
        "outcome": "fail",
        "scope": "rail",
        "host": "a",
        "peer": None,
        "rail": "rail0",
        "direction": "send",
        "test": "ib_write_bw",
        "metric": "ib_write_bw.average_gbit_s",
        "value": 9.6,
        "threshold": {"bound": "at_least", "value": LIMIT, "source": "us"},
        "cause": "a sends too slowly on rail0: 9.6 Gb/s where at least 88.2 Gb/s is wanted. Seen with b and c, which others reach well.",
        "remedy": finding["remedy"],
        "evidence": ["1.rail0.a>b.ib_write_bw", "3.rail0.a>c.ib_write_bw"],
    }
    assert "PCIe" in finding["remedy"]


def test_a_slow_receiver() -> None:
    [finding] = localise([*screen(ab=9.7), attempt(3, "a>c"), attempt(3, "d>b", 9.6)])["findings"]
    assert (finding["host"], finding["direction"]) == ("b", "receive")
    assert finding["cause"].startswith("b receives too slowly on rail0")


def test_a_dead_rail() -> None:
    judged = [*screen(ab=None, ba=None), *(attempt(3, path, None if "a" in path else 97.0) for path in ("a>c", "c>a", "b>d", "d>b"))]
    [finding] = localise(judged)["findings"]
    assert (finding["scope"], finding["host"], finding["direction"], finding["value"]) == ("rail", "a", None, None)
    assert finding["cause"].startswith("a carries no RDMA traffic on rail0. Silence.")


def test_several_dead_rails_may_be_swapped() -> None:
    dead = [attempt(number, path, None, rail) for rail in ("rail0", "rail1") for number, path in enumerate(("a>b", "b>a", "a>c", "c>a"), 1)]
    good = [attempt(5, path, 97.0, rail) for rail in ("rail0", "rail1", "rail2") for path in ("b>c", "c>b")]
    judged = [*dead, *good, attempt(6, "a>b", 97.0, "rail2"), attempt(7, "b>a", 97.0, "rail2")]
    findings = localise(judged)["findings"]
    assert [(finding["scope"], finding["host"], finding["rail"]) for finding in findings] == [
        ("rail", "a", "rail0"),
        ("rail", "a", "rail1"),
    ]
    assert all("swapped" in finding["remedy"] for finding in findings)


def test_a_pair_is_repeated_before_it_is_accused() -> None:
    both_good = [*screen(ab=9.7), attempt(3, "a>c"), attempt(3, "d>b")]
    assert pairs(localise(both_good)["next_rounds"]) == [{"a>b"}]
    [finding] = localise([*both_good, attempt(4, "a>b", 9.8)])["findings"]
    assert (finding["outcome"], finding["scope"], finding["host"], finding["peer"]) == ("fail", "pair", "a", "b")
    assert "only the path between them" in finding["cause"]


def test_what_does_not_happen_again_is_a_warning() -> None:
    result = localise([*screen(ab=9.7), attempt(3, "a>c"), attempt(3, "d>b"), attempt(4, "a>b")])
    [finding] = result["findings"]
    assert (finding["outcome"], finding["scope"], result["settled"]) == ("warn", "pair", True)
    assert "That happened in 1 of 2 runs" in finding["cause"]


def test_one_good_test_does_not_excuse_another() -> None:
    judged = [*screen(ab=9.7), *(attempt(1, path, test="ibv_rc_pingpong", checks=[]) for path in ("a>b", "c>d"))]
    assert pairs(localise(judged)["next_rounds"]) == [{"a>d", "c>b"}]


def test_no_round_left() -> None:
    result = localise(screen(ab=9.7), rounds_left=0)
    assert (result["next_rounds"], result["settled"]) == ([], True)
    [finding] = result["findings"]
    assert (finding["scope"], finding["host"], finding["peer"]) == ("pair", "a", "b")
    assert "No further partner told the two apart." in finding["cause"]


def test_a_port_that_is_down_needs_no_second_test_and_frees_its_partner() -> None:
    down: dict[str, Any] = {"cause": "a: port 1 of the device is down.", "blamed": "a"}
    judged = [attempt(1, "a>b", None, **down), attempt(1, "c>d"), attempt(2, "b>a", None, **down), attempt(2, "d>c")]
    result = localise(judged)
    assert {frozenset(pair) for one in pairs(result["next_rounds"]) for pair in one} == {frozenset("b>c"), frozenset("d>b")}
    [finding] = localise([*judged, attempt(3, "b>c"), attempt(4, "d>b")])["findings"]
    assert (finding["outcome"], finding["scope"], finding["host"]) == ("fail", "rail", "a")
    assert finding["cause"] == "a carries no RDMA traffic on rail0. a: port 1 of the device is down."


def unmeasured(number: int, path: str, **more: Any) -> dict[str, Any]:
    return attempt(number, path, 97.0, checks=[], **more)


def test_a_host_s_own_trouble_is_inconclusive_and_tested_no_further() -> None:
    own = {
        "outcome": "failed",
        "verdict": "inconclusive",
        "blamed": "a",
        "cause": "a: memory registration failed.",
        "remedy": "raise the memlock limit",
    }
    judged = [unmeasured(1, "a>b", **own), attempt(1, "c>d"), unmeasured(2, "b>a", **own), attempt(2, "d>c")]
    result = localise(judged)
    assert all("a" not in pair for one in pairs(result["next_rounds"]) for pair in one)
    [finding] = localise([*judged, attempt(3, "b>c"), attempt(4, "d>b")])["findings"]
    assert (finding["outcome"], finding["scope"], finding["host"], finding["rail"]) == ("inconclusive", "rail", "a", "rail0")
    assert finding["cause"] == "a: memory registration failed. So 2 tests are inconclusive."
    assert finding["remedy"] == "raise the memlock limit"


def test_many_tests_without_threshold_are_one_finding() -> None:
    none = {
        "outcome": "measured",
        "verdict": "inconclusive",
        "blamed": None,
        "cause": "Nothing says what it must reach.",
        "remedy": "set verify_thresholds",
    }
    judged = [unmeasured(number, path, rail=rail, **none) for rail in ("rail0", "rail1") for number, path in ((1, "a>b"), (2, "b>a"))]
    result = localise(judged)
    assert result["settled"]  # to measure it again would not tell more
    [finding] = result["findings"]
    assert (finding["outcome"], finding["scope"], finding["rail"], finding["remedy"]) == (
        "inconclusive",
        "cluster",
        None,
        "set verify_thresholds",
    )
    assert "So 4 tests are inconclusive." in finding["cause"]


def test_the_partner_of_an_absent_host_is_missing_when_nobody_else_is_there() -> None:
    gone: dict[str, Any] = {"outcome": "absent", "verdict": "missing", "blamed": "b", "cause": "b did not take part."}
    result = localise([unmeasured(1, "a>b", **gone), unmeasured(2, "b>a", **gone)])
    assert result["settled"]
    assert [(finding["outcome"], finding["scope"], finding["host"], finding["rail"]) for finding in result["findings"]] == [
        ("missing", "host", "b", None),
        ("missing", "rail", "a", "rail0"),
    ]


def test_what_the_plan_leaves_out_is_missing() -> None:
    cut = [{"rail": "rail0", "client": "a", "server": "c"}]
    plan = {"rounds": [[{}, {}], [{}, {}]], "cut": cut, "alone": [{"host": "d", "rail": "rail1"}]}
    findings = localise(screen(), plan=plan)["findings"]
    assert [(finding["outcome"], finding["scope"], finding["host"], finding["rail"]) for finding in findings] == [
        ("missing", "rail", "d", "rail1"),
        ("missing", "cluster", None, None),
    ]
    assert findings[1]["cause"] == "The time budget left out 1 of 5 planned pairs."


def test_a_reading_client_receives() -> None:
    judged = [
        attempt(number, path, value, direction="receive") for number, path, value in ((1, "a>b", 9.7), (1, "c>d", 97.0), (2, "b>a", 97.0))
    ]
    assert pairs(localise(judged)["next_rounds"]) == [{"a>d", "c>b"}]
    [finding] = localise([*judged, attempt(3, "a>d", 9.7, direction="receive"), attempt(3, "c>b", direction="receive")])["findings"]
    assert (finding["host"], finding["direction"]) == ("a", "receive")


def test_both_directions_at_once_prove_all_four_ends() -> None:
    judged = [attempt(1, "a>b", 9.7, direction="both"), attempt(1, "c>d", direction="both")]
    assert pairs(localise(judged)["next_rounds"])[0] == {"a>d", "b>c"}


def test_findings_come_worst_first() -> None:
    gone: dict[str, Any] = {"outcome": "absent", "verdict": "missing", "blamed": "f", "cause": "f did not take part."}
    judged = [
        unmeasured(1, "e>f", **gone),
        *screen(ab=9.7),
        attempt(3, "a>c", 9.6),
        attempt(3, "d>b"),
        attempt(4, "e>c"),
        attempt(5, "c>e"),
    ]
    assert [finding["outcome"] for finding in localise(judged, rounds_left=0)["findings"]] == ["fail", "missing"]


def broken_off(number: int, path: str) -> dict[str, Any]:
    """A test whose connection broke off: recorded on the lab, where a slow rail did that once."""
    cause = f"{path[0]}: the connection broke off in the middle of the test (status 9)."
    return attempt(number, path, None, outcome="damaged", verdict="inconclusive", cause=cause, blamed=path[0])


def test_a_test_that_broke_off_is_made_again_and_then_explained_by_the_fault() -> None:
    ring = [attempt(1, "a>b"), broken_off(2, "b>c"), attempt(3, "c>a")]
    ping = [{**attempt(number, path), "test": "ibv_rc_pingpong"} for number, path in ((1, "a>b"), (2, "b>c"), (3, "c>a"))]
    first = localise(ring + ping)
    assert {"b>c"} in pairs(first["next_rounds"])
    again = [attempt(4, "b>a", 9.7), attempt(5, "b>c", 9.6), attempt(6, "a>c")]
    final = localise(ring + ping + again)
    [finding] = final["findings"]
    assert (finding["outcome"], finding["host"], finding["rail"], finding["direction"]) == ("fail", "b", "rail0", "send")
    assert "2.rail0.b>c.ib_write_bw" in finding["evidence"]
    assert final["settled"]


def test_a_test_that_broke_off_once_is_a_warning() -> None:
    good = [attempt(1, "a>b"), attempt(2, "b>a"), attempt(2, "d>c")]
    [finding] = localise([*good, broken_off(1, "c>d"), attempt(3, "c>d")])["findings"]
    assert (finding["outcome"], finding["scope"], finding["evidence"]) == ("warn", "pair", ["1.rail0.c>d.ib_write_bw"])
    assert "That happened in 1 of 2 runs, so it comes and goes." in finding["cause"]


def test_a_test_that_always_breaks_off_stays_inconclusive() -> None:
    good = [attempt(1, "a>b"), attempt(2, "b>a"), attempt(2, "d>c"), attempt(3, "c>a"), attempt(4, "a>d")]
    result = localise([*good, *(broken_off(number, "c>d") for number in (1, 3, 4))])
    assert result["settled"]
    assert [finding["outcome"] for finding in result["findings"]] == ["inconclusive"]
