# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.rounds import plan_rounds
from ansible_collections.rdma.k8s.plugins.plugin_utils.steps import plan_steps

OPTIONS: dict[str, Any] = {
    "port_first": 18600,
    "port_last": 18699,
    "start_window_s": 30,
    "deadline_s": 20,
    "message_bytes": 65536,
    "iterations": 500,
}
TESTS = ["ibv_rc_pingpong", "ib_write_bw"]


def resolved(hosts: int, rails: int) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        f"node{host}": {
            f"rail{rail}": {
                "name": f"rail{rail}",
                "netdev": f"fab{rail}",
                "address": f"192.0.2.{16 * rail + host}",
                "device": f"rxe{rail}",
                "port": 1,
                "gid_index": host,
                "numa_node": rail,
                "numa_cpus": "0-1",
            }
            for rail in range(rails)
        }
        for host in range(1, hosts + 1)
    }


def steps_of(hosts: int, rails: int, *, rails_at_once: bool = False, **options: Any) -> dict[str, list[dict[str, Any]]]:
    there = resolved(hosts, rails)
    plan = plan_rounds(list(there), {host: list(row) for host, row in there.items()}, rails_at_once=rails_at_once)
    return plan_steps(plan, there, TESTS, {**OPTIONS, **options})


def test_both_sides_of_a_test_share_an_id_and_the_server_s_port() -> None:
    steps = steps_of(2, 1)
    client, server = steps["node1"][1], steps["node2"][1]
    assert client["id"] == server["id"] == "1.rail0.node1>node2.ib_write_bw"
    assert (client["side"], client["peer"], server["side"], server["peer"]) == ("client", "node2", "server", "node1")
    for step, gid in ((client, "1"), (server, "2")):
        assert step["argv"][step["argv"].index("-x") + 1] == gid
    ports = [step["argv"][step["argv"].index("-p") + 1] for step in (client, server)]
    assert ports == ["18601", "18601"]
    assert client["argv"][-1] == "192.0.2.2"
    assert "192.0.2.2" not in server["argv"]


def test_tests_of_a_pair_run_one_after_another() -> None:
    steps = steps_of(2, 1)["node1"]
    assert [(step["round"], step["plan_round"], step["test"]) for step in steps] == [
        (1, 1, "ibv_rc_pingpong"),
        (2, 1, "ib_write_bw"),
        (3, 2, "ibv_rc_pingpong"),
        (4, 2, "ib_write_bw"),
    ]


def test_a_late_partner_is_waited_for_but_not_for_ever() -> None:
    windows = [step["start_window_s"] for step in steps_of(3, 2)["node1"]]
    assert windows == sorted(windows)
    assert (windows[0], windows[-1]) == (30, 70)


def test_concurrent_pairs_and_following_rounds_have_ports_of_their_own() -> None:
    ports: dict[str, list[tuple[int, str]]] = {}
    for host, steps in steps_of(5, 4, rails_at_once=True).items():
        ports[host] = [(step["round"], step["argv"][step["argv"].index("-p") + 1]) for step in steps if step["side"] == "server"]
    assert all(len({port for _round, port in row}) == len(row) for row in ports.values())


def test_ports_are_taken_in_turn() -> None:
    steps = steps_of(2, 1, port_last=18600)
    assert {step["argv"][step["argv"].index("-p") + 1] for step in steps["node1"]} == {"18600"}


def test_options_of_one_test_and_of_one_host() -> None:
    there = resolved(2, 1)
    plan = plan_rounds(list(there), {host: list(row) for host, row in there.items()})
    tests = [{"test": "ib_write_bw", "queue_pairs": 8, "deadline_s": 99}]
    steps = plan_steps(plan, there, tests, OPTIONS, host_options={"node1": {"has_numactl": True}}, first_round=7)
    client, server = steps["node1"][0], steps["node2"][0]
    assert client["id"] == "7.rail0.node1>node2.ib_write_bw"
    assert client["round"] == 1
    assert client["deadline_s"] == 99
    assert client["argv"][client["argv"].index("-q") + 1] == "8"
    assert "numactl" in client["argv"]
    assert "numactl" not in server["argv"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tests": ["ib_right_bw"]}, "test 'ib_right_bw' is unknown; allowed are ibv_rc_pingpong, ib_write_bw"),
        ({"deadline_s": 0}, "option deadline_s of ibv_rc_pingpong is 0; it must be a number above zero"),
        ({"port_first": 20000}, "ports 20000 to 18699 are no range"),
        ({"port_first": 18699, "rails": 2}, "serves 2 tests at once, but the ports 18699 to 18699 are 1; widen"),
        ({"iterations": None, "duration_s": 20}, "runs 20 s, but its deadline is 20 s; give it a later deadline"),
    ],
)
def test_bad_options_get_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    there = resolved(2, changes.pop("rails", 1))
    tests = changes.pop("tests", TESTS)
    plan = plan_rounds(list(there), {host: list(row) for host, row in there.items()}, rails_at_once=True)
    with pytest.raises(ValueError, match=sentence):
        plan_steps(plan, there, tests, {**OPTIONS, **changes})


def test_a_rail_without_device_gets_one_sentence() -> None:
    there = resolved(2, 1)
    there["node2"]["rail0"]["device"] = None
    plan = plan_rounds(list(there), {host: list(row) for host, row in there.items()})
    with pytest.raises(ValueError, match="rail0 of node2 is planned for tests, but has no RDMA device"):
        plan_steps(plan, there, TESTS, OPTIONS)
