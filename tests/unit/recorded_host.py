# SPDX-License-Identifier: GPL-3.0-or-later
"""Fake hosts for the facts: a VM with software RDMA as recorded, and a composed one with an mlx5 card, which does not exist here."""

from __future__ import annotations

import errno
import json
import pathlib
import re
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.busy_facts import gather_busy
from ansible_collections.rdma.k8s.plugins.module_utils.device_facts import gather_devices
from ansible_collections.rdma.k8s.plugins.module_utils.machine_facts import gather_machine
from ansible_collections.rdma.k8s.plugins.module_utils.netdev_facts import gather_netdevs
from fake_host import FakeHost

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures" / "rdma_device"
RDMA = "/sys/class/infiniband"
NET = "/sys/class/net"
EMPTY = ":".join(["0000"] * 8)
MAPPED = "0000:0000:0000:0000:0000:ffff:c633:6450"  # 198.51.100.80

MACHINE: dict[str, str | int] = {
    "/proc/sys/kernel/hostname": "node1\n",
    "/proc/sys/kernel/osrelease": "6.1.0-57-amd64\n",
    "/proc/sys/kernel/cap_last_cap": "40\n",
    "/proc/meminfo": "MemTotal:        1500940 kB\n",
    "/proc/self/limits": "Max locked memory         192118784            192118784            bytes     \n",
    "/proc/self/stat": "4242 (python3) R 4241 4242 4242 0 -1\n",
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/node/node0/cpulist": "0\n",
    "/sys/devices/system/node/node1/cpulist": "1\n",
}
WAY_IN: dict[str, str | int] = {
    "/proc/4241/stat": "4241 (sudo) S 300 1 1 0 -1\n",
    "/proc/300/stat": "300 (sshd-session) S 1 300 300 0 -1\n",
    "/proc/1/stat": "1 (systemd) S 0 1 1 0 -1\n",
    # 198.51.100.15:22, established; and a listening socket
    "/proc/net/tcp": (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11111 1\n"
        "   1: 0F6433C6:0016 026433C6:8F3C 01 00000000:00000000 02:000A1B2C 00000000     0        0 22222 4\n"
    ),
}


def _rows(name: str) -> list[str]:
    return (FIXTURES / name).read_text().splitlines()


def _recorded_sysfs() -> dict[str, str | int]:
    files: dict[str, str | int] = {}
    for row in _rows("sys_class_infiniband.txt"):
        path, colon, value = row.partition(": ")
        if colon and path.startswith("rxe0/"):
            files[f"{RDMA}/{path}"] = errno.EIO if "error reading" in value else value.rstrip() + "\n"
    for row in _rows("gids.txt"):
        match = re.match(r"gid (\d+) (\S+) type=(.*) ndev=(.*)", row)
        if match:
            index, gid, kind, netdev = match.groups()
            path = f"{RDMA}/rxe0/ports/1"
            files[f"{path}/gids/{index}"] = gid + "\n"
            files[f"{path}/gid_attrs/types/{index}"] = errno.EINVAL if "Invalid argument" in kind else kind + "\n"
            files[f"{path}/gid_attrs/ndevs/{index}"] = errno.EINVAL if "Invalid argument" in netdev else netdev + "\n"
    return files


def _netdev(name: str, mac: str, mtu: int = 1500, operstate: str = "up") -> dict[str, str | int]:
    values = {"mtu": str(mtu), "operstate": operstate, "address": mac, "statistics/tx_bytes": "1000", "statistics/rx_bytes": "1000"}
    return {f"{NET}/{name}/{key}": value + "\n" for key, value in values.items()}


def rxe_host() -> FakeHost:
    """As recorded; NUMA nodes of the PCI devices and the sockets are composed."""
    files = {**MACHINE, **WAY_IN, **_recorded_sysfs(), f"{NET}/bonding_masters": "\n", **_netdev("lo", "00:00:00:00:00:00", 65536)}
    links = {"/proc/300/fd/4": "socket:[22222]", "/proc/300/fd/5": "/dev/ptmx"}
    for index, name in enumerate(("mgmt0", "fab0", "fab1")):
        address = f"0000:00:0{index + 3}.0"
        files |= _netdev(name, f"52:54:00:b{index}:00:01")
        files[f"/sys/bus/pci/devices/{address}/numa_node"] = f"{index - 1}\n"
        links[f"{NET}/{name}/device"] = f"/sys/devices/pci0000:00/{address}/virtio{index + 2}"
        links[f"{NET}/{name}/device/driver"] = "../../../../bus/virtio/drivers/virtio_net"
    tools = ("ib_write_bw", "ib_read_bw", "ibv_rc_pingpong", "numactl")
    commands: dict[tuple[str, ...], Any] = {
        ("rdma", "-j", "link"): (FIXTURES / "rdma_link.json").read_text(),
        ("ibv_devinfo",): (FIXTURES / "ibv_devinfo.txt").read_text(),
        ("ip", "-j", "addr"): (FIXTURES / "ip_addr.json").read_text(),
        ("ip", "-j", "-4", "route", "show", "default"): '[{"dst":"default","gateway":"198.51.100.2","dev":"mgmt0","flags":[]}]',
        ("ip", "-j", "-6", "route", "show", "default"): "[]",
        **{(tool, "--version"): "Version: 6.06\n" for tool in tools},
    }
    return FakeHost(files, commands, links)


def mlx5_host() -> FakeHost:
    """Composed from the kernel's documentation: a bond for the way in over mlx5 (FC-40), one 400G RoCE port, one InfiniBand port."""
    files = {**MACHINE, **WAY_IN}
    links = {"/proc/300/fd/4": "socket:[22222]"}
    ports = {
        "mlx5_0": ("ens1f0np0", "0000:17:00.0", "Ethernet", "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"),
        "mlx5_1": ("ib0", "0000:98:00.0", "InfiniBand", "2: INIT", "5: LinkUp", "400 Gb/sec (4X NDR)"),
        "mlx5_bond_0": ("bond0", "0000:31:00.0", "Ethernet", "4: ACTIVE", "5: LinkUp", "25 Gb/sec (1X EDR)"),
    }
    for number, (device, (netdev, address, layer, state, physical, rate)) in enumerate(ports.items()):
        base = f"{RDMA}/{device}"
        values = {"link_layer": layer, "state": state, "phys_state": physical, "rate": rate, "counters/port_xmit_data": "1000"}
        files |= {f"{base}/ports/1/{name}": value + "\n" for name, value in values.items()}
        files |= {f"{base}/fw_ver": "28.39.1002\n", f"{base}/node_type": "1: CA\n"}
        files |= _netdev(netdev, f"b8:3f:d2:00:00:0{number}", 9000)
        files[f"/sys/bus/pci/devices/{address}/numa_node"] = "1\n" if device == "mlx5_1" else "0\n"
        links[f"{base}/device"] = f"/sys/devices/pci0000:16/0000:16:01.0/{address}"
        links[f"{base}/device/driver"] = "../../../bus/pci/drivers/mlx5_core"
        links[f"{base}/device/net/{netdev}"] = ""
        if netdev != "bond0":
            links[f"{NET}/{netdev}/device"] = links[f"{base}/device"]
            links[f"{NET}/{netdev}/device/driver"] = "../../../bus/pci/drivers/mlx5_core"
    # FC-30: the first slots belong to another network namespace.
    for index, (gid, kind) in enumerate(
        [
            ("0:" * 7 + "0", ""),
            ("0:" * 7 + "0", ""),
            *(("0000:0000:0000:0000:0000:ffff:c633:6450", kind) for kind in ("IB/RoCE v1", "RoCE v2")),
        ]
    ):
        path = f"{RDMA}/mlx5_0/ports/1"
        files[f"{path}/gids/{index}"] = gid + "\n"
        files[f"{path}/gid_attrs/types/{index}"] = kind + "\n" if kind else errno.EINVAL
        files[f"{path}/gid_attrs/ndevs/{index}"] = "ens1f0np0\n" if kind else errno.EINVAL
    files |= {f"{NET}/bond0/lower_ens9f0/mtu": "1500\n", f"{RDMA}/mlx5_1/ports/1/gids/0": "fe80:0000:0000:0000:b83f:d203:0000:0001\n"}
    files |= _netdev("ens9f0", "b8:3f:d2:00:00:09")
    links[f"{NET}/ens9f0/device"] = links[f"{RDMA}/mlx5_bond_0/device"]
    links[f"{NET}/ens9f0/device/driver"] = "../../../bus/pci/drivers/mlx5_core"
    carried = {"bond0": "198.51.100.15", "ens1f0np0": "198.51.100.80", "ib0": "203.0.113.7"}
    addresses = [{"ifname": name, "addr_info": [{"local": own, "prefixlen": 24, "scope": "global"}]} for name, own in carried.items()]
    return FakeHost(
        files,
        {
            ("ip", "-j", "addr"): json.dumps(addresses),
            ("ip", "-j", "-4", "route", "show", "default"): '[{"dst":"default","gateway":"198.51.100.2","dev":"bond0"}]',
            ("ip", "-j", "-6", "route", "show", "default"): "[]",
        },
        links,
    )


def facts_of(host: FakeHost) -> dict[str, Any]:
    """What the module rdma_info returns."""
    devices = gather_devices(host)
    return {
        **gather_machine(host),
        "netdevs": gather_netdevs(host, {entry["netdev"] for entry in devices}),
        "devices": devices,
        "busy": gather_busy(host, devices, [], 0.0),
    }
