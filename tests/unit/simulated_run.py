# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated runs for tests of the report: plans are real, values invented. Stands in for fabrics of a size that no laboratory here has."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.rounds import plan_rounds

STARTED = 1796004600.0  # 30 November 2026, 02:10 UTC
SOURCES = {"fail": "0.90 of the payload ceiling of 400 Gb/s", "warn": "0.95 of the payload ceiling of 400 Gb/s"}
End = tuple[str, str]


def simulate(
    hosts: int,
    rails: int,
    *,
    prefix: str = "node",
    strategy: str = "screen",
    rate: float = 386.0,
    senders: Collection[End] = (),
    receivers: Collection[End] = (),
    dead: Collection[tuple[str, str, str]] = (),
    seconds: float = 522.0,
) -> dict[str, Any]:
    """Arguments for ``build_report``.

    ``senders`` send and ``receivers`` receive at 44 % of ``rate`` (Gb/s); ``dead``: (rail, client, server) whose server is absent.
    """
    width = len(str(hosts)) if hosts > 9 else 1
    names = [f"{prefix}{number:0{width}}" for number in range(1, hosts + 1)]
    rail_names = [f"rail{number}" for number in range(rails)]
    plan = plan_rounds(names, dict.fromkeys(names, rail_names), strategy)
    draw = random.Random(1)
    attempts = [
        attempt(number, pair, speed(pair, rate, senders, receivers, draw), rate, (pair["rail"], pair["client"], pair["server"]) in dead)
        for number, pairs in enumerate(plan["rounds"], 1)
        for pair in pairs
    ]
    plan["predicted_s"] = seconds * 0.97
    return {
        "kind": "verify_hosts",
        "attempts": attempts,
        "findings": [
            *(finding(host, rail, "send", rate, attempts) for host, rail in senders),
            *(finding(host, rail, "receive", rate, attempts) for host, rail in receivers),
        ],
        "started": STARTED,
        "finished": STARTED + seconds,
        "plan": plan,
        "rails": {name: {rail: resolved(name, rail, rate) for rail in rail_names} for name in names},
        "facts": {name: {"kernel": "6.1.0-40-amd64", "tools": {"ib_write_bw": "6.06"}} for name in names},
        "versions": {"rdma.k8s": "0.1.0", "ansible-core": "2.19.14"},
    }


def speed(pair: dict[str, str], rate: float, senders: Collection[End], receivers: Collection[End], draw: random.Random) -> float:
    slow = (pair["client"], pair["rail"]) in senders or (pair["server"], pair["rail"]) in receivers
    return round((0.44 if slow else draw.uniform(0.985, 1.005)) * rate, 3)


def attempt(number: int, pair: dict[str, str], value: float, rate: float, absent: bool) -> dict[str, Any]:
    """A judged attempt."""
    rail, client, server = pair["rail"], pair["client"], pair["server"]
    identity = f"{number}.{rail}.{client}>{server}.ib_write_bw"
    labels = {
        "host": client,
        "peer": server,
        "rail": rail,
        "direction": "send",
        "test": "ib_write_bw",
        "message_bytes": 65536,
        "side": "client",
    }
    limits = (("fail", 0.907 * rate), ("warn", 0.95 * rate))
    checks = [
        {
            "metric": "ib_write_bw.average_gbit_s",
            "value": value,
            "bound": "at_least",
            "limit": round(limit, 3),
            "source": SOURCES[severity],
            "severity": severity,
            "outcome": "pass" if value >= limit else severity,
        }
        for severity, limit in limits
    ]
    base = {"id": identity, "round": number, "rail": rail, "test": "ib_write_bw", "client": client, "server": server}
    if absent:
        evidence = {"client": side("", "no_peer"), "server": None}
        return {
            **base,
            "outcome": "absent",
            "measurements": [],
            "cause": f"{server} did not answer.",
            "evidence": evidence,
            "verdict": "missing",
            "checks": [],
        }
    verdict = "fail" if value < limits[0][1] else "warn" if value < limits[1][1] else "pass"
    measurement = {"metric": "ib_write_bw.average_gbit_s", "value": value, "labels": labels}
    output = f" #bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]\n 65536   5000         {value:.2f}           {value:.2f}"
    evidence = {"client": side(output, "exited"), "server": side("", "exited")}
    return {
        **base,
        "outcome": "measured",
        "measurements": [measurement],
        "cause": None,
        "evidence": evidence,
        "verdict": verdict,
        "checks": checks,
    }


def side(output: str, ended: str) -> dict[str, Any]:
    """One side's evidence, with an environment that no report may store."""
    command = "ib_write_bw -d mlx5_2 -x 3 --report_gbits -s 65536 192.0.2.7"
    return {"command": command, "output": output, "ended": ended, "exit_status": 0, "environment": {"TOKEN": "hunter2"}}


def finding(host: str, rail: str, direction: str, rate: float, attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """What the localisation says of a rail that is slow one way."""
    end = "client" if direction == "send" else "server"
    cited = [row["id"] for row in attempts if row[end] == host and row["rail"] == rail][:4]
    return {
        "id": f"{host}.{rail}.{direction}",
        "outcome": "fail",
        "scope": "rail",
        "host": host,
        "peer": None,
        "rail": rail,
        "test": "ib_write_bw",
        "direction": direction,
        "metric": "ib_write_bw.average_gbit_s",
        "value": round(0.44 * rate, 3),
        "threshold": {"bound": "at_least", "value": round(0.907 * rate, 3), "source": SOURCES["fail"]},
        "cause": f"Slow to each of {len(cited)} partners, which are good with each other.",
        "remedy": "Compare the PCIe link of the card with those of its peers, look for a rate limit (`tc qdisc show`).",
        "evidence": cited,
    }


def resolved(host: str, rail: str, rate: float) -> dict[str, Any]:
    """A resolved rail."""
    return {
        "name": rail,
        "netdev": f"{rail}p0",
        "address": "192.0.2.11",
        "device": "mlx5_2",
        "port": 1,
        "gid_index": 3,
        "numa_node": 0,
        "numa_cpus": "0-31",
        "link_layer": "ethernet",
        "rate_gbit_s": 400.0,
        "active_mtu": 4096,
        "virtual": False,
    }
