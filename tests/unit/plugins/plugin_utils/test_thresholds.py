# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import checked_thresholds, payload_ceiling, rate_thresholds, speaks_of

BANDWIDTH = "ib_write_bw.average_gbit_s"
BIG = 1 << 23


def measurement(**labels: Any) -> dict[str, Any]:
    return {
        "metric": BANDWIDTH,
        "value": 90.0,
        "labels": {"host": "node1", "rail": "rail0", "test": "ib_write_bw", "message_bytes": 65536, **labels},
    }


# The table of payload ceilings that perftest's users find in the literature: RoCE v2, IPv4, untagged.
@pytest.mark.parametrize(
    ("rate", "mtu", "gbit_s"),
    [
        (25, 1024, 23.15),
        (25, 4096, 24.51),
        (100, 1024, 92.59),
        (100, 2048, 96.15),
        (100, 4096, 98.04),
        (400, 4096, 392.15),
        (800, 2048, 769.20),
    ],
)
def test_ceiling_of_ethernet(rate: float, mtu: int, gbit_s: float) -> None:
    assert payload_ceiling(rate, mtu, BIG) == pytest.approx(gbit_s, abs=0.02)


@pytest.mark.parametrize(("rate", "mtu", "gbit_s"), [(100, 1024, 97.5), (200, 2048, 197.5), (400, 4096, 397.5)])
def test_ceiling_of_infiniband(rate: float, mtu: int, gbit_s: float) -> None:
    assert payload_ceiling(rate, mtu, BIG, "infiniband") == pytest.approx(gbit_s, abs=0.05)


def test_ipv6_costs_twenty_bytes_a_packet_on_ethernet() -> None:
    assert payload_ceiling(100, 4096, BIG, ipv6=True) == pytest.approx(100 * 4096 / 4198, abs=0.001)


def test_thresholds_follow_from_the_slower_side() -> None:
    fast, slow = {"rate_gbit_s": 400, "active_mtu": 4096}, {"rate_gbit_s": 100, "active_mtu": 1024}
    fail, warn = rate_thresholds(measurement(), [fast, slow])
    ceiling = payload_ceiling(100, 1024, 65536)
    assert (fail["severity"], fail["limit"]) == ("fail", pytest.approx(0.90 * ceiling, abs=0.01))
    assert (warn["severity"], warn["limit"]) == ("warn", pytest.approx(0.95 * ceiling, abs=0.01))
    assert fail["source"] == "90% of the payload ceiling 92.6 Gb/s of a 100 Gb/s link, MTU 1024"


def test_both_directions_must_reach_twice_as_much() -> None:
    rails = [{"rate_gbit_s": 100, "active_mtu": 4096}] * 2
    one, both = (rate_thresholds(measurement(direction=direction), rails)[0]["limit"] for direction in ("send", "both"))
    assert both == pytest.approx(2 * one, abs=0.02)


@pytest.mark.parametrize(
    ("labels", "rail"),
    [
        ({}, {"rate_gbit_s": None, "active_mtu": 4096}),
        ({}, {"rate_gbit_s": 100, "active_mtu": None}),
        ({}, {}),
        ({"message_bytes": 4096}, {"rate_gbit_s": 100, "active_mtu": 4096}),
        ({"test": "ib_write_lat"}, {"rate_gbit_s": 100, "active_mtu": 4096}),
    ],
)
def test_without_a_rate_that_limits_nothing_is_derived(labels: dict[str, Any], rail: dict[str, Any]) -> None:
    assert list(rate_thresholds(measurement(**labels), [rail, {"rate_gbit_s": 100, "active_mtu": 4096}])) == []


def test_a_threshold_is_completed() -> None:
    where = {"rail": ["rail0", "rail1"], "message_bytes": 65536}
    assert checked_thresholds([{"metric": BANDWIDTH, "where": where, "at_least": 90}]) == [
        {
            "metric": BANDWIDTH,
            "where": {"rail": frozenset({"rail0", "rail1"}), "message_bytes": frozenset({"65536"})},
            "bound": "at_least",
            "limit": 90.0,
            "severity": "fail",
            "source": "verify_thresholds[0]",
        }
    ]


@pytest.mark.parametrize(
    ("where", "speaks"),
    [
        ({}, True),
        ({"rail": "rail0"}, True),
        ({"rail": ["rail1", "rail0"], "message_bytes": "65536"}, True),
        ({"rail": "rail1"}, False),
        ({"peer": "x"}, False),
    ],
)
def test_where_selects_by_labels(where: dict[str, Any], speaks: bool) -> None:
    [threshold] = checked_thresholds([{"metric": BANDWIDTH, "where": where, "at_least": 90}])
    assert speaks_of(threshold, measurement()) is speaks


@pytest.mark.parametrize(
    ("threshold", "sentence"),
    [
        ({"metric": "ib_write_bw.average_gbps", "at_least": 1}, "average_gbps'; did you mean ib_write_bw.average_gbit_s"),
        ({"at_least": 1}, "the metric is None; allowed are ib_write_bw.average_gbit_s"),
        ({"metric": BANDWIDTH, "at_leest": 1}, "unknown key 'at_leest'; did you mean at_least"),
        ({"metric": BANDWIDTH}, "needs exactly one of at_least and at_most, and has none"),
        ({"metric": BANDWIDTH, "at_least": 1, "at_most": 2}, "and has at_least and at_most"),
        ({"metric": BANDWIDTH, "at_least": "90 Gb/s"}, "at_least is '90 Gb/s'; it must be a number without unit, in Gb/s"),
        ({"metric": BANDWIDTH, "at_least": float("nan")}, "at_least is nan"),
        ({"metric": BANDWIDTH, "at_least": True}, "at_least is True"),
        ({"metric": BANDWIDTH, "at_least": 1, "severity": "error"}, "severity is 'error'; allowed are fail, warn"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": {"rial": "rail0"}}, "unknown label 'rial'; did you mean rail"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": {"rail": "rail9"}}, "where.rail is 'rail9'; did you mean rail1"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": {"host": ["node1", "nod2"]}}, "where.host is 'nod2'; did you mean node"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": {"direction": "sent"}}, "where.direction is 'sent'; did you mean send"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": {"message_bytes": "64K"}}, "message_bytes is '64K'; it must be a number of bytes"),
        ({"metric": BANDWIDTH, "at_least": 1, "where": "rail0"}, "where is 'rail0'; it must map labels"),
        ("fast", "is 'fast'; it must be a dictionary"),
    ],
)  # fmt: skip
def test_a_wrong_threshold_gets_one_sentence(threshold: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        checked_thresholds([threshold], hosts=["node1", "node2"], rails=["rail0", "rail1"])
