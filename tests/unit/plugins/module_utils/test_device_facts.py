# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices and netdevs of whole hosts, and the parsers behind them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import netdev, rdma_device
from recorded_host import facts_of, mlx5_host, rxe_host


def by_device(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["device"]: entry for entry in facts["devices"]}


def test_a_software_device() -> None:
    device = by_device(facts_of(rxe_host()))["rxe0"]
    counters, gids = device.pop("counters"), device.pop("gids")
    assert device == {
        "device": "rxe0",
        "port": 1,
        "netdev": "fab0",
        "link_layer": "ethernet",
        "virtual": True,
        "driver": "rdma_rxe",
        "state": "ACTIVE",
        "physical_state": "LINK_UP",
        "rate_gbit_s": None,
        "active_mtu": 1024,
        "firmware": None,
        "pci_address": "0000:00:04.0",
        "numa_node": 0,
    }
    assert (counters["sent_pkts"], "lifespan" in counters) == (352622, False)
    assert [(gid["index"], gid["type"], gid["netdev"]) for gid in gids] == [(0, "RoCE v2", "fab0"), (1, "RoCE v2", "fab0")]


def test_without_the_tools_sysfs_is_enough() -> None:
    host = rxe_host()
    for argv in (("rdma", "-j", "link"), ("ibv_devinfo",)):
        del host.commands[argv]
    device = by_device(facts_of(host))["rxe0"]
    assert (device["netdev"], device["active_mtu"]) == ("fab0", None)


def test_empty_gid_slots_do_not_end_the_scan() -> None:
    """FC-30."""
    gids = by_device(facts_of(mlx5_host()))["mlx5_0"]["gids"]
    assert [(gid["index"], gid["type"]) for gid in gids] == [(2, "RoCE v1"), (3, "RoCE v2")]


def test_an_infiniband_port() -> None:
    device = by_device(facts_of(mlx5_host()))["mlx5_1"]
    shown = {
        name: device[name]
        for name in ("netdev", "link_layer", "state", "physical_state", "rate_gbit_s", "numa_node", "firmware", "virtual")
    }
    assert shown == {
        "netdev": "ib0",
        "link_layer": "infiniband",
        "state": "INIT",
        "physical_state": "LINK_UP",
        "rate_gbit_s": 400.0,
        "numa_node": 1,
        "firmware": "28.39.1002",
        "virtual": False,
    }


def test_the_way_in_is_known_down_to_the_card() -> None:
    """FC-40: the default route and ssh go over a bond, so over its port."""
    netdevs = facts_of(mlx5_host())["netdevs"]
    assert {name for name, entry in netdevs.items() if entry["default_route"]} == {"bond0", "ens9f0"}
    assert {name for name, entry in netdevs.items() if entry["carries_ssh"]} == {"bond0", "ens9f0"}


def test_netdevs_of_the_recorded_host() -> None:
    netdevs = facts_of(rxe_host())["netdevs"]
    assert sorted(netdevs) == ["fab0", "fab1", "mgmt0"]  # no lo, no bonding_masters
    assert netdevs["fab1"]["addresses"] == ["192.0.2.75/26"]  # and no link-local one
    assert [netdevs[name]["numa_node"] for name in ("mgmt0", "fab0", "fab1")] == [None, 0, 1]
    assert {name for name, entry in netdevs.items() if entry["carries_ssh"]} == {"mgmt0"}


def test_the_machine() -> None:
    facts = facts_of(rxe_host())
    assert (facts["hostname"], facts["cpus"], facts["numa_nodes"], facts["memlock_bytes"]) == ("node1", 2, {"0": "0", "1": "1"}, 192118784)
    assert (facts["tools"]["ib_read_bw"], facts["tools"]["ibv_rc_pingpong"], "ib_send_bw" in facts["tools"]) == ("6.06", "", False)


def test_a_host_without_rdma() -> None:
    host = rxe_host()
    host.files = {path: text for path, text in host.files.items() if not path.startswith("/sys/class/infiniband")}
    host.commands[("rdma", "-j", "link")] = "never asked: it fails where the kernel's part is not loaded"
    facts = facts_of(host)
    assert (facts["devices"], facts["busy"]) == ([], {"open_devices": [], "pods": [], "moving": []})


@pytest.mark.parametrize(
    ("text", "word"), [("4: ACTIVE\n", "ACTIVE"), ("5: LinkUp", "LINK_UP"), ("1: CA", "CA"), ("4: RNIC", "RNIC"), ("2: Polling", "POLLING")]
)
def test_enumerations(text: str, word: str) -> None:
    assert rdma_device.parse_enumeration(text) == word


def test_a_rate_that_is_none_is_not_guessed() -> None:
    assert rdma_device.parse_rate("2.5 Gb/sec (1X SDR)") == 2.5
    with pytest.raises(ValueError, match="no rate"):
        rdma_device.parse_rate("40 GB/s")


@pytest.mark.parametrize(
    ("gid", "address"),
    [("0000:0000:0000:0000:0000:ffff:c000:020b", "192.0.2.11"), ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1")],
)
def test_addresses_of_gids(gid: str, address: str) -> None:
    assert rdma_device.gid_address(gid) == address


def test_netdev_of_a_port() -> None:
    choose = rdma_device.choose_netdev
    assert choose("bond0", [{"netdev": "eth0"}], None, {"eth0": 0}, 1) == "bond0"
    assert choose(None, [{"netdev": None}, {"netdev": "eth0"}], None, {}, 1) == "eth0"
    assert choose(None, [], "fab0", {}, 1) == "fab0"
    assert choose(None, [], None, {"ib0": 0, "ib1": 1}, 2) == "ib1"
    assert choose(None, [], None, {}, 1) is None


def test_a_pci_address_is_the_nearest() -> None:
    assert rdma_device.pci_address("/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0") == "0000:17:00.0"
    assert rdma_device.pci_address("/sys/devices/pci0000:00/0000:00:04.0/virtio3") == "0000:00:04.0"
    assert rdma_device.pci_address("/sys/devices/virtual/net/bond0") is None


def test_a_software_driver() -> None:
    assert rdma_device.software_driver(True, "1: CA") == "rdma_rxe"
    assert rdma_device.software_driver(False, "4: RNIC") == "siw"
    assert rdma_device.software_driver(False, "1: CA") is None


def test_connections_of_both_families() -> None:
    header = "  sl  local_address remote_address st tx rx tr tm retr uid timeout inode\n"
    row = "   0: {}:0016 {}:8F3C 01 0:0 0:0 0 0 0 {} 1\n"
    ipv6 = "B80D0120000000000000000001000000"  # 2001:db8::1
    mapped = "0000000000000000FFFF00000B0200C0"  # ::ffff:192.0.2.11
    text = header + row.format(ipv6, ipv6, 7) + row.format(mapped, mapped, 8)
    assert netdev.parse_connections(text) == {"7": "2001:db8::1", "8": "192.0.2.11"}


def test_small_parsers() -> None:
    assert netdev.parse_stat("12 (a (b) c) S 7 12 12 0 -1") == ("a (b) c", 7)
    assert netdev.parse_cpulist("0-3,8\n") == 5
    assert netdev.parse_memlock("Max locked memory         unlimited            unlimited            bytes\n") == -1
    assert netdev.parse_memlock("") is None
    assert netdev.parse_version("Version: 6.06\n") == "6.06"
    assert netdev.parse_version("no number") == ""
    assert netdev.parse_default_netdevs("[]", '[{"dst":"default","nexthops":[{"dev":"eth0"},{"dev":"eth1"}]}]') == {"eth0", "eth1"}
