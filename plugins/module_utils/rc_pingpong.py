# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ibv_rc_pingpong: command line, and text → round trip time."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import pinned
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import FAILED, PerftestError, find_error

TEST = "ibv_rc_pingpong"

_ADDRESS = re.compile(
    r"^ *(?P<end>local|remote) address: +LID (?P<lid>0x[0-9a-f]+), QPN (?P<qpn>0x[0-9a-f]+), PSN (?P<psn>0x[0-9a-f]+), GID (?P<gid>\S+)$",
    re.MULTILINE,
)
_RATE = re.compile(r"^(?P<bytes>\d+) bytes in (?P<seconds>[\d.]+) seconds = (?P<mbit_s>\d+\.\d+) Mbit/sec$", re.MULTILINE)
_TIME = re.compile(r"^(?P<iterations>\d+) iters in (?P<seconds>[\d.]+) seconds = (?P<us>\d+\.\d+) usec/iter$", re.MULTILINE)


def rc_pingpong_arguments(side: str, rail: Mapping[str, Any], peer_address: str | None, port: int, options: Mapping[str, Any]) -> list[str]:
    """Return the command line of one side; of the options of perftest it has ``has_numactl`` and ``iterations``.

    Raises ValueError with a sentence for what cannot be.
    """
    if side not in ("client", "server"):
        raise ValueError(f"side {side!r}: allowed are client and server")
    if side == "client" and not peer_address:
        raise ValueError(f"{TEST}: the client needs the server's address on rail {rail['name']}")
    words = [TEST, "-d", str(rail["device"]), "-i", str(rail["port"])]
    if rail.get("gid_index") is not None:
        words += ["-g", str(rail["gid_index"])]
    if options.get("iterations"):
        words += ["-n", str(options["iterations"])]
    words += ["-p", str(port)]
    return pinned([*words, *([str(peer_address)] if side == "client" else [])], rail, options)


def parse_rc_pingpong(text: str, command: str | None = None) -> dict[str, Any]:
    """Return ``round_trip_us, iterations, bytes`` (both directions), ``rate_mbit_s``, and as lists of one ``local`` and ``remote``.

    Raises PerftestError with a reason where the text holds no such result.
    """
    text = text.replace("\r\n", "\n")
    known = find_error(text, command or "")
    if known:
        raise known
    ends = [(found["end"], _address(found)) for found in _ADDRESS.finditer(text)]
    rates, times = list(_RATE.finditer(text)), list(_TIME.finditer(text))
    if [end for end, _values in ends] != ["local", "remote"] or max(len(rates), len(times)) > 1:
        raise _refusal(len(ends), len(rates))
    if not rates or not times:
        raise PerftestError("no_row", "the run printed addresses, but no result", "see whether it was killed", FAILED)
    rate, time = rates[0], times[0]
    result = {
        "test": TEST,
        "round_trip_us": float(time["us"]),
        "iterations": int(time["iterations"]),
        "bytes": int(rate["bytes"]),
        "rate_mbit_s": float(rate["mbit_s"]),
        "local": [ends[0][1]],
        "remote": [ends[1][1]],
    }
    _check(result)
    return result


def _address(found: re.Match[str]) -> dict[str, str]:
    try:
        gid = ipaddress.IPv6Address(found["gid"])
    except ValueError:
        raise PerftestError("damaged", f"the GID {found['gid'][:80]!r} is no address", "run it again") from None
    return {"lid": found["lid"], "qpn": found["qpn"], "psn": found["psn"], "gid": str(gid.ipv4_mapped or gid)}


def _refusal(addresses: int, results: int) -> PerftestError:
    if max(addresses // 2, results) > 1:
        return PerftestError("doubled", "two runs in one text", "run it again")
    if results:
        return PerftestError("damaged", "a result without both addresses", "run it again")
    return PerftestError("no_result", "the text holds no result of ibv_rc_pingpong", "read the output", FAILED)


def _check(result: Mapping[str, Any]) -> None:
    """Bytes, iterations, time and rate say the same twice; where they differ a digit was lost."""
    if not result["round_trip_us"] or not result["bytes"]:
        raise PerftestError("zero", "the result is zero", "run it again")
    bits_per_us = result["bytes"] * 8 / result["iterations"] / result["round_trip_us"]
    if abs(bits_per_us - result["rate_mbit_s"]) > max(0.01, 0.01 * bits_per_us):
        raise PerftestError(
            "inconsistent", f"{result['rate_mbit_s']} Mbit/s and {result['round_trip_us']} us/iter do not fit", "run it again"
        )
