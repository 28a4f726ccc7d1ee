# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network devices and the machine around them: addresses, routes, ssh's way in, limits, versions."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping

ESTABLISHED = "01"
TOOLS = (
    *("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat"),
    *("ibv_rc_pingpong", "ibv_devinfo", "rdma", "numactl", "taskset", "ethtool"),
)


def parse_addresses(text: str) -> dict[str, list[str]]:
    """Netdev -> addresses with prefix of ``ip -j addr``; link-local ones are left out: every netdev has one."""
    return {
        link["ifname"]: [
            f"{address['local']}/{address['prefixlen']}" for address in link.get("addr_info", []) if address.get("scope") == "global"
        ]
        for link in json.loads(text or "[]")
        if "ifname" in link
    }


def parse_default_netdevs(*texts: str) -> set[str]:
    """Netdevs of the default routes in ``ip -j route show default`` (IPv4 and IPv6)."""
    found: set[str] = set()
    for text in texts:
        for route in json.loads(text or "[]"):
            found.update(hop["dev"] for hop in [route, *route.get("nexthops", [])] if hop.get("dev"))
    return found


def with_lower(names: Iterable[str], lower: Mapping[str, Iterable[str]]) -> set[str]:
    """The netdevs and all that carry them: a bond's ports, a VLAN's parent."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(lower.get(name, ()))
    return found


def parse_stat(text: str) -> tuple[str, int]:
    """(command, parent's pid) of ``/proc/PID/stat``; the command may hold blanks and brackets."""
    name, _bracket, rest = text[text.index("(") + 1 :].rpartition(")")
    return name, int(rest.split()[1])


def parse_connections(text: str) -> dict[str, str]:
    """Socket inode -> own address of the established connections in ``/proc/net/tcp`` or ``tcp6``."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return {row[9]: hex_address(row[1].split(":")[0]) for row in rows if len(row) > 9 and row[3] == ESTABLISHED}


def hex_address(text: str) -> str:
    """The kernel writes addresses as 32-bit words in the machine's byte order, little-endian; mapped IPv4 becomes IPv4."""
    raw = b"".join(bytes.fromhex(text[start : start + 8])[::-1] for start in range(0, len(text), 8))
    address = ipaddress.ip_address(raw)
    return str(getattr(address, "ipv4_mapped", None) or address)


def parse_cpulist(text: str) -> int:
    """Number of CPUs in ``0-3,8``."""
    ranges = [part.split("-") for part in text.strip().split(",") if part]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ranges)


def parse_memlock(limits: str) -> int | None:
    """Soft limit in bytes of ``/proc/PID/limits``; -1: unlimited."""
    match = re.search(r"^Max locked memory\s+(\S+)", limits, re.MULTILINE)
    if not match:
        return None
    return -1 if match[1] == "unlimited" else int(match[1])


def parse_version(text: str) -> str:
    """The first number with a point in what ``--version`` prints; ``""`` when there is none."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return match[0] if match else ""
