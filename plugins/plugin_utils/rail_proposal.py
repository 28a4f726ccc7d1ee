# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook discover proposes: rails from what all hosts show, ready to paste into an inventory."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.rdma.k8s.plugins.module_utils.rails import Facts, Record, resolve_rails
from ansible_collections.rdma.k8s.plugins.plugin_utils.host_comparison import compare_hosts
from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import host_rails


class Member(NamedTuple):
    """What a host has in a network."""

    netdev: str
    address: str
    mtu: int
    link_layer: str


Network = Mapping[str, Member]  # by host


def propose_rails(facts: Mapping[str, Facts]) -> Record:
    """``{rdma_rails, hosts, notes}``: rails for all hosts, the variables of each host, and sentences on what stood in the way or differs.

    Each network that RDMA ports have an address in becomes a rail, in the order of the netdevs' names.
    A port that carries ssh or the default route is none.
    """
    networks, notes = _find_networks(facts)
    members = sorted(networks.items(), key=lambda entry: (_natural(_usual(one.netdev for one in entry[1].values())), str(entry[0])))
    rails = [_propose_rail(f"rail{number}", str(network), own) for number, (network, own) in enumerate(members)]
    by_rail = list(zip(rails, (own for _network, own in members), strict=True))
    hosts = {host: _propose_host(host, by_rail) for host in facts}
    for rail, own in by_rail:
        notes += _tell_rail(rail["name"], own, facts)
    resolved = {host: resolve_rails(_rails_of(host, rails, hosts), facts[host], host)[0] for host in facts}
    notes += [f"{finding['host'] or 'all hosts'}: {finding['cause']}" for finding in compare_hosts(facts, resolved)]
    return {"rdma_rails": rails, "hosts": hosts, "notes": notes}


def _find_networks(facts: Mapping[str, Facts]) -> tuple[dict[Any, dict[str, Member]], list[str]]:
    networks: dict[Any, dict[str, Member]] = defaultdict(dict)
    notes = []
    for host, own in facts.items():
        if not own["devices"]:
            notes.append(f"{host}: no RDMA device; prepare_hosts loads the drivers.")
        for port in own["devices"]:
            where = f"{host}: {port['device']}/{port['port']}"
            netdev = own["netdevs"].get(port["netdev"])
            reason = _no_rail(netdev)
            if netdev is None or reason:
                notes.append(f"{where} ({port['netdev']}) {reason}.")
                continue
            address = min(netdev["addresses"], key=lambda text: ":" in text)  # IPv4 first
            network = ipaddress.ip_interface(address).network
            if host in networks[network]:
                notes.append(f"{where} ({port['netdev']}) is a second port in {network}; each rail needs a network of its own.")
            else:
                networks[network][host] = Member(port["netdev"], address, netdev["mtu"], port["link_layer"])
    return networks, notes


def _no_rail(netdev: Facts | None) -> str | None:
    if netdev is None:
        return "has no netdev"
    if netdev["default_route"] or netdev["carries_ssh"]:
        return "carries the default route or this connection, so it is left out"
    return None if netdev["addresses"] else "has no address; give it one, then run discover again"


def _propose_rail(name: str, network: str, own: Network) -> Record:
    rail: Record = {"name": name, "netdev": _usual(one.netdev for one in own.values()), "network": network}
    rail["mtu"] = min(one.mtu for one in own.values())
    if all(one.link_layer == "infiniband" for one in own.values()):
        rail["link_layer"] = "infiniband"
    return rail


def _propose_host(host: str, by_rail: Sequence[tuple[Record, Network]]) -> Record:
    own = [(rail, members[host]) for rail, members in by_rail if host in members]
    variables: Record = {"rdma_rail_addresses": {rail["name"]: one.address for rail, one in own}}
    if any(one.netdev != rail["netdev"] for rail, one in own):
        variables["rdma_rails"] = [{**rail, "netdev": one.netdev} for rail, one in own]
    return variables


def _rails_of(host: str, rails: list[Record], hosts: Mapping[str, Record]) -> list[Record]:
    variables = hosts[host]
    return host_rails(variables.get("rdma_rails", rails), variables["rdma_rail_addresses"]) if variables["rdma_rail_addresses"] else []


def _tell_rail(name: str, own: Network, facts: Mapping[str, Facts]) -> list[str]:
    absent = [host for host in facts if host not in own]
    return [f"{', '.join(absent)}: no port in {name}."] if absent else []


def _usual(values: Iterable[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which fab2 comes before fab10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
