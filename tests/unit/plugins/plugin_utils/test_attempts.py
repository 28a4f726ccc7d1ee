# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.plugin_utils.attempts import join_attempts

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
GOOD = "perftest/4.5-0.17_rxe_ib_write_bw_n500"
PINGPONG = "ibv_rc_pingpong/44.0_rxe_ibv_rc_pingpong"
ADDRESSES = {"node1": "192.0.2.11", "node2": "192.0.2.12"}

BANNER = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0016 PSN 0x6956a RKey 0x0007b0 VAddr 0x007fba98eb0000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:11
 remote address: LID 0000 QPN 0x0016 PSN 0xd715ed RKey 0x0007cf VAddr 0x007f53a897b000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:00:02:12
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
"""
ROW = " 65536      1000             0.15               0.14   		   0.000259\n" + 87 * "-" + "\n"
STATUS_12 = BANNER + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n scnt=128, ccnt=0\n"
LOST = "ethernet_read_keys: Couldn't read remote address\n"
REFUSED = (
    "Couldn't connect to 192.0.2.12:18600\nUnable to open file descriptor for socket connection Unable to init the socket connection\n"
)


def text(name: str) -> str:
    return (FIXTURES / f"{name}.txt").read_text()


def step(side: str, test: str = "ib_write_bw", *more: str) -> dict[str, Any]:
    host, peer = ("node1", "node2") if side == "client" else ("node2", "node1")
    argv = [test, "-d", "rxe0", "-p", "18600", *more, *(["192.0.2.12"] if side == "client" else [])]
    common = {
        "id": f"3.rail0.node1>node2.{test}",
        "round": 5,
        "plan_round": 3,
        "rail": "rail0",
        "test": test,
        "start_window_s": 30,
        "deadline_s": 20,
    }
    return {**common, "side": side, "host": host, "peer": peer, "argv": argv}


def result(of: dict[str, Any], output: str = "", **ending: Any) -> dict[str, Any]:
    times = {"started": 100.0, "finished": 120.0, "starts": 1}
    return {**of, **times, "ended": "exited", "exit_status": 0, "command": " ".join(of["argv"]), "output": output, **ending}


def joined(
    client: dict[str, Any] | None,
    server: dict[str, Any] | None,
    test: str = "ib_write_bw",
    absent: dict[str, str] | None = None,
    *more: str,
) -> Any:
    steps = {side: step(side, test, *more) for side in ("client", "server")}
    given = {"client": client, "server": server}
    results = {steps[side]["host"]: [result(steps[side], **given[side])] for side in steps if given[side] is not None}  # type: ignore[arg-type]
    [attempt] = join_attempts({one["host"]: [one] for one in steps.values()}, results, absent)
    return attempt


def test_a_good_run_is_measured_at_the_client() -> None:
    attempt = joined({"output": text(GOOD)}, {"output": text(GOOD + "_server")})
    assert attempt["measurements"] == [
        {
            "metric": "ib_write_bw.average_gbit_s",
            "value": 0.059215,
            "labels": {
                "host": "node1",
                "peer": "node2",
                "rail": "rail0",
                "direction": "send",
                "test": "ib_write_bw",
                "side": "client",
                "message_bytes": 65536,
            },
        }
    ]
    assert {key: attempt[key] for key in ("id", "round", "client", "server", "outcome", "cause", "blamed")} == {
        "id": "3.rail0.node1>node2.ib_write_bw",
        "round": 3,
        "client": "node1",
        "server": "node2",
        "outcome": "measured",
        "cause": None,
        "blamed": None,
    }
    assert attempt["evidence"]["client"] == {
        "command": "ib_write_bw -d rxe0 -p 18600 192.0.2.12",
        "output": text(GOOD),
        "ended": "exited",
        "exit_status": 0,
    }


def test_pingpong_is_measured_in_microseconds() -> None:
    attempt = joined({"output": text(PINGPONG)}, {"output": text(PINGPONG + "_server")}, "ibv_rc_pingpong")
    assert [(one["metric"], one["value"]) for one in attempt["measurements"]] == [("ibv_rc_pingpong.round_trip_us", 4216.15)]


def test_a_bidirectional_run_says_so() -> None:
    name = "perftest/4.5-0.17_rxe_ib_write_bw_bidir_tap1"
    attempt = joined({"output": text(name)}, {"output": text(name + "_server")}, "ib_write_bw", None, "-b")
    assert attempt["direction"] == attempt["measurements"][0]["labels"]["direction"] == "both"


def assert_unmeasured(attempt: Any, outcome: str, cause: str, blamed: str | None) -> None:
    assert (attempt["outcome"], attempt["blamed"], attempt["measurements"]) == (outcome, blamed, [])
    assert cause in attempt["cause"]


@pytest.mark.parametrize(
    "ending", [{"exit_status": 1}, {"ended": "deadline", "exit_status": 124}, {"ended": "deadline", "exit_status": None}]
)
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_good_text_with_a_bad_ending_is_not_believed(side: str, ending: dict[str, Any]) -> None:
    sides: dict[str, dict[str, Any]] = {"client": {"output": text(GOOD)}, "server": {"output": text(GOOD + "_server")}}
    sides[side].update(ending)
    assert_unmeasured(joined(sides["client"], sides["server"]), "damaged", f"{side} ended with", None)


def test_texts_of_two_runs_are_not_believed() -> None:
    server = {"output": text("perftest/4.5-0.17_rxe_ib_write_bw_nox_server")}
    assert_unmeasured(joined({"output": text(GOOD)}, server), "damaged", "addresses of different runs", None)


def test_zero_is_not_believed() -> None:
    row = " 65536      1000           0.000000            0.000000            0.000000\n" + 87 * "-" + "\n"
    assert_unmeasured(joined({"output": BANNER + row}, {"output": ""}), "damaged", "the average bandwidth is zero", None)


def test_another_size_than_the_wanted_one_is_not_believed() -> None:
    attempt = joined({"output": BANNER + ROW}, {"output": ""}, "ib_write_bw", None, "-s", "8388608")
    assert_unmeasured(attempt, "damaged", "8388608 bytes were asked for", None)


def test_a_table_without_row_is_no_measurement() -> None:
    assert_unmeasured(joined({"output": BANNER}, {"output": ""}), "failed", "the table has no row", None)


def test_transport_errors_are_the_fabric_s_doing() -> None:
    attempt = joined({"output": STATUS_12, "exit_status": 1}, {"output": LOST, "exit_status": 1})
    assert_unmeasured(attempt, "dead", "transport retry exceeded (12)", None)


@pytest.mark.parametrize("endings", [("silent", "silent"), ("silent", "exited"), ("exited", "silent")])
def test_silence_is_death(endings: tuple[str, str]) -> None:
    client, server = ({"output": BANNER, "ended": ended, "exit_status": None if ended == "silent" else 1} for ended in endings)
    assert_unmeasured(joined(client, server), "dead", "Silence: the two sides met over TCP, but no RDMA data arrived within 20 s.", None)


def test_a_deadline_is_death() -> None:
    attempt = joined({"ended": "deadline", "exit_status": None}, {"ended": "no_peer", "exit_status": None})
    assert_unmeasured(attempt, "dead", "did not end within its deadline of 20 s", None)


@pytest.mark.parametrize(("at_fault", "host"), [("client", "node1"), ("server", "node2")])
def test_the_side_that_names_a_cause_is_to_blame(at_fault: str, host: str) -> None:
    memlock = {
        "output": "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n Couldn't create IB resources\n",
        "exit_status": 1,
    }
    sides = {"client": {"output": LOST, "exit_status": 1}, "server": {"output": LOST, "exit_status": 1}, at_fault: memlock}
    attempt = joined(sides["client"], sides["server"])
    assert_unmeasured(attempt, "failed", f"{host}: ", host)
    assert "memlock" in attempt["remedy"]


def test_a_server_that_failed_explains_a_client_that_found_nobody() -> None:
    client = {"output": REFUSED, "ended": "no_peer", "exit_status": 1}
    server = {"output": "IB device rxe0 not found\n Unable to find the Infiniband/RoCE device\n", "exit_status": 1}
    assert_unmeasured(joined(client, server), "failed", "rxe0", "node2")


def test_a_port_that_is_down_is_the_fabric_s_doing_and_names_the_host() -> None:
    client = {"output": " Port number 1 state is Down\n", "exit_status": 1}
    assert_unmeasured(joined(client, {"ended": "no_peer", "exit_status": None}), "dead", "node1: ", "node1")


def test_sides_that_ran_at_once_and_could_not_meet_speak_against_the_fabric() -> None:
    attempt = joined({"output": REFUSED, "ended": "no_peer", "exit_status": 1}, {"ended": "no_peer", "exit_status": None})
    assert_unmeasured(attempt, "dead", "node1 could not connect to node2 on rail0 by TCP", None)


@pytest.mark.parametrize("times", [{"started": 120.0, "finished": 150.0}, {"started": None, "finished": None}])
def test_sides_that_never_ran_at_once_say_nothing_about_the_fabric(times: dict[str, Any]) -> None:
    attempt = joined({"output": REFUSED, "ended": "no_peer", "exit_status": 1}, {"ended": "no_peer", "exit_status": None, **times})
    assert_unmeasured(attempt, "failed", "not ready within the same start window of 30 s", None)


def test_a_server_taken_by_somebody_else() -> None:
    attempt = joined({"output": REFUSED, "ended": "no_peer", "exit_status": 1}, {"output": text(GOOD + "_server")})
    assert_unmeasured(attempt, "damaged", "ended well with somebody else", None)


def test_a_host_without_the_tool() -> None:
    attempt = joined({"output": REFUSED, "ended": "no_peer", "exit_status": 1}, {"ended": "not_found", "exit_status": None})
    assert_unmeasured(attempt, "failed", "node2 has no ib_write_bw.", "node2")


def test_a_run_that_nobody_watched() -> None:
    attempt = joined({"ended": "stopped", "exit_status": None}, {"ended": "stopped", "exit_status": None})
    assert_unmeasured(attempt, "failed", "stopped itself because the controller had gone", None)


@pytest.mark.parametrize(
    ("client", "server", "absent", "gone"),
    [
        (None, {"ended": "absent"}, {"node1": "it was unreachable"}, "node1"),
        ({"ended": "absent"}, None, {"node2": "its run stopped"}, "node2"),
        ({"ended": "absent"}, {"ended": "no_peer"}, {}, "node2"),
        (None, None, {"node2": "its run stopped"}, "node2"),
        ({"output": text(GOOD)}, None, {}, "node2"),
    ],
)
def test_a_host_that_did_not_take_part(client: Any, server: Any, absent: dict[str, str], gone: str) -> None:
    assert_unmeasured(
        joined(client, server, "ib_write_bw", absent),
        "absent",
        f"{gone} did not take part: {absent.get(gone, 'no result came from it')}.",
        gone,
    )


def test_evidence_of_a_lost_side_is_none() -> None:
    assert joined({"ended": "absent"}, None)["evidence"]["server"] is None


def test_attempts_come_in_the_order_of_the_rounds() -> None:
    steps: dict[str, list[dict[str, Any]]] = {"node1": [], "node2": []}
    for number in (10, 9, 2):
        for side in ("client", "server"):
            one = {**step(side), "id": f"{number}.rail0.node1>node2.ib_write_bw", "plan_round": number}
            steps[one["host"]].append(one)
    assert [attempt["round"] for attempt in join_attempts(steps, {})] == [2, 9, 10]
