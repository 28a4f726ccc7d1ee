# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a value must reach: the users' thresholds, checked, and those that follow from the rate of a link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import BANDWIDTH_TESTS, LATENCY_TESTS

Record = Mapping[str, Any]
Threshold = dict[str, Any]

# Metric -> unit, as a report shows it. Peak rates are left out: tools leave them 0.00 in many runs.
METRICS = {
    **{f"{test}.average_gbit_s": "Gb/s" for test in BANDWIDTH_TESTS},
    **{f"{test}.{name}_us": "us" for test in LATENCY_TESTS for name in ("typical", "average", "p99", "p99_9")},
    "ibv_rc_pingpong.round_trip_us": "us",
}
LABELS = ("host", "peer", "rail", "direction", "test", "message_bytes", "side")
SEVERITIES = ("fail", "warn")
BOUNDS = ("at_least", "at_most")
KEYS = ("metric", "where", *BOUNDS, "severity", "source")
VALUES = {
    "direction": ("send", "receive", "both"),
    "side": ("client", "server"),
    "test": (*BANDWIDTH_TESTS, *LATENCY_TESTS, "ibv_rc_pingpong"),
}

# Share of the payload ceiling -> severity of staying below it. Asserted floors of other suites lie at 0.90 to 0.975 of the link rate.
RATIOS = {"fail": 0.90, "warn": 0.95}
# Smaller messages are limited by the message rate of the card, not by the link.
RATED_FROM_BYTES = 65536
# Bytes beside the payload of each packet: RoCE v2 over IPv4 untagged, from preamble to gap; InfiniBand without GRH.
OVERHEAD_BYTES = {"ethernet": 82, "infiniband": 26}
IPV6_EXTRA_BYTES = 20
RETH_BYTES = 16  # once a message


def checked_thresholds(thresholds: Sequence[Record], hosts: Sequence[str] = (), rails: Sequence[str] = ()) -> list[Threshold]:
    """Users' thresholds as ``{metric, where, bound, limit, severity, source}``.

    Names in ``where`` are checked where ``hosts`` or ``rails`` are given. ``ValueError`` with one sentence for the first that cannot be.
    """
    known = {**VALUES, **({"host": hosts, "peer": hosts} if hosts else {}), **({"rail": rails} if rails else {})}
    return [_checked(f"verify_thresholds[{number}]", threshold, known) for number, threshold in enumerate(thresholds)]


def _checked(name: str, threshold: object, known: Mapping[str, Sequence[str]]) -> Threshold:
    if not isinstance(threshold, Mapping):
        raise ValueError(f"{name} is {threshold!r}; it must be a dictionary with metric and at_least or at_most.")
    for key in threshold:
        _allow(f"{name} has the unknown key", key, KEYS)
    _allow(f"{name}: the metric is", threshold.get("metric"), METRICS)
    severity = threshold.get("severity", "fail")
    _allow(f"{name}: the severity is", severity, SEVERITIES)
    given = [bound for bound in BOUNDS if threshold.get(bound) is not None]
    if len(given) != 1:
        raise ValueError(f"{name} needs exactly one of at_least and at_most, and has {' and '.join(given) or 'none'}.")
    limit = threshold[given[0]]
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not math.isfinite(limit) or limit < 0:
        raise ValueError(f"{name}: {given[0]} is {limit!r}; it must be a number without unit, in {METRICS[threshold['metric']]}.")
    where = threshold.get("where") or {}
    if not isinstance(where, Mapping):
        raise ValueError(f"{name}: where is {where!r}; it must map labels to values, as in {{rail: rail0}}.")
    return {
        "metric": threshold["metric"],
        "where": {label: _checked_values(name, label, value, known) for label, value in where.items()},
        "bound": given[0],
        "limit": float(limit),
        "severity": severity,
        "source": str(threshold.get("source") or name),
    }


def _checked_values(name: str, label: str, value: object, known: Mapping[str, Sequence[str]]) -> frozenset[str]:
    _allow(f"{name}: where has the unknown label", label, LABELS)
    values = value if isinstance(value, (list, tuple)) else [value]
    for each in values:
        if label in known:
            _allow(f"{name}: where.{label} is", each, known[label])
        elif label == "message_bytes" and not str(each).isdecimal():
            raise ValueError(f"{name}: where.message_bytes is {each!r}; it must be a number of bytes, as in 65536.")
    return frozenset(str(each) for each in values)


def _allow(what: str, value: object, allowed: Iterable[str]) -> None:
    names = list(allowed)
    if value not in names:
        near = get_close_matches(str(value), names, 1)
        raise ValueError(f"{what} {value!r}; {f'did you mean {near[0]}? ' if near else ''}allowed are {', '.join(names)}.")


def speaks_of(threshold: Record, measurement: Record) -> bool:
    """Whether a checked threshold is meant for the measurement."""
    labels = measurement["labels"]
    return threshold["metric"] == measurement["metric"] and all(
        str(labels.get(label)) in values for label, values in threshold["where"].items()
    )


def rate_thresholds(measurement: Record, rails: Sequence[Record]) -> Sequence[Threshold]:
    """Thresholds that follow from the slower of the two ``rails``; none where a rate is unknown, or where no rate limits the metric."""
    labels = measurement["labels"]
    message_bytes = int(labels.get("message_bytes") or 0)
    rates = [float(rail.get("rate_gbit_s") or 0) for rail in rails]
    mtus = [int(rail.get("active_mtu") or 0) for rail in rails]
    if labels.get("test") not in BANDWIDTH_TESTS or message_bytes < RATED_FROM_BYTES or not all(rates) or not all(mtus):
        return ()
    ipv6 = any(":" in str(rail.get("address")) for rail in rails)
    layer = str(rails[0].get("link_layer") or "ethernet")
    directions = 2 if labels.get("direction") == "both" else 1
    return _rate_thresholds(measurement["metric"], min(rates), min(mtus), layer, ipv6, message_bytes, directions)


@lru_cache(maxsize=4096)
def _rate_thresholds(
    metric: str, rate: float, mtu: int, layer: str, ipv6: bool, message_bytes: int, directions: int
) -> Sequence[Threshold]:
    ceiling = directions * payload_ceiling(rate, mtu, message_bytes, layer, ipv6)
    both = " in both directions" if directions == 2 else ""
    what = f"the payload ceiling {ceiling:.1f} Gb/s of a {rate:g} Gb/s link{both}, MTU {mtu}"
    return tuple(
        {
            "metric": metric,
            "where": {},
            "bound": "at_least",
            "limit": round(ratio * ceiling, 2),
            "severity": severity,
            "source": f"{ratio:.0%} of {what}",
        }
        for severity, ratio in RATIOS.items()
    )


def payload_ceiling(rate_gbit_s: float, mtu: int, message_bytes: int, link_layer: str = "ethernet", ipv6: bool = False) -> float:
    """Gb/s of payload that a link of ``rate_gbit_s`` can carry one way in messages of that size."""
    overhead = OVERHEAD_BYTES[link_layer] + (IPV6_EXTRA_BYTES if ipv6 and link_layer == "ethernet" else 0)
    return rate_gbit_s * message_bytes / (message_bytes + overhead * math.ceil(message_bytes / mtu) + RETH_BYTES)
