# SPDX-License-Identifier: GPL-3.0-or-later
"""ibv_rc_pingpong's report: recorded outputs, damaged outputs, noise."""

from __future__ import annotations

import contextlib
import json
import pathlib
import random

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.perftest import same_run
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import PerftestError
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import parse_rc_pingpong

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "ibv_rc_pingpong"
GOOD = FIXTURES / "44.0_rxe_ibv_rc_pingpong.txt"


def refused(text: str) -> str:
    with pytest.raises(PerftestError) as caught:
        parse_rc_pingpong(text)
    return caught.value.reason


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.txt")), ids=lambda path: path.stem)
def test_recorded_output(path: pathlib.Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    if "result" in expected:
        assert parse_rc_pingpong(path.read_text(), expected.get("command")) == expected["result"]
    else:
        assert refused(path.read_text()) == expected["error"]["reason"]


def test_the_two_sides_belong_together() -> None:
    client, server = parse_rc_pingpong(GOOD.read_text()), parse_rc_pingpong(GOOD.with_name(GOOD.stem + "_server.txt").read_text())
    assert [end["gid"] for end in (client["local"][0], client["remote"][0])] == ["192.0.2.11", "192.0.2.12"]
    assert same_run(client, server)


def test_transport_retries_exceeded() -> None:
    text = GOOD.read_text()
    head = text[: text.index("8192000")]
    with pytest.raises(PerftestError) as caught:
        parse_rc_pingpong(head + "Failed status transport retry counter exceeded (12) for wr_id 2\nparse WC failed 1\n")
    assert (caught.value.reason, caught.value.outcome) == ("transport_retry_exceeded", "dead")


def test_damage_gives_an_error_never_a_number() -> None:
    text = GOOD.read_text()
    end = text.index("usec/iter") + len("usec/iter")
    for position in range(end):
        assert refused(text[:position])
    assert refused(text + text) == "doubled"
    assert refused(text.replace("4216.15", "0.00")) == "zero"
    assert refused(text.replace("4216.15", "216.15")) == "inconsistent"
    assert refused(text.replace("4216.15", "nan")) == "no_row"
    assert refused(text.replace("4216.15", "4216,15")) == "no_row"
    assert refused(text.replace("::ffff:192.0.2.11", "::ffff:192.0.2.311")) == "damaged"
    assert refused(text[text.index("8192000") :]) == "damaged"
    assert refused(text[: text.index("8192000")]) == "no_row"
    assert refused("") == "no_result"


def test_noise_gives_only_the_documented_error() -> None:
    seeded = random.Random(7)
    for _round in range(300):
        text = list(GOOD.read_text())
        for _change in range(seeded.randrange(1, 20)):
            position = seeded.randrange(len(text))
            text[position : position + seeded.randrange(0, 9)] = "".join(
                seeded.choices("0123456789.,: \n\x1b\x00aQGü€", k=seeded.randrange(0, 9))
            )
        with contextlib.suppress(PerftestError):
            assert parse_rc_pingpong("".join(text))["round_trip_us"] > 0
