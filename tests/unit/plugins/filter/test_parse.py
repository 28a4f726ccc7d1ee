# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers as filters: what a template gets."""

from __future__ import annotations

import pathlib

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.filter import parse_perftest, parse_rc_pingpong

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
DOORS = {**parse_perftest.FilterModule().filters(), **parse_rc_pingpong.FilterModule().filters()}


def test_data_comes_through() -> None:
    text = (FIXTURES / "perftest/4.5-0.17_rxe_bw_tap_snap.txt").read_text()
    assert DOORS["parse_perftest"](text)["rows"][0]["average_gbit_s"] == 0.21
    assert DOORS["parse_perftest"](text, "ib_write_bw")["test"] == "ib_write_bw"
    text = (FIXTURES / "ibv_rc_pingpong/44.0_rxe_ibv_rc_pingpong.txt").read_text()
    assert DOORS["parse_rc_pingpong"](text)["round_trip_us"] == 4216.15


@pytest.mark.parametrize("name", sorted(DOORS))
def test_a_refusal_is_one_sentence_with_its_reason(name: str) -> None:
    with pytest.raises(AnsibleFilterError, match=r"server not reachable on 192\.0\.2\.10:18515: .* \(no_server\)"):
        DOORS[name]("Couldn't connect to 192.0.2.10:18515\n")
