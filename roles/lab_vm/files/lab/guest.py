# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lab host is: its addresses, its network files and the QEMU command that runs it. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import pathlib

PROCESSORS = {
    "tcg": ["-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max,la57=off"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}
RAIL_NETWORK = ipaddress.IPv4Address("192.0.2.0")
ADDRESSES_PER_RAIL = 64
FIRST_SSH_PORT = 22001


@dataclasses.dataclass(frozen=True)
class Lab:
    """The lab as asked for: sizes in MiB and bytes (MTU), times in seconds."""

    directory: str
    user: str
    namespace: str
    image: str
    hosts: list[str]
    rails: int
    memory_mib: int
    cpus: int
    mtu: int
    accelerator: str
    boot_timeout_s: int
    restore_timeout_s: int

    def host_directory(self, host: str) -> pathlib.Path:
        """Folder of a host's disk, sockets and logs."""
        return pathlib.Path(self.directory, "vm", host)

    def number(self, host: str) -> int:
        """1 for the first host."""
        return self.hosts.index(host) + 1

    def ssh_port(self, host: str) -> int:
        """Port of the host's sshd on the loopback of the lab's namespace."""
        return FIRST_SSH_PORT + self.number(host) - 1


def tap(host: str, rail: int) -> str:
    """Name of the interface in the lab's namespace that a host's rail hangs on."""
    return f"{host}-rail{rail}"


def rail_address(lab: Lab, host: str, rail: int) -> str:
    """Address of a host on a rail, with prefix length."""
    return f"{RAIL_NETWORK + rail * ADDRESSES_PER_RAIL + 10 + lab.number(host)}/26"


def mac_address(lab: Lab, host: str, rail: int | None) -> str:
    """MAC address of a host's rail, or of its management interface."""
    return f"52:54:00:{0xA0 if rail is None else 0xB0 + rail:02x}:00:{lab.number(host):02x}"


def network_files(lab: Lab, host: str) -> dict[str, str]:
    """Files of the guest's /etc/systemd/network: interface names by MAC address, MTU and address of each rail."""

    def link(name: str, rail: int | None) -> str:
        return f"[Match]\nMACAddress={mac_address(lab, host, rail)}\n\n[Link]\nName={name}\n"

    files = {"05-mgmt0.link": link("mgmt0", None)}
    for rail in range(lab.rails):
        files[f"05-fab{rail}.link"] = link(f"fab{rail}", rail)
        files[f"20-fab{rail}.network"] = (
            f"[Match]\nName=fab{rail}\n\n[Link]\nMTUBytes={lab.mtu}\n\n"
            f"[Network]\nLinkLocalAddressing=ipv6\nIPv6AcceptRA=no\nAddress={rail_address(lab, host, rail)}\n"
        )
    return files


def qemu_command(lab: Lab, host: str, accelerator: str, snapshot: str | None) -> list[str]:
    """The command that boots a host, or goes on from one of its snapshots.

    A snapshot is only good for the same command, so nothing here may depend on the state of the machine.
    """
    there = lab.host_directory(host)
    return [
        *("qemu-system-x86_64", "-name", f"lab-{host}", *PROCESSORS[accelerator], "-machine", "q35"),
        *_processors_and_memory(lab),
        *("-nodefaults", "-display", "none", "-serial", f"file:{there}/serial.log", "-daemonize", "-pidfile", f"{there}/qemu.pid"),
        *("-monitor", f"unix:{there}/monitor,server=on,wait=off"),
        *("-object", "rng-random,filename=/dev/urandom,id=random", "-device", "virtio-rng-pci,bus=pcie.0,rng=random"),
        *(
            "-drive",
            f"file={there}/disk.qcow2,if=none,id=disk,cache=unsafe,discard=unmap",
            "-device",
            "virtio-blk-pci,bus=pcie.0,drive=disk",
        ),
        *(word for name in IDENTITY for word in ("-fw_cfg", f"name=opt/lab/{name},file={there}/{name}")),
        *_management_network(lab, host),
        *(word for rail in range(lab.rails) for word in _rail_network(lab, host, rail)),
        *(("-loadvm", snapshot) if snapshot else ()),
    ]


IDENTITY = ("hostname", "host_key", "authorized_key", "network")


def _processors_and_memory(lab: Lab) -> list[str]:
    half_cpus, half_memory = lab.cpus // 2, lab.memory_mib // 2
    words = ["-smp", f"{lab.cpus},sockets=2", "-m", str(lab.memory_mib)]
    for node in (0, 1):
        words += ["-object", f"memory-backend-ram,id=memory{node},size={half_memory}M"]
        words += ["-numa", f"node,nodeid={node},cpus={node * half_cpus}-{(node + 1) * half_cpus - 1},memdev=memory{node}"]
        words += ["-device", f"pxb-pcie,id=numa{node},bus=pcie.0,bus_nr={64 * (node + 1)},numa_node={node}"]
    return [*words, "-numa", "dist,src=0,dst=1,val=20"]


def _management_network(lab: Lab, host: str) -> list[str]:
    forward = f"hostfwd=tcp:127.0.0.1:{lab.ssh_port(host)}-:22"
    return [
        *("-netdev", f"user,id=management,restrict=on,net=198.51.100.0/24,host=198.51.100.2,dhcpstart=198.51.100.15,{forward}"),
        *("-device", f"virtio-net-pci,bus=pcie.0,netdev=management,romfile=,mac={mac_address(lab, host, None)}"),
    ]


def _rail_network(lab: Lab, host: str, rail: int) -> list[str]:
    return [
        *("-netdev", f"tap,id=rail{rail},ifname={tap(host, rail)},script=no,downscript=no,vhost=off,queues=2"),
        *("-device", f"pcie-root-port,id=port{rail},bus=numa{rail % 2},chassis={rail + 1},slot={rail + 1}"),
        *("-device", f"virtio-net-pci,netdev=rail{rail},bus=port{rail},romfile=,mq=on,vectors=6,mac={mac_address(lab, host, rail)}"),
    ]


def ssh_config(lab: Lab) -> str:
    """Settings under which plain ssh and Ansible reach the hosts by name, from outside the lab's namespace."""
    blocks = [
        f"""\
Host {host}
    HostKeyAlias {host}
    ProxyCommand socat - UNIX-CONNECT:{lab.host_directory(host)}/ssh
    ControlPath {lab.host_directory(host)}/%r
"""
        for host in lab.hosts
    ]
    return "\n".join(
        [
            *blocks,
            f"""\
Host {" ".join(lab.hosts)}
    User root
    IdentityFile {lab.directory}/keys/lab
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {lab.directory}/keys/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    ControlMaster auto
    ControlPersist 600
    ServerAliveInterval 15
""",
        ]
    )
