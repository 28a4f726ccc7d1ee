# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts beside each other: who differs from the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ansible_collections.rdma.k8s.plugins.module_utils.rails import Facts, Record, host_finding

SHOWN = 4


def compare_hosts(facts: Mapping[str, Facts], rails: Mapping[str, Iterable[Facts]]) -> list[Record]:
    """A warning for each host that differs from most others; `rails`: the resolved ones of each host."""
    findings: list[Record] = []
    for (rail, name), values in sorted(_properties(facts, rails).items(), key=lambda entry: (entry[0][0] or "", entry[0][1])):
        findings += _odd_ones(rail, name, values)
    return findings


def _properties(facts: Mapping[str, Facts], rails: Mapping[str, Iterable[Facts]]) -> dict[tuple[str | None, str], dict[str, object]]:
    """(rail, property) -> {host: value}."""
    table: dict[tuple[str | None, str], dict[str, object]] = defaultdict(dict)
    for host, own in facts.items():
        table[None, "kernel"][host] = own["kernel"]
        table[None, "perftest"][host] = own["tools"].get("ib_write_bw")
        ports = {(port["device"], port["port"]): port for port in own["devices"]}
        for rail in rails.get(host, ()):
            port = ports[rail["device"], rail["port"]]
            for name in ("firmware", "driver", "active_mtu", "rate_gbit_s"):
                table[rail["name"], name][host] = port[name]
            table[rail["name"], "mtu"][host] = own["netdevs"][rail["netdev"]]["mtu"]
    return table


def _odd_ones(rail: str | None, name: str, values: Mapping[str, object]) -> list[Record]:
    """Findings on the minority. Without a majority nobody is the odd one out, and all are named in one."""
    counts = Counter(values.values())
    if len(counts) < 2:
        return []
    (usual, most), (_other, second) = counts.most_common(2)
    what = f"{rail}: {name}" if rail else name
    if most == second:
        groups = "; ".join(f"{value} on {_name(host for host in values if values[host] == value)}" for value in sorted(counts, key=str))
        cause = f"{what} differs between hosts: {groups}."
        finding = host_finding("", f"{name}_differs", "warn", cause, "Bring all hosts to the same state.", rail)
        return [{**finding, "host": None, "scope": "rail" if rail else "cluster"}]
    return [
        host_finding(
            host,
            f"{name}_differs",
            "warn",
            f"{what} is {value}, on {most} other hosts it is {usual}.",
            "Bring it to the others' state.",
            rail,
        )
        for host, value in values.items()
        if value != usual
    ]


def _name(hosts: Iterable[str]) -> str:
    names = list(hosts)
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
