# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.rails import host_finding, inspect_tools, resolve_rail, resolve_rails
from recorded_host import facts_of, mlx5_host, rxe_host

FIELDS = ["id", "outcome", "scope", "host", "peer", "rail", "test", "metric", "value", "threshold", "cause", "remedy", "evidence"]
RAIL0 = {"name": "rail0", "netdev": "fab0"}
ROCE = {"name": "rail0", "netdev": "ens1f0np0"}
IB = {"name": "rail1", "netdev": "ib0", "link_layer": "infiniband"}


@pytest.fixture
def rxe() -> dict[str, Any]:
    return facts_of(rxe_host())


@pytest.fixture
def mlx5() -> dict[str, Any]:
    return facts_of(mlx5_host())


@pytest.mark.parametrize("address", ["192.0.2.11/26", None])
def test_a_rail_of_software_rdma(rxe: dict[str, Any], address: str | None) -> None:
    assert resolve_rail(RAIL0, address, rxe) == (
        {
            "name": "rail0",
            "netdev": "fab0",
            "address": "192.0.2.11",
            "device": "rxe0",
            "port": 1,
            "gid_index": 1,
            "numa_node": 0,
            "numa_cpus": "0",
            "link_layer": "ethernet",
            "rate_gbit_s": None,
            "active_mtu": 1024,
            "virtual": True,
        },
        [],
    )


def test_the_gid_is_version_2_of_this_address(mlx5: dict[str, Any]) -> None:
    rail, findings = resolve_rail(ROCE, "198.51.100.80/24", mlx5)
    assert findings == []
    assert rail is not None
    assert (rail["device"], rail["gid_index"], rail["rate_gbit_s"], rail["numa_cpus"]) == ("mlx5_0", 3, 400.0, "0")


def test_an_infiniband_rail_has_no_gid_index(mlx5: dict[str, Any]) -> None:
    mlx5["devices"][1]["state"] = "ACTIVE"
    rail, findings = resolve_rail(IB, "203.0.113.7/24", mlx5)
    assert findings == []
    assert rail is not None
    assert (rail["device"], rail["gid_index"], rail["numa_node"]) == ("mlx5_1", None, 1)


def test_a_vlan_stands_on_its_parents_device(mlx5: dict[str, Any]) -> None:
    mlx5["netdevs"]["rail.100"] = {**mlx5["netdevs"]["ens1f0np0"], "addresses": ["192.0.2.9/24"], "driver": None}
    mlx5["devices"][0]["gids"].append(
        {"index": 5, "gid": "0000:0000:0000:0000:0000:ffff:c000:0209", "type": "RoCE v2", "netdev": "rail.100"}
    )
    rail, _findings = resolve_rail({"name": "rail0", "netdev": "rail.100"}, None, mlx5)
    assert rail is not None
    assert (rail["device"], rail["gid_index"]) == ("mlx5_0", 5)


def only(findings: list[dict[str, Any]]) -> dict[str, Any]:
    assert len(findings) == 1
    assert list(findings[0]) == FIELDS
    assert findings[0]["cause"].endswith((".", "?"))
    assert findings[0]["remedy"].endswith(".")
    return findings[0]


def refused(rail: dict[str, Any], address: str | None, facts: dict[str, Any]) -> dict[str, Any]:
    resolved, findings = resolve_rail(rail, address, facts, "node1")
    assert resolved is None
    finding = only(findings)
    assert (finding["outcome"], finding["scope"], finding["host"], finding["rail"]) == ("fail", "rail", "node1", rail["name"])
    return finding


def test_an_absent_netdev(rxe: dict[str, Any]) -> None:
    finding = refused({"name": "rail0", "netdev": "eth9"}, None, rxe)
    assert finding["id"] == "netdev_absent.node1.rail0"
    assert finding["cause"] == "rail0: the host has no netdev eth9; it has fab0, fab1, mgmt0."


def test_no_device_behind_the_netdev(rxe: dict[str, Any]) -> None:
    finding = refused({"name": "rail1", "netdev": "fab1"}, "192.0.2.75/26", rxe)
    assert finding["id"] == "device_absent.node1.rail1"
    assert "no RDMA device stands behind fab1 (driver virtio_net)" in finding["cause"]


def test_swapped_rails_are_named_as_such(rxe: dict[str, Any]) -> None:
    finding = refused(RAIL0, "192.0.2.75/26", rxe)
    assert finding["id"] == "rails_swapped.node1.rail0"
    assert finding["cause"] == "rail0: its address 192.0.2.75 is on fab1, not on fab0; are the rails swapped?"


def test_a_wrong_address(rxe: dict[str, Any]) -> None:
    assert refused(RAIL0, "192.0.2.12/26", rxe)["cause"] == "rail0: fab0 has 192.0.2.11/26, not 192.0.2.12."


def test_no_address_at_all(rxe: dict[str, Any]) -> None:
    rxe["netdevs"]["fab0"]["addresses"] = []
    assert refused(RAIL0, None, rxe)["cause"] == "rail0: fab0 has no address."


def test_infiniband_without_subnet_manager(mlx5: dict[str, Any]) -> None:
    """FC-71."""
    finding = refused(IB, "203.0.113.7/24", mlx5)
    assert "port mlx5_1/1 (ib0) is INIT, physical state LINK_UP: the cable is fine, but no subnet manager" in finding["cause"]


def test_an_ethernet_port_that_is_down(rxe: dict[str, Any]) -> None:
    rxe["devices"][0].update(state="DOWN", physical_state="DISABLED")
    rxe["netdevs"]["fab0"]["operstate"] = "down"
    finding = refused(RAIL0, "192.0.2.11/26", rxe)
    assert finding["cause"] == "rail0: port rxe0/1 (fab0) is DOWN, physical state DISABLED; the netdev is down."
    assert finding["remedy"].startswith("`ip link set fab0 up`")


def test_the_wrong_link_layer(mlx5: dict[str, Any]) -> None:
    finding = refused({**IB, "link_layer": None}, "203.0.113.7/24", mlx5)
    assert finding["cause"] == "rail1: mlx5_1/1 (ib0) speaks infiniband, rdma_rails says ethernet."


def test_only_roce_version_1(mlx5: dict[str, Any]) -> None:
    mlx5["devices"][0]["gids"].pop()
    finding = refused(ROCE, "198.51.100.80/24", mlx5)
    assert finding["cause"] == "rail0: the GID table of mlx5_0 has 198.51.100.80 only as RoCE v1."


def test_no_gid_of_the_address(mlx5: dict[str, Any]) -> None:
    mlx5["devices"][0]["gids"].clear()
    assert refused(ROCE, None, mlx5)["cause"] == "rail0: the GID table of mlx5_0 has no entry for 198.51.100.80 on ens1f0np0."


def test_a_small_mtu_is_told_but_does_not_stop_the_tests(rxe: dict[str, Any]) -> None:
    rail, findings = resolve_rail({**RAIL0, "mtu": 4200}, None, rxe)
    assert rail is not None
    finding = only(findings)
    assert (finding["outcome"], finding["value"], finding["threshold"]["value"]) == ("fail", 1500, 4200)
    assert resolve_rail({**RAIL0, "mtu": 1500}, None, rxe)[1] == []


def test_tools_and_limits(rxe: dict[str, Any]) -> None:
    assert inspect_tools(rxe, "node1") == []
    finding = only(inspect_tools({**rxe, "tools": {"ibv_rc_pingpong": ""}}, "node1"))
    assert (finding["outcome"], finding["scope"], finding["cause"]) == ("inconclusive", "tool", "ib_write_bw not installed.")
    finding = only(inspect_tools({**rxe, "memlock_bytes": 65536}, "node1"))
    assert (finding["outcome"], finding["value"]) == ("warn", 65536)
    assert inspect_tools({**rxe, "memlock_bytes": -1}, "node1") == []


def test_all_rails_of_a_host(rxe: dict[str, Any]) -> None:
    rails, findings = resolve_rails([{**RAIL0, "address": None}, {"name": "rail1", "netdev": "fab1", "address": None}], rxe, "node1")
    assert [rail["name"] for rail in rails] == ["rail0"]
    assert only(findings)["rail"] == "rail1"


def test_a_finding_is_complete() -> None:
    assert list(host_finding("node1", "x", "warn", "Cause.", "Remedy.")) == FIELDS
