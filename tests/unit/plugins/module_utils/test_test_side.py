# SPDX-License-Identifier: GPL-3.0-or-later
"""One side of a test, driven by a clock of our own."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import test_side as sides
from ansible_collections.rdma.k8s.plugins.module_utils.test_side import Seen, Side, begin, decide, started

REFUSED = (
    "Couldn't connect to 192.0.2.12:18600\nUnable to open file descriptor for socket connection Unable to init the socket connection\n"
)
BANNER = "************************************\n* Waiting for client to connect... *\n************************************\n"
TITLE = "---------------\n                    RDMA_Write BW Test\n Dual-port       : OFF\n"
ADDRESSES = " local address: LID 0000 QPN 0x0137 PSN 0xbd4e80\n remote address: LID 0000 QPN 0x0138 PSN 0x6d058e\n"
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROW = " 65536      300              0.15               0.14   \t\t   0.000259\n"
CM_SERVER = BANNER + TITLE + " Waiting for client rdma_cm QP to connect\n"


def step(side: str, window: float = 30, deadline: float = 10) -> dict[str, Any]:
    return {"id": "1", "side": side, "start_window_s": window, "deadline_s": deadline, "peer": "b"}


def running(side: str, at: float = 0.0, **limits: float) -> Side:
    return started(begin(step(side, **limits), 0.0), at)


def ended(side: Side, seen: Seen, now: float) -> str | None:
    decision = decide(side, seen, now)
    assert decision.action in ("end", "wait", "start")
    return decision.ended


def test_a_server_starts_at_once_and_a_client_a_moment_later() -> None:
    assert decide(begin(step("server"), 5.0), Seen(), 5.0).action == "start"
    client = begin(step("client"), 5.0)
    assert decide(client, Seen(), 5.0).action == "wait"
    assert decide(client, Seen(), 5.0 + sides.CLIENT_DELAY_S).action == "start"


def test_a_refused_client_tries_again_until_the_window_ends() -> None:
    side, now, starts = begin(step("client", window=10), 0.0), 0.0, 0
    while True:
        decision = decide(side, Seen(), now)
        side = decision.side
        if decision.action == "start":
            side, starts = started(side, now), starts + 1
            decision = decide(side, Seen(True, 1, REFUSED), now + 0.2)
            side = decision.side
            if decision.action == "end":
                break
            assert decision.action == "wait"
        now += 0.1
    assert decision.ended == "no_peer"
    assert starts == side.starts == 13
    assert 9 < now < 10


@pytest.mark.parametrize("text", ["", " Failed status 12: wr_id 0 syndrom 0x81\n", "IB device mlx5_0 not found\n", HEADER + ROW])
@pytest.mark.parametrize("status", [0, 1, 124, -9])
def test_whatever_else_a_client_ends_with_is_its_end(text: str, status: int) -> None:
    assert ended(running("client"), Seen(True, status, text), 0.5) == "exited"


def test_a_server_never_tries_again() -> None:
    assert ended(running("server"), Seen(True, 1, REFUSED), 0.5) == "exited"


@pytest.mark.parametrize("status", [126, 127])
def test_a_tool_that_is_not_there(status: int) -> None:
    assert ended(running("client"), Seen(True, status, ""), 0.1) == "not_found"
    gone = "numactl: execution of `ib_write_bw': No such file or directory\n"
    assert ended(running("server"), Seen(True, 1, gone), 0.1) == "not_found"


def test_silence_counts_from_the_meeting() -> None:
    side = running("client")
    assert decide(side, Seen(True, None, ""), 25.0).action == "wait"
    side = decide(side, Seen(True, None, TITLE + ADDRESSES), 28.0).side
    assert side.met == 28.0
    assert ended(side, Seen(True, None, TITLE + ADDRESSES + HEADER), 37.9) is None
    assert ended(side, Seen(True, None, TITLE + ADDRESSES + HEADER), 38.0) == "silent"


def test_a_row_that_comes_but_no_end() -> None:
    side = decide(running("client"), Seen(True, None, TITLE + ADDRESSES), 1.0).side
    assert ended(side, Seen(True, None, TITLE + ADDRESSES + HEADER + ROW), 11.0) == "deadline"
    assert sides.expired(side, "1000 iters in 4.22 seconds = 4216.15 usec/iter\n") == "deadline"


def test_a_client_that_is_never_answered() -> None:
    side = running("client", at=0.3)
    assert ended(side, Seen(True, None, ""), 29.9) is None
    assert ended(side, Seen(True, None, ""), 30.0) == "no_peer"
    late = started(side, 29.0)
    assert ended(late, Seen(True, None, ""), 38.9) is None
    assert ended(late, Seen(True, None, ""), 39.0) == "no_peer"


def test_a_server_waits_for_window_and_deadline() -> None:
    side = running("server")
    assert ended(side, Seen(True, None, BANNER), 39.9) is None
    assert ended(side, Seen(True, None, BANNER), 40.0) == "no_peer"


def test_a_slow_start_is_no_silence() -> None:
    side = decide(running("server"), Seen(True, None, BANNER), 39.0).side
    side = decide(side, Seen(True, None, BANNER + TITLE + ADDRESSES), 39.5).side
    assert ended(side, Seen(True, None, BANNER + TITLE + ADDRESSES), 49.4) is None
    assert ended(side, Seen(True, None, BANNER + TITLE + ADDRESSES), 49.5) == "silent"


@pytest.mark.parametrize(
    ("text", "met"),
    [("", False), (BANNER, False), (CM_SERVER, False), (CM_SERVER + ADDRESSES, True), (BANNER + TITLE, True), (TITLE, True)],
)
def test_what_shows_that_the_sides_have_met(text: str, met: bool) -> None:
    assert sides.has_met(text) == met


@pytest.mark.parametrize("side", [begin(step("client"), 0.0), running("client"), running("server")])
def test_an_absent_peer_and_a_gone_watcher_end_it_at_once(side: Side) -> None:
    assert ended(side, Seen(running=side.starts > 0, absent=True), 0.1) == "absent"
    assert ended(side, Seen(running=side.starts > 0, abandoned=True), 0.1) == "stopped"
    assert ended(side, Seen(running=side.starts > 0, absent=True, abandoned=True), 0.1) == "stopped"


def test_a_refused_client_does_not_wait_for_an_absent_peer() -> None:
    assert ended(running("client"), Seen(True, 1, REFUSED, absent=True), 0.5) == "absent"
    assert ended(running("client"), Seen(True, 1, REFUSED, abandoned=True), 0.5) == "stopped"


def test_a_test_that_is_over_keeps_its_result_when_the_peer_goes() -> None:
    assert ended(running("client"), Seen(True, 0, HEADER + ROW, absent=True), 5.0) == "exited"


@pytest.mark.parametrize("side", ["client", "server"])
def test_the_last_bound_is_later_than_any_limit(side: str) -> None:
    latest_start = 30.0 if side == "client" else 0.0
    late = decide(running(side, at=latest_start), Seen(True, None, TITLE), 39.9).side
    assert sides.limit_of(late) - latest_start <= sides.longest_life(step(side))
