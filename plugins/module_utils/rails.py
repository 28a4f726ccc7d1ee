# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rails of a host: from the netdev in the inventory to the RDMA device, port and GID that stand behind it today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.rdma_device import gid_address

Facts = Mapping[str, Any]
Record = dict[str, Any]
TEST_TOOLS = ("ib_write_bw", "ibv_rc_pingpong")
MEMLOCK_BYTES = 64 * 1024 * 1024  # below this, ordinary users cannot register the buffers of a bandwidth test


def host_finding(host: str, name: str, outcome: str, cause: str, remedy: str, rail: str | None = None, **more: object) -> Record:
    """A finding on a host, or on one of its rails, that is no measurement."""
    return {
        "id": ".".join(filter(None, (name, host, rail))),
        "outcome": outcome,
        "scope": "rail" if rail else "host",
        "host": host,
        "peer": None,
        "rail": rail,
        "test": None,
        "metric": None,
        "value": None,
        "threshold": None,
        "cause": cause,
        "remedy": remedy,
        "evidence": [],
        **more,
    }


def resolve_rails(rails: Sequence[Facts], facts: Facts, host: str) -> tuple[list[Record], list[Record]]:
    """All rails of a host (each with its ``address``) that can be used, and what hinders them and the others."""
    found = [resolve_rail(rail, rail.get("address"), facts, host) for rail in rails]
    return [rail for rail, _findings in found if rail], [
        *inspect_tools(facts, host),
        *(finding for _rail, some in found for finding in some),
    ]


def resolve_rail(rail: Facts, address: str | None, facts: Facts, host: str | None = None) -> tuple[Record | None, list[Record]]:
    """One rail and its findings; no rail where it cannot be used. `address`: ``192.0.2.11/26``, or whatever the netdev carries."""
    name, netdev = rail["name"], rail["netdev"]
    host = host or facts["hostname"]
    wanted = (address or _first_address(facts, netdev) or "").split("/")[0]
    port = _port_of(facts, netdev)
    hindrance = _hindrance(rail, wanted, facts, port)
    if hindrance or port is None:
        return None, [host_finding(host, *hindrance, rail=name)] if hindrance else []
    gid = _gid_of(port, netdev, wanted)
    place = port if port["numa_node"] is not None else facts["netdevs"][netdev]
    resolved = {
        "name": name,
        "netdev": netdev,
        "address": wanted,
        "device": port["device"],
        "port": port["port"],
        "gid_index": gid["index"] if gid else None,
        "numa_node": place["numa_node"],
        "numa_cpus": facts["numa_nodes"].get(str(place["numa_node"])),
        **{key: port[key] for key in ("link_layer", "rate_gbit_s", "active_mtu", "virtual")},
    }
    return resolved, _mtu_findings(rail, facts, host)


def _first_address(facts: Facts, netdev: str) -> str | None:
    addresses = facts["netdevs"].get(netdev, {}).get("addresses", [])
    return next(iter(sorted(addresses, key=lambda address: ":" in address)), None)  # IPv4 first


def _port_of(facts: Facts, netdev: str) -> Facts | None:
    """The port of a netdev, or of the netdev that carries it: a VLAN's GIDs stand in the table of its parent's device."""
    direct = [port for port in facts["devices"] if port["netdev"] == netdev]
    by_gid = [port for port in facts["devices"] if any(gid["netdev"] == netdev for gid in port["gids"])]
    return next(iter([*direct, *by_gid]), None)


def _gid_of(port: Facts, netdev: str, address: str) -> Facts | None:
    """The GID to test with: RoCE v2 of this address on this netdev. InfiniBand addresses ports by LID: none."""
    return next(
        (gid for gid in port["gids"] if gid["type"] == "RoCE v2" and gid["netdev"] == netdev and gid_address(gid["gid"]) == address), None
    )


def _hindrance(rail: Facts, address: str, facts: Facts, port: Facts | None) -> tuple[str, str, str, str] | None:
    """(name, outcome, cause, remedy) of the first thing that makes a rail unusable: what comes after would only follow from it."""
    name, netdev = rail["name"], rail["netdev"]
    if netdev not in facts["netdevs"]:
        known = ", ".join(sorted(facts["netdevs"])) or "none"
        cause = f"{name}: the host has no netdev {netdev}; it has {known}."
        return "netdev_absent", "fail", cause, "Correct netdev in rdma_rails (host_vars where hosts differ), or run the playbook discover."
    elsewhere = next((other for other in facts["netdevs"] if other != netdev and _carries(facts, other, address)), None)
    if elsewhere:
        cause = f"{name}: its address {address} is on {elsewhere}, not on {netdev}; are the rails swapped?"
        return "rails_swapped", "fail", cause, f"Give {address} to {netdev}, or correct netdev or rdma_rail_addresses; check the cabling."
    if port is None:
        cause = f"{name}: no RDMA device stands behind {netdev} (driver {facts['netdevs'][netdev]['driver'] or 'unknown'})."
        return "device_absent", "fail", cause, "Load the RDMA driver of the card (prepare_hosts), see `rdma link` and the kernel log."
    return _port_hindrance(rail, port, facts["netdevs"][netdev]) or _address_hindrance(rail, port, address, facts)


def _carries(facts: Facts, netdev: str, address: str) -> bool:
    return bool(address) and any(own.split("/")[0] == address for own in facts["netdevs"][netdev]["addresses"])


def _port_hindrance(rail: Facts, port: Facts, netdev: Facts) -> tuple[str, str, str, str] | None:
    name, where = rail["name"], f"{port['device']}/{port['port']} ({rail['netdev']})"
    wanted = rail.get("link_layer") or "ethernet"
    if port["link_layer"] != wanted:
        cause = f"{name}: {where} speaks {port['link_layer']}, rdma_rails says {wanted}."
        return "link_layer_wrong", "fail", cause, "Correct link_layer in rdma_rails, or set the card's link type with its firmware tool."
    if port["state"] == "ACTIVE":
        return None
    cause = f"{name}: port {where} is {port['state']}, physical state {port['physical_state']}"
    if port["link_layer"] == "infiniband" and port["physical_state"] == "LINK_UP":
        cause += ": the cable is fine, but no subnet manager has configured the port, or the (virtual) port has no GUID."
        return "port_not_active", "fail", cause, "Start or reach the subnet manager; give a virtual function its node and port GUID."
    cause += f"; the netdev is {netdev['operstate']}."
    return "port_not_active", "fail", cause, f"`ip link set {rail['netdev']} up`; then check cable, transceiver and switch port."


def _address_hindrance(rail: Facts, port: Facts, address: str, facts: Facts) -> tuple[str, str, str, str] | None:
    name, netdev = rail["name"], rail["netdev"]
    if not address or not _carries(facts, netdev, address):
        has = ", ".join(facts["netdevs"][netdev]["addresses"]) or "no address"
        cause = f"{name}: {netdev} has {has}, not {address}." if address else f"{name}: {netdev} has no address."
        return "address_absent", "fail", cause, f"Give {netdev} its address, or correct rdma_rail_addresses."
    if port["link_layer"] == "infiniband" or _gid_of(port, netdev, address):
        return None
    types = [gid["type"] for gid in port["gids"] if gid_address(gid["gid"]) == address]
    cause = f"{name}: the GID table of {port['device']} has {address} only as {types[0]}." if types else ""
    cause = cause or f"{name}: the GID table of {port['device']} has no entry for {address} on {netdev}."
    return (
        "gid_absent",
        "fail",
        cause,
        f"RoCE v2 must be enabled; take the address off {netdev} and put it on again, then look at the table.",
    )


def _mtu_findings(rail: Facts, facts: Facts, host: str) -> list[Record]:
    wanted, shown = rail.get("mtu"), facts["netdevs"][rail["netdev"]]["mtu"]
    if not wanted or shown >= wanted:
        return []
    cause = f"{rail['name']}: {rail['netdev']} has an MTU of {shown}, rdma_rails asks for {wanted}."
    threshold = {"bound": "at_least", "value": wanted, "source": "rdma_rails.mtu"}
    more = {"metric": "netdev.mtu_bytes", "value": shown, "threshold": threshold}
    return [host_finding(host, "mtu_small", "fail", cause, f"`ip link set {rail['netdev']} mtu {wanted}`.", rail["name"], **more)]


def inspect_tools(facts: Facts, host: str) -> list[Record]:
    """What hinders tests on all rails of a host."""
    absent = [tool for tool in TEST_TOOLS if tool not in facts["tools"]]
    findings = []
    if absent:
        cause = f"{' and '.join(absent)} not installed."
        findings.append(host_finding(host, "tool_absent", "inconclusive", cause, "Run prepare_hosts (role host_rdma).", scope="tool"))
    memlock = facts["memlock_bytes"]
    if memlock is not None and 0 <= memlock < MEMLOCK_BYTES:
        cause = f"memlock is limited to {memlock // 1024} KiB; users other than root cannot register the buffers of RDMA applications."
        remedy = "Set memlock to unlimited in /etc/security/limits.d and for the container runtime."
        findings.append(host_finding(host, "memlock_low", "warn", cause, remedy, metric="host.memlock_bytes", value=memlock))
    return findings
