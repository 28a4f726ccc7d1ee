# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the network devices of a host: those that a rail or the way in may stand on."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ansible_collections.rdma.k8s.plugins.module_utils import netdev
from ansible_collections.rdma.k8s.plugins.module_utils.device_facts import NET, gather_place, read_driver

if TYPE_CHECKING:
    from ansible_collections.rdma.k8s.plugins.module_utils.host import Host


def gather_netdevs(host: Host, of_rdma: Collection[str | None]) -> dict[str, dict[str, Any]]:
    """Netdevs with hardware, with an address or with RDMA; the ends of pods' connections are left out: hosts have hundreds."""
    addresses = netdev.parse_addresses(host.run("ip", "-j", "addr"))
    names = [name for name in host.list_names(NET) if name != "lo" and host.exists(f"{NET}/{name}/mtu")]  # not bonding_masters
    lower = {name: [entry[len("lower_") :] for entry in host.list_names(f"{NET}/{name}") if entry.startswith("lower_")] for name in names}
    routes = (host.run("ip", "-j", family, "route", "show", "default") for family in ("-4", "-6"))
    default = netdev.with_lower(netdev.parse_default_netdevs(*routes), lower)
    ssh = _ssh_addresses(host)
    way_in = netdev.with_lower([name for name in names if ssh & {address.split("/")[0] for address in addresses.get(name, [])}], lower)
    return {
        name: {
            **_gather_netdev(host, name, next(iter(lower[name]), name)),
            "addresses": addresses.get(name, []),
            "default_route": name in default,
            "carries_ssh": name in way_in,
        }
        for name in names
        if name in of_rdma or addresses.get(name) or host.exists(f"{NET}/{name}/device")
    }


def _gather_netdev(host: Host, name: str, lower: str) -> dict[str, Any]:
    path = f"{NET}/{name}"
    return {
        "mtu": int(host.read(f"{path}/mtu")),
        "operstate": host.read(f"{path}/operstate").strip(),
        "mac": host.read(f"{path}/address").strip(),
        "driver": read_driver(host, path),
        **gather_place(host, path if host.exists(f"{path}/device") else f"{NET}/{lower}"),
    }


def _ssh_addresses(host: Host) -> set[str]:
    """Own addresses of the connections that led here: those of the sshd processes among our ancestors (sudo drops SSH_CONNECTION)."""
    inodes: set[str] = set()
    pid = "self"
    while pid != "0":
        text = host.read_if_there(f"/proc/{pid}/stat")
        if not text:
            break
        command, parent = netdev.parse_stat(text)
        if command.startswith("sshd"):
            targets = [host.link_target(f"/proc/{pid}/fd/{number}") or "" for number in host.list_names(f"/proc/{pid}/fd")]
            inodes |= {target[len("socket:[") : -1] for target in targets if target.startswith("socket:[")}
        pid = str(parent)
    tables = [netdev.parse_connections(host.read_if_there(f"/proc/net/{name}") or "") for name in ("tcp", "tcp6")]
    return {address for table in tables for inode, address in table.items() if inode in inodes}
