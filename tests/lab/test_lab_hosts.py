# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab gives what it promises: hosts, rails, RDMA devices, NUMA nodes, and packages to install without a network."""

from __future__ import annotations

import itertools
import json

import pytest
from running_lab import Lab

# What the collection's roles install must not be there before.
OFFLINE_PACKAGES = ("rdma-core", "ibverbs-utils", "infiniband-diags", "rdmacm-utils", "perftest", "numactl")


def test_every_pair_of_hosts_meets_on_every_rail_with_large_packets(lab: Lab) -> None:
    pairs = itertools.combinations(lab.hosts, 2)
    silent = [(*pair, rail) for pair in pairs for rail in lab.rails if not lab.reaches(*pair, rail, packet_bytes=4200)]
    assert silent == []


def test_the_hosts_reach_nothing_but_each_other(lab: Lab) -> None:
    assert lab.output(lab.hosts[0], "ip -4 route show default") == ""
    machine = 'import socket; socket.create_connection(("198.51.100.2", 22), 3)'
    assert lab.run(lab.hosts[0], f"python3 -c '{machine}'").returncode != 0


@pytest.mark.parametrize("package", OFFLINE_PACKAGES)
def test_a_package_is_not_there_but_can_be_installed(lab: Lab, package: str) -> None:
    host = lab.hosts[0]
    assert "installed" not in lab.run(host, f"dpkg-query --show --showformat '${{db:Status-Status}}' {package}").stdout
    assert f"Inst {package} " in lab.output(host, f"apt-get -q --simulate install {package}")


def test_each_host_has_a_numa_node_for_each_rail(lab: Lab) -> None:
    host = lab.hosts[-1]
    assert lab.output(host, "cat /sys/class/net/fab[01]/device/../numa_node").split() == ["0", "1"]
    assert lab.output(host, "cat /sys/devices/system/node/online") == "0-1"


@pytest.mark.parametrize("setting", ["swap", "sudo user", "own boot loader"])
def test_a_host_is_an_ordinary_machine(lab: Lab, setting: str) -> None:
    proofs = {
        "swap": "swapon --show --noheadings | grep -q /dev/vda2",
        "sudo user": "su lab -c 'sudo --non-interactive true'",
        "own boot loader": "test -x /usr/sbin/update-grub && grep -q vmlinuz /boot/grub/grub.cfg",
    }
    assert lab.run(lab.hosts[1], proofs[setting]).returncode == 0


def test_the_rdma_devices_are_active_with_their_largest_mtu(lab: Lab) -> None:
    host = lab.hosts[0]
    links = json.loads(lab.output(host, "rdma -j link show"))
    assert {(link["ifname"], link["netdev"], link["state"]) for link in links} == {("rxe0", "fab0", "ACTIVE"), ("rxe1", "fab1", "ACTIVE")}
    lab.output(host, "apt-get -q --yes install rdma-core ibverbs-utils ibverbs-providers && modprobe ib_uverbs")
    assert lab.output(host, "ibv_devinfo").count("active_mtu:\t\t4096") == len(lab.rails)
