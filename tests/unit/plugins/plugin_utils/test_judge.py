# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.judge import judge, verdict

BANDWIDTH = "ib_write_bw.average_gbit_s"
CARD = {"rate_gbit_s": 100.0, "active_mtu": 4096, "link_layer": "ethernet", "address": "192.0.2.1"}
CARDS = {"node1": {"rail0": CARD}, "node2": {"rail0": CARD}}
VIRTUAL = {host: {"rail0": {**CARD, "rate_gbit_s": None}} for host in CARDS}


def attempt(value: float | None = None, outcome: str = "measured", test: str = "ib_write_bw", direction: str = "send") -> dict[str, Any]:
    labels = {
        "host": "node1",
        "peer": "node2",
        "rail": "rail0",
        "direction": direction,
        "test": test,
        "message_bytes": 65536,
        "side": "client",
    }
    metric = BANDWIDTH if test == "ib_write_bw" else "ibv_rc_pingpong.round_trip_us"
    return {
        "id": f"1.rail0.node1>node2.{test}",
        "round": 1,
        "rail": "rail0",
        "test": test,
        "client": "node1",
        "server": "node2",
        "outcome": outcome,
        "measurements": [] if value is None else [{"metric": metric, "value": value, "labels": labels}],
        "cause": None if outcome == "measured" else "a cause",
    }


def judged(one: dict[str, Any], thresholds: list[dict[str, Any]] | None = None, rails: Any = None) -> dict[str, Any]:
    [result] = judge([one], thresholds or [], CARDS if rails is None else rails)
    return result


# 98.0 Gb/s is the ceiling: fail below 88.2, warn below 93.1.
@pytest.mark.parametrize(
    ("value", "expected"), [(97.5, "pass"), (93.2, "pass"), (93.0, "warn"), (88.3, "warn"), (88.1, "fail"), (0.5, "fail")]
)
def test_the_link_s_rate_judges(value: float, expected: str) -> None:
    assert judged(attempt(value))["verdict"] == expected


@pytest.mark.parametrize(("value", "expected"), [(190.9, "pass"), (95.0, "fail"), (180.0, "warn")])
def test_half_of_both_directions_is_not_enough(value: float, expected: str) -> None:
    assert judged(attempt(value, direction="both"))["verdict"] == expected


@pytest.mark.parametrize(
    ("outcome", "expected"), [("dead", "fail"), ("absent", "missing"), ("failed", "inconclusive"), ("damaged", "inconclusive")]
)
def test_what_was_not_measured_has_not_passed(outcome: str, expected: str) -> None:
    result = judged(attempt(outcome=outcome))
    assert (result["verdict"], result["checks"], result["cause"]) == (expected, [], "a cause")


def test_users_thresholds_come_first_and_the_first_match_of_a_severity_counts() -> None:
    thresholds = [
        {"metric": BANDWIDTH, "where": {"rail": "rail1"}, "at_least": 99},
        {"metric": BANDWIDTH, "at_least": 50, "source": "our switch"},
        {"metric": BANDWIDTH, "at_least": 99},
    ]
    result = judged(attempt(60.0), thresholds)
    assert [(check["severity"], check["limit"], check["outcome"]) for check in result["checks"]] == [
        ("fail", 50.0, "pass"),
        ("warn", 93.11, "warn"),
    ]
    assert result["checks"][0]["source"] == "our switch"
    assert result["verdict"] == "warn"


def test_at_most() -> None:
    thresholds = [{"metric": "ibv_rc_pingpong.round_trip_us", "at_most": 10, "severity": "warn"}]
    assert judged(attempt(12.0, test="ibv_rc_pingpong"), thresholds)["verdict"] == "warn"
    assert judged(attempt(9.0, test="ibv_rc_pingpong"), thresholds)["verdict"] == "pass"


def test_a_virtual_device_needs_a_threshold() -> None:
    result = judged(attempt(0.15), rails=VIRTUAL)
    assert (result["verdict"], result["remedy"]) == ("inconclusive", "set verify_thresholds")
    assert judged(attempt(0.15), [{"metric": BANDWIDTH, "at_least": 0.05}], VIRTUAL)["verdict"] == "pass"
    assert judged(attempt(0.02), [{"metric": BANDWIDTH, "at_least": 0.05}], VIRTUAL)["verdict"] == "fail"


def test_connectivity_needs_no_threshold() -> None:
    assert judged(attempt(8.5, test="ibv_rc_pingpong"), rails=VIRTUAL)["verdict"] == "pass"


def test_more_than_the_link_carries_is_not_believed() -> None:
    result = judged(attempt(391.2))
    assert result["verdict"] == "inconclusive"
    assert result["cause"].startswith("391.2 Gb/s are more than the link can carry")


def test_the_input_stays_as_it_was() -> None:
    one = attempt(97.5)
    before = repr(one)
    judged(one)
    assert repr(one) == before


def test_a_wrong_threshold_stops_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="did you mean at_least"):
        judged(attempt(97.5), [{"metric": BANDWIDTH, "at_leest": 90}])


@pytest.mark.parametrize(
    ("found", "counts", "expected"),
    [
        ([], {"pass": 3}, "pass"),
        ([], {"pass": 3, "warn": 1}, "warn"),
        ([], {"pass": 3, "inconclusive": 1, "missing": 1}, "missing"),
        ([], {}, "missing"),
        (["warn"], {"pass": 3, "fail": 1}, "warn"),
        (["warn", "inconclusive", "missing"], {"pass": 3}, "missing"),
        (["missing", "fail"], {"pass": 3}, "fail"),
        (["warn"], {"inconclusive": 3}, "missing"),
    ],
)
def test_the_worst_counts(found: list[str], counts: dict[str, int], expected: str) -> None:
    assert verdict([{"outcome": outcome} for outcome in found], counts) == expected
