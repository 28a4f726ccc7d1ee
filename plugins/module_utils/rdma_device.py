# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices: what sysfs, ``rdma -j link`` and ``ibv_devinfo`` say of ports, GIDs, rates and counters."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
GID_TYPES = {"RoCE v2": "RoCE v2", "IB/RoCE v1": "RoCE v1"}
NO_COUNTERS = ("lifespan",)  # the only file in hw_counters that is a setting
DATA_COUNTERS = ("port_xmit_data", "port_rcv_data")  # in units of four bytes
PACKET_COUNTERS = ("sent_pkts", "rcvd_pkts")  # rxe counts packets only


def parse_enumeration(text: str) -> str:
    """``ACTIVE`` of ``4: ACTIVE``; ``LINK_UP`` of ``5: LinkUp``."""
    word = text.strip().split(": ", 1)[-1]
    return re.sub(r"(?<=[a-z])(?=[A-Z])|\s+", "_", word).upper()


def parse_rate(text: str) -> float:
    """Gb/s of ``400 Gb/sec (4X NDR)``."""
    match = re.match(r"([\d.]+) Gb/sec", text)
    if not match:
        raise ValueError(f"no rate in Gb/sec: {text.strip()!r}")
    return float(match[1])


def parse_gid(text: str | None) -> str | None:
    """The GID as sysfs writes it; None for an empty slot."""
    gid = (text or "").strip()
    return gid if gid.strip("0:") else None


def gid_address(gid: str) -> str:
    """``192.0.2.11`` of a mapped GID, else the IPv6 address in its short form."""
    address = ipaddress.IPv6Address(gid)
    return str(address.ipv4_mapped or address)


def gid_type(text: str | None, link_layer: str) -> str:
    return "IB" if link_layer == "infiniband" else GID_TYPES.get((text or "").strip(), "RoCE v1")


def parse_links(text: str) -> dict[tuple[str, int], str]:
    """(device, port) -> netdev of ``rdma -j link``; a port without netdev is left out."""
    return {(link["ifname"], link["port"]): link["netdev"] for link in json.loads(text or "[]") if link.get("netdev") and link.get("port")}


def parse_active_mtu(report: str) -> dict[tuple[str, int], int]:
    """(device, port) -> active MTU in bytes of ``ibv_devinfo``."""
    found: dict[tuple[str, int], int] = {}
    device, port = "", 0
    for line in report.splitlines():
        name, _colon, value = (part.strip() for part in line.partition(":"))
        if name == "hca_id":
            device = value
        elif name == "port" and value.isdigit():
            port = int(value)
        elif name == "active_mtu":
            found[device, port] = int(value.split()[0])
    return found


def parse_counters(texts: Mapping[str, str | None]) -> dict[str, int]:
    """Counters of a port; what the card does not count (no value, or no number) is left out."""
    return {name: int(text) for name, text in texts.items() if text and text.strip().isdigit() and name not in NO_COUNTERS}


def pci_address(device_path: str) -> str | None:
    """The PCI address nearest to a device in its resolved sysfs path: virtio's is that of its parent."""
    found = [part for part in device_path.split("/") if PCI_ADDRESS.fullmatch(part)]
    return found[-1] if found else None


def parse_numa_node(text: str | None) -> int | None:
    """None where the platform does not say (-1)."""
    return int(text) if text is not None and int(text) >= 0 else None


def software_driver(has_parent: bool, node_type: str) -> str | None:
    """Driver of a device that no hardware backs; sysfs does not name it, but rxe has a ``parent`` file and siw is an iWARP device."""
    if has_parent:
        return "rdma_rxe"
    return "siw" if parse_enumeration(node_type) == "RNIC" else None


def choose_netdev(
    linked: str | None, gids: Iterable[Mapping[str, Any]], parent: str | None, of_device: Mapping[str, int], port: int
) -> str | None:
    """The netdev of a port: by ``rdma link``, by its first GID, by rxe's ``parent``, or (InfiniBand) by its number.

    `of_device`: the device's netdevs with their ``dev_port``, which counts from 0.
    """
    of_gid = next((gid["netdev"] for gid in gids if gid["netdev"]), None)
    of_port = next((name for name, number in sorted(of_device.items()) if number == port - 1), None)
    return linked or of_gid or parent or of_port


def bytes_moved(before: Mapping[str, int], after: Mapping[str, int], netdev_bytes: int) -> int:
    """Bytes that RDMA moved through a port between two readings.

    A port that counts only packets moved what its netdev did, if it counted any: the best that can be known of software RDMA.
    """

    def grown(names: Iterable[str]) -> int:
        return sum(max(0, after[name] - before.get(name, 0)) for name in names if name in after)

    if any(name in after for name in DATA_COUNTERS):
        return 4 * grown(DATA_COUNTERS)
    return netdev_bytes if grown(PACKET_COUNTERS) else 0
