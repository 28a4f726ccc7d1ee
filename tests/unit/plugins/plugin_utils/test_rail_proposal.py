# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import inventory_problems
from ansible_collections.rdma.k8s.plugins.plugin_utils.rail_proposal import propose_rails
from recorded_host import facts_of, mlx5_host, rxe_host


def with_two_devices(number: int) -> dict[str, Any]:
    """The recorded host with an rxe on its second netdev, too; `number` goes into its addresses."""
    facts = facts_of(rxe_host())
    facts["devices"].append({**copy.deepcopy(facts["devices"][0]), "device": "rxe1", "netdev": "fab1"})
    for netdev, start in (("fab0", 0), ("fab1", 64)):
        facts["netdevs"][netdev]["addresses"] = [f"192.0.2.{start + 10 + number}/26"]
        facts["netdevs"][netdev]["mtu"] = 4500
    for device, last in zip(facts["devices"], (10 + number, 74 + number), strict=True):
        device["gids"] = [
            {"index": 1, "gid": f"0000:0000:0000:0000:0000:ffff:c000:02{last:02x}", "type": "RoCE v2", "netdev": device["netdev"]}
        ]
    return facts


@pytest.fixture
def lab() -> dict[str, Any]:
    return {f"node{number}": with_two_devices(number) for number in (1, 2, 3)}


def test_the_lab(lab: dict[str, Any]) -> None:
    proposal = propose_rails(lab)
    assert proposal == {
        "rdma_rails": [
            {"name": "rail0", "netdev": "fab0", "network": "192.0.2.0/26", "mtu": 4500},
            {"name": "rail1", "netdev": "fab1", "network": "192.0.2.64/26", "mtu": 4500},
        ],
        "hosts": {
            f"node{n}": {"rdma_rail_addresses": {"rail0": f"192.0.2.{10 + n}/26", "rail1": f"192.0.2.{74 + n}/26"}} for n in (1, 2, 3)
        },
        "notes": [],
    }


def test_the_proposal_is_a_right_inventory(lab: dict[str, Any]) -> None:
    proposal = propose_rails(lab)
    rails = {host: own.get("rdma_rails", proposal["rdma_rails"]) for host, own in proposal["hosts"].items()}
    assert inventory_problems(rails, {host: own["rdma_rail_addresses"] for host, own in proposal["hosts"].items()}) == []


def test_a_host_with_other_names_gets_rails_of_its_own(lab: dict[str, Any]) -> None:
    host = lab["node3"]
    host["netdevs"]["enp5s0"] = host["netdevs"].pop("fab1")
    host["devices"][1]["netdev"] = host["devices"][1]["gids"][0]["netdev"] = "enp5s0"
    proposal = propose_rails(lab)
    assert proposal["rdma_rails"][1]["netdev"] == "fab1"
    assert [rail["netdev"] for rail in proposal["hosts"]["node3"]["rdma_rails"]] == ["fab0", "enp5s0"]
    assert "rdma_rails" not in proposal["hosts"]["node1"]


def test_what_stands_in_the_way_is_said(lab: dict[str, Any]) -> None:
    lab["node1"]["devices"] = []
    lab["node2"]["devices"][1]["netdev"] = None
    lab["node3"]["netdevs"]["fab1"]["addresses"] = []
    lab["node3"]["netdevs"]["fab0"]["mtu"] = 1500
    assert propose_rails(lab)["notes"] == [
        "node1: no RDMA device; prepare_hosts loads the drivers.",
        "node2: rxe1/1 (None) has no netdev.",
        "node3: rxe1/1 (fab1) has no address; give it one, then run discover again.",
        "node1: no port in rail0.",
        "all hosts: rail0: mtu differs between hosts: 1500 on node3; 4500 on node2.",
    ]


def test_the_way_in_is_no_rail() -> None:
    facts = facts_of(mlx5_host())
    facts["netdevs"]["ib0"]["addresses"] = ["203.0.113.7/24"]
    proposal = propose_rails({"node1": facts})
    assert [(rail["netdev"], rail.get("link_layer")) for rail in proposal["rdma_rails"]] == [("ens1f0np0", None), ("ib0", "infiniband")]
    assert "node1: mlx5_bond_0/1 (bond0) carries the default route or this connection, so it is left out." in proposal["notes"]


def test_names_are_sorted_as_people_count() -> None:
    facts = with_two_devices(1)
    facts["netdevs"]["fab10"] = facts["netdevs"].pop("fab0")
    facts["netdevs"]["fab2"] = facts["netdevs"].pop("fab1")
    facts["devices"][0]["netdev"], facts["devices"][1]["netdev"] = "fab10", "fab2"
    assert [rail["netdev"] for rail in propose_rails({"node1": facts})["rdma_rails"]] == ["fab2", "fab10"]
