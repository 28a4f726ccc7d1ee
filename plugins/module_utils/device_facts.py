# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the RDMA devices of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.rdma.k8s.plugins.module_utils import rdma_device

if TYPE_CHECKING:
    from ansible_collections.rdma.k8s.plugins.module_utils.host import Host

RDMA = "/sys/class/infiniband"
NET = "/sys/class/net"


def gather_devices(host: Host) -> list[dict[str, Any]]:
    """One entry for each port; docs/architecture.md lists the fields."""
    devices = host.list_names(RDMA)
    # Without a device, or with the kernel's part not loaded, the tools fail. sysfs does not show the active MTU.
    links = rdma_device.parse_links(host.run("rdma", "-j", "link") if devices and host.which("rdma") else "")
    mtus = rdma_device.parse_active_mtu(host.run("ibv_devinfo") if devices and host.which("ibv_devinfo") else "")
    return [
        {**_gather_port(host, device, int(port), links.get((device, int(port)))), "active_mtu": mtus.get((device, int(port)))}
        for device in devices
        for port in host.list_names(f"{RDMA}/{device}/ports")
    ]


def _gather_port(host: Host, device: str, port: int, linked: str | None) -> dict[str, Any]:
    base, path = f"{RDMA}/{device}", f"{RDMA}/{device}/ports/{port}"
    link_layer = host.read(f"{path}/link_layer").strip().lower()
    gids = _gather_gids(host, path, link_layer)
    parent = (host.read_if_there(f"{base}/parent") or "").strip() or None
    numbers = {name: int(host.read_if_there(f"{NET}/{name}/dev_port") or 0) for name in host.list_names(f"{base}/device/net")}
    netdev = rdma_device.choose_netdev(linked, gids, parent, numbers, port)
    virtual = not host.exists(f"{base}/device")
    return {
        "device": device,
        "port": port,
        "netdev": netdev,
        "link_layer": link_layer,
        "virtual": virtual,
        "gids": gids,
        **gather_place(host, f"{NET}/{netdev}" if virtual else base),
        "driver": rdma_device.software_driver(bool(parent), host.read(f"{base}/node_type")) if virtual else read_driver(host, base),
        "state": rdma_device.parse_enumeration(host.read(f"{path}/state")),
        "physical_state": rdma_device.parse_enumeration(host.read(f"{path}/phys_state")),
        "rate_gbit_s": None if virtual else rdma_device.parse_rate(host.read(f"{path}/rate")),
        "firmware": (host.read_if_there(f"{base}/fw_ver") or "").strip() or None,
        "counters": read_counters(host, device, port),
    }


def _gather_gids(host: Host, path: str, link_layer: str) -> list[dict[str, Any]]:
    found = []
    for index in sorted(map(int, host.list_names(f"{path}/gids"))):
        gid = rdma_device.parse_gid(host.read_if_there(f"{path}/gids/{index}"))
        if gid:
            kind, netdev = (host.read_if_there(f"{path}/gid_attrs/{name}/{index}") for name in ("types", "ndevs"))
            found.append(
                {"index": index, "gid": gid, "type": rdma_device.gid_type(kind, link_layer), "netdev": (netdev or "").strip() or None}
            )
    return found


def gather_place(host: Host, path: str) -> dict[str, Any]:
    """PCI address and NUMA node of what stands at a sysfs path with a ``device`` link."""
    address = rdma_device.pci_address(host.real_path(f"{path}/device")) if host.exists(f"{path}/device") else None
    numa = host.read_if_there(f"/sys/bus/pci/devices/{address}/numa_node") if address else None
    return {"pci_address": address, "numa_node": rdma_device.parse_numa_node(numa)}


def read_driver(host: Host, path: str) -> str | None:
    """Name of the driver of what stands at a sysfs path with a ``device`` link."""
    target = host.link_target(f"{path}/device/driver")
    return target.rsplit("/", 1)[-1] if target else None


def read_counters(host: Host, device: str, port: int) -> dict[str, int]:
    """All counters of a port; software devices have no ``counters`` folder."""
    path = f"{RDMA}/{device}/ports/{port}"
    files = [f"{path}/{folder}/{name}" for folder in ("counters", "hw_counters") for name in host.list_names(f"{path}/{folder}")]
    return rdma_device.parse_counters({file.rsplit("/", 1)[1]: host.read_if_there(file) for file in files})
