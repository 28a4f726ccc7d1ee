# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the users wrote in ``rdma_rails`` and ``rdma_rail_addresses``: which rails a host has, and what is wrong with them."""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

Rail = Mapping[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NAME = re.compile(r"^[a-z][a-z0-9]{0,9}$")
NETDEV = re.compile(r"^[^\s/:]{1,15}$")  # IFNAMSIZ less the closing zero
KEYS = ("name", "netdev", "address", "network", "gateway", "exclude", "mtu", "link_layer", "traffic_class", "namespaces")
LINK_LAYERS = ("ethernet", "infiniband")
# Smallest: what IPv4 must carry. Largest: mlx5's netdev limit; IPoIB in connected mode.
MTU_LIMITS = {"ethernet": (576, 9978), "infiniband": (576, 65520)}


def host_rails(rails: Sequence[Rail], addresses: Mapping[str, str | None] | None = None) -> list[dict[str, Any]]:
    """The rails that one host has, each with its ``address`` (``None``: whatever the netdev carries).

    Where a host lists ``rdma_rail_addresses``, a rail that is neither there nor has an address of its own is a rail which the host lacks.
    """
    found = []
    for rail in rails:
        address = (addresses or {}).get(rail["name"]) or rail.get("address")
        if address or not addresses:
            found.append({**rail, "address": address})
    return found


def inventory_problems(rails_by_host: Mapping[str, Any], addresses_by_host: Mapping[str, Any]) -> list[str]:
    """One sentence for each mistake (which variable and host, the value, what is allowed, what to do); empty when all is well."""
    hosts_of: dict[str, list[str]] = defaultdict(list)
    for host, rails in rails_by_host.items():
        for sentence in _host_problems(rails, addresses_by_host.get(host) or {}):
            hosts_of[sentence].append(host)
    total = len(rails_by_host)
    sentences = [f"{_who(hosts, total)}: {sentence}" for sentence, hosts in hosts_of.items()]
    return sentences or [*_shared_addresses(rails_by_host, addresses_by_host), *_split_networks(rails_by_host)]


def _who(hosts: Sequence[str], total: int) -> str:
    if len(hosts) == total and total > 1:
        return "all hosts"
    return ", ".join(hosts) if len(hosts) <= 4 else f"{', '.join(hosts[:3])} and {len(hosts) - 3} more"


def _host_problems(rails: object, addresses: object) -> list[str]:
    if not isinstance(rails, (list, tuple)) or not rails:
        return [
            "rdma_rails is empty or no list; describe at least one rail (name, netdev, network), or let the playbook discover propose them."
        ]
    problems = [problem for number, rail in enumerate(rails) for problem in _rail_problems(number, rail)]
    if problems:
        return problems
    if not isinstance(addresses, Mapping):
        return [f"rdma_rail_addresses is {addresses!r}; it must map rail names to addresses, as in {{rail0: 192.0.2.11/24}}."]
    names = [rail["name"] for rail in rails]
    problems += [
        f"rdma_rails names {name} {names.count(name)} times; each name must be used once."
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    problems += [
        f"rdma_rail_addresses speaks of {name}, which rdma_rails does not have; known are {', '.join(names)}."
        for name in addresses
        if name not in names
    ]
    problems += [problem for rail in host_rails(rails, addresses) for problem in _address_problems(rail)]
    return problems + _overlaps(rails)


def _rail_problems(number: int, rail: object) -> Iterable[str]:
    if not isinstance(rail, Mapping):
        yield f"rdma_rails[{number}] is {rail!r}; each entry must be a dictionary with name and netdev."
        return
    where = f"rdma_rails[{number}]" + (f" ({rail['name']})" if rail.get("name") else "")
    for key in rail:
        if key not in KEYS:
            yield f"{where} has the unknown key {key}; allowed are {', '.join(KEYS)}."
    if not NAME.match(str(rail.get("name") or "")):
        yield f"{where}: name is {rail.get('name')!r}; it must be 1 to 10 small letters and digits, starting with a letter."
    if not isinstance(rail.get("netdev"), str) or not NETDEV.match(rail["netdev"]):
        yield f"{where}: netdev is {rail.get('netdev')!r}; give the interface's name (at most 15 characters, no blank, slash or colon)."
    yield from _number_problems(where, rail)
    yield from _network_problems(where, rail)


def _number_problems(where: str, rail: Rail) -> Iterable[str]:
    layer = rail.get("link_layer", "ethernet")
    if layer not in LINK_LAYERS:
        yield f"{where}: link_layer is {layer!r}; allowed are {' and '.join(LINK_LAYERS)}."
        return
    low, high = MTU_LIMITS[layer]
    for key, bounds in (("mtu", (low, high)), ("traffic_class", (0, 255))):
        value = rail.get(key)
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and bounds[0] <= value <= bounds[1]):
            yield f"{where}: {key} is {value!r}; it must be a whole number from {bounds[0]} to {bounds[1]}."
    namespaces = rail.get("namespaces")
    if namespaces is not None and not (isinstance(namespaces, (list, tuple)) and all(isinstance(name, str) for name in namespaces)):
        yield f"{where}: namespaces is {namespaces!r}; it must be a list of namespace names."


def _network_problems(where: str, rail: Rail) -> Iterable[str]:
    if rail.get("network") is None:
        for key in ("gateway", "exclude"):
            if rail.get(key):
                yield f"{where}: {key} is set without network; give the rail's network, as in 192.0.2.0/24."
        return
    try:
        network = ipaddress.ip_network(str(rail["network"]) if "/" in str(rail["network"]) else "")
    except ValueError:
        yield f"{where}: network is {rail['network']!r}; it must be a network without host bits, as in 192.0.2.0/24."
        return
    exclude = rail.get("exclude") or []
    values = [("exclude", part) for part in (exclude if isinstance(exclude, (list, tuple)) else [exclude])]
    for key, value in ([("gateway", rail["gateway"])] if rail.get("gateway") else []) + values:
        part = _network(value)
        if key == "gateway" and "/" in str(value):
            yield f"{where}: gateway is {value!r}; it must be one address without a prefix, as in {network[1]}."
        elif part is None or not _lies_in(part, network):
            yield f"{where}: {key} {value} is not inside the rail's network {network}; correct one of the two."


def _lies_in(part: Network, network: Network) -> bool:
    if part.version != network.version:
        return False
    first, last = int(network.network_address), int(network.broadcast_address)
    return first <= int(part.network_address) and int(part.broadcast_address) <= last


def _network(value: object) -> Network | None:
    try:
        return ipaddress.ip_network(str(value))
    except ValueError:
        return None


def _address_problems(rail: Rail) -> Iterable[str]:
    if rail["address"] is None:
        return
    try:
        address = ipaddress.ip_interface(str(rail["address"]))
    except ValueError:
        yield f"the address of {rail['name']} is {rail['address']!r}; it must be an address with its prefix, as in 192.0.2.11/24."
        return
    if "/" not in str(rail["address"]):
        yield f"the address of {rail['name']} is {rail['address']} without a prefix; write it as in 192.0.2.11/24."
    elif rail.get("network") and address.ip not in ipaddress.ip_network(str(rail["network"])):
        yield f"the address {rail['address']} of {rail['name']} is outside the rail's network {rail['network']}; correct one of the two."
    elif rail.get("network") and address.network != ipaddress.ip_network(str(rail["network"])):
        prefix = str(rail["network"]).partition("/")[2]
        yield f"the address {rail['address']} of {rail['name']} has another prefix than its network {rail['network']}; write /{prefix}."
    elif address.ip == address.network.network_address and address.network.num_addresses > 2:
        yield f"the address {rail['address']} of {rail['name']} is that of its network itself; give the host one of the addresses in it."
    elif rail.get("gateway") and address.ip == ipaddress.ip_address(str(rail["gateway"])):
        yield f"the address {rail['address']} of {rail['name']} is the rail's gateway; give the host an address of its own."


def _overlaps(rails: Sequence[Rail]) -> list[str]:
    networks = [(rail["name"], network) for rail in rails if rail.get("network") and (network := _network(rail["network"]))]
    problems = [
        f"the networks of {one} ({first}) and {other} ({second}) overlap; each rail needs a network of its own."
        for (one, first), (other, second) in combinations(networks, 2)
        if first.version == second.version and first.overlaps(second)
    ]
    netdevs: dict[str, list[str]] = defaultdict(list)
    for rail in rails:
        netdevs[rail["netdev"]].append(rail["name"])
    return problems + [
        f"{' and '.join(names)} name the same netdev {netdev}; a rail is one port." for netdev, names in netdevs.items() if len(names) > 1
    ]


def _shared_addresses(rails_by_host: Mapping[str, Any], addresses_by_host: Mapping[str, Any]) -> list[str]:
    owners: dict[str, list[str]] = defaultdict(list)
    for host, rails in rails_by_host.items():
        for rail in host_rails(rails, addresses_by_host.get(host)):
            if rail["address"]:
                owners[str(rail["address"]).split("/", maxsplit=1)[0]].append(f"{host} {rail['name']}")
    return [
        f"{_who(names, 0)}: the address {address} is given {len(names)} times; each rail of each host needs its own."
        for address, names in owners.items()
        if len(names) > 1
    ]


def _split_networks(rails_by_host: Mapping[str, Any]) -> list[str]:
    networks: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for host, rails in rails_by_host.items():
        for rail in rails:
            if rail.get("network"):
                networks[rail["name"]][str(rail["network"])].append(host)
    return [
        f"{rail} has {len(hosts)} networks, {' and '.join(f'{network} ({_who(names, 0)})' for network, names in hosts.items())}; "
        "a rail is one network, so correct one or give it another name."
        for rail, hosts in networks.items()
        if len(hosts) > 1
    ]
