# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in ``rdma_rails`` and ``rdma_rail_addresses`` get a sentence each; good inventories get none."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import host_rails, inventory_problems

RAIL0 = {"name": "rail0", "netdev": "lan2", "network": "192.168.4.0/22", "gateway": "192.168.4.1", "mtu": 4200}
RAIL1 = {"name": "rail1", "netdev": "lan3", "network": "192.168.8.0/22"}
ADDRESSES = {"rail0": "192.168.4.11/22", "rail1": "192.168.8.11/22"}


def problems(rails: object, addresses: object = None) -> list[str]:
    return inventory_problems({"gpu01": rails}, {"gpu01": addresses})


def test_a_good_inventory_has_no_problem() -> None:
    assert problems([RAIL0, RAIL1], ADDRESSES) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"gatway": "192.168.4.1"}, "rdma_rails[0] (rail0) has the unknown key gatway; allowed are name, netdev, address,"),
        ({"name": "Rail-0"}, "name is 'Rail-0'; it must be 1 to 10 small letters and digits"),
        ({"name": "averylongname"}, "name is 'averylongname'"),
        ({"netdev": "an interface"}, "netdev is 'an interface'; give the interface's name"),
        ({"netdev": None}, "netdev is None"),
        ({"mtu": 65000}, "mtu is 65000; it must be a whole number from 576 to 9978"),
        ({"mtu": "9000"}, "mtu is '9000'; it must be a whole number"),
        ({"mtu": True}, "mtu is True"),
        ({"traffic_class": 256}, "traffic_class is 256; it must be a whole number from 0 to 255"),
        ({"link_layer": "roce"}, "link_layer is 'roce'; allowed are ethernet and infiniband"),
        ({"network": "192.168.4.7/22"}, "network is '192.168.4.7/22'; it must be a network without host bits"),
        ({"network": "192.168.4.0/33"}, "network is '192.168.4.0/33'"),
        ({"gateway": "192.168.9.1"}, "gateway 192.168.9.1 is not inside the rail's network 192.168.4.0/22"),
        ({"gateway": "2001:db8::1"}, "gateway 2001:db8::1 is not inside"),
        ({"exclude": ["192.168.9.0/28"]}, "exclude 192.168.9.0/28 is not inside"),
        ({"network": None}, "gateway is set without network"),
        ({"namespaces": "training"}, "namespaces is 'training'; it must be a list"),
        ({"address": "192.168.4.11"}, "is 192.168.4.11 without a prefix"),
        ({"address": "192.168.4.300/22"}, "the address of rail0 is '192.168.4.300/22'; it must be an address with its prefix"),
        ({"address": "192.168.99.1/22"}, "the address 192.168.99.1/22 of rail0 is outside the rail's network 192.168.4.0/22"),
        ({"address": "192.168.4.1/22"}, "is the rail's gateway"),
        ({"network": "192.168.4.0"}, "network is '192.168.4.0'; it must be a network without host bits, as in 192.0.2.0/24"),
        ({"gateway": "192.168.4.0/24"}, "gateway is '192.168.4.0/24'; it must be one address without a prefix, as in 192.168.4.1"),
        ({"exclude": 5}, "exclude 5 is not inside the rail's network"),
        ({"netdev": ["lan2"]}, "netdev is ['lan2']; give the interface's name"),
        ({"address": "192.168.4.11/24"}, "has another prefix than its network 192.168.4.0/22; write /22"),
        ({"address": "192.168.4.0/22"}, "is that of its network itself"),
    ],
)
def test_each_mistake_of_a_rail_gets_one_sentence(change: dict[str, Any], sentence: str) -> None:
    found = problems([{**RAIL0, **change}])
    assert len(found) == 1
    assert found[0].startswith("gpu01: ")
    assert sentence in found[0]


@pytest.mark.parametrize(
    ("rails", "addresses", "sentence"),
    [
        ([], None, "rdma_rails is empty"),
        ("rail0", None, "rdma_rails is empty or no list"),
        (["rail0"], None, "rdma_rails[0] is 'rail0'; each entry must be a dictionary"),
        ([RAIL0, {**RAIL1, "name": "rail0"}], None, "rdma_rails names rail0 2 times"),
        (
            [RAIL0, {**RAIL1, "network": "192.168.6.0/24"}],
            None,
            "the networks of rail0 (192.168.4.0/22) and rail1 (192.168.6.0/24) overlap",
        ),
        ([RAIL0, {**RAIL1, "netdev": "lan2"}], None, "rail0 and rail1 name the same netdev lan2"),
        (
            [RAIL0],
            {"rail0": "192.168.4.11/22", "rial1": "192.168.8.11/22"},
            "rdma_rail_addresses speaks of rial1, which rdma_rails does not have",
        ),
        ([RAIL0], ["192.168.4.11/22"], "it must map rail names to addresses"),
    ],
)
def test_each_mistake_between_rails_gets_one_sentence(rails: object, addresses: object, sentence: str) -> None:
    found = problems(rails, addresses)
    assert len(found) == 1
    assert sentence in found[0]


def test_the_same_mistake_on_many_hosts_is_said_once() -> None:
    hosts = {f"gpu{n:02}": [{**RAIL0, "mtu": 1}] for n in range(6)}
    assert inventory_problems(hosts, {})[0].startswith("all hosts: ")
    found = inventory_problems({**hosts, "gpu99": [RAIL0]}, {})
    assert len(found) == 1
    assert found[0].startswith("gpu00, gpu01, gpu02 and 3 more: ")


def test_an_address_given_to_two_hosts_is_named() -> None:
    found = inventory_problems({"a": [RAIL0], "b": [RAIL0]}, {"a": {"rail0": "192.168.4.11/22"}, "b": {"rail0": "192.168.4.11/22"}})
    assert found == ["a rail0, b rail0: the address 192.168.4.11 is given 2 times; each rail of each host needs its own."]


def test_a_rail_with_two_networks_is_named() -> None:
    [found] = inventory_problems({"a": [RAIL1], "b": [{**RAIL1, "network": "192.168.12.0/22"}]}, {})
    assert found.startswith("rail1 has 2 networks, 192.168.8.0/22 (a) and 192.168.12.0/22 (b); a rail is one network")


def test_a_host_has_the_rails_that_it_gives_addresses_for() -> None:
    assert [rail["name"] for rail in host_rails([RAIL0, RAIL1], {"rail1": "192.168.8.11/22"})] == ["rail1"]
    assert [rail["address"] for rail in host_rails([RAIL0, RAIL1], None)] == [None, None]
    assert [rail["address"] for rail in host_rails([{**RAIL0, "address": "192.168.4.9/22"}], {"rail0": "192.168.4.11/22"})] == [
        "192.168.4.11/22"
    ]
