# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A round plan as work for hosts: each host's own list of test sides, with command, port and time limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import TESTS, perftest_arguments
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import TEST as RC_PINGPONG
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import rc_pingpong_arguments

Record = Mapping[str, Any]
Step = dict[str, Any]

KNOWN_TESTS = (RC_PINGPONG, *TESTS)
# Whole numbers that tests take; perftest's own limits, and those of the fields in a packet.
RANGES = {
    "message_bytes": (1, 2**31),
    "queue_pairs": (1, 16384),
    "duration_s": (1, 86400),
    "iterations": (5, 2**32 - 1),
    "traffic_class": (0, 255),
}

# How many tests that ran into their deadline a host may lag behind before its partner gives it up.
# More would let the partner of a host that cannot start its side wait as long.
AWAITED_DEADLINES = 2


def plan_steps(
    plan: Record,
    rails_by_host: Mapping[str, Mapping[str, Record]],
    tests: Sequence[str | Record],
    options: Record,
    *,
    host_options: Mapping[str, Record] | None = None,
    first_round: int = 1,
) -> dict[str, list[Step]]:
    """``{host: [step]}`` in the order in which each host runs them.

    ``tests``: names, or dictionaries with ``test`` and options that differ for it; a pair runs them one after another.
    ``options``: those of ``perftest_arguments``, and ``port_first``, ``port_last``, ``start_window_s`` (how far apart hosts may start),
    ``deadline_s`` (of one test, start window not counted). ``host_options``: what each host has (``version``, ``has_numactl``).
    ``first_round``: number of the plan's first round in the whole verification. ``ValueError`` with one sentence for what cannot be run.
    """
    wanted = [_test_options(test, options) for test in tests]
    ports: Counter[str] = Counter()
    steps: dict[str, list[Step]] = {}
    turns = [(number, pairs, chosen) for number, pairs in enumerate(plan["rounds"], first_round) for chosen in wanted]
    for turn, (number, pairs, chosen) in enumerate(turns, 1):
        _check_ports(pairs, chosen)
        window = chosen["start_window_s"] + min(turn - 1, AWAITED_DEADLINES) * max(each["deadline_s"] for each in wanted)
        common = {"round": turn, "plan_round": number, "start_window_s": window, "deadline_s": chosen["deadline_s"]}
        for pair in pairs:
            port = _next_port(ports, pair["server"], chosen)
            for ends in _sides(pair, chosen["test"]):
                has = (host_options or {}).get(ends["host"], {})
                argv = _arguments(chosen, ends["side"], pair, rails_by_host, port, has)
                identity = f"{number}.{pair['rail']}.{pair['client']}>{pair['server']}.{chosen['test']}"
                steps.setdefault(ends["host"], []).append({"id": identity, **common, **ends, "argv": argv})
    return steps


def _sides(pair: Record, test: str) -> list[dict[str, str]]:
    common = {"rail": pair["rail"], "test": test}
    return [
        {**common, "side": "server", "host": pair["server"], "peer": pair["client"]},
        {**common, "side": "client", "host": pair["client"], "peer": pair["server"]},
    ]


def _test_options(test: str | Record, options: Record) -> dict[str, Any]:
    """The options of one test, checked."""
    chosen = {**options, **({"test": test} if isinstance(test, str) else test)}
    if chosen.get("test") not in KNOWN_TESTS:
        raise ValueError(f"The test {chosen.get('test')!r} is unknown; allowed are {', '.join(KNOWN_TESTS)}.")
    for name, (low, high) in RANGES.items():
        value = chosen.get(name)
        if value is not None and not (isinstance(value, int) and low <= value <= high):
            raise ValueError(f"The option {name} of {chosen['test']} is {value!r}; it must be a whole number from {low} to {high}.")
    for name in ("port_first", "port_last", "start_window_s", "deadline_s"):
        if not isinstance(chosen.get(name), (int, float)) or chosen[name] <= 0:
            raise ValueError(f"The option {name} of {chosen['test']} is {chosen.get(name)!r}; it must be a number above zero.")
    if chosen["port_last"] > 65535 or chosen["port_first"] > chosen["port_last"]:
        raise ValueError(
            f"The ports {chosen['port_first']} to {chosen['port_last']} are no range; give two ports up to 65535, the lower first."
        )
    if (chosen.get("duration_s") or 0) >= chosen["deadline_s"]:
        raise ValueError(
            f"{chosen['test']} runs {chosen['duration_s']} s, but its deadline is {chosen['deadline_s']} s; give it a later deadline."
        )
    return chosen


def _check_ports(pairs: Sequence[Record], options: Record) -> None:
    """At once each pair of a server needs a port of its own."""
    there = options["port_last"] - options["port_first"] + 1
    host, needed = Counter(pair["server"] for pair in pairs).most_common(1)[0] if pairs else ("", 0)
    if needed > there:
        ports = f"{options['port_first']} to {options['port_last']}"
        raise ValueError(f"{host} serves {needed} tests at once, but the ports {ports} are {there}; widen the range.")


def _next_port(ports: Counter[str], server: str, options: Record) -> int:
    """A server takes its ports in turn: a client that is early must not meet the server of the round before."""
    ports[server] += 1
    return int(options["port_first"]) + (ports[server] - 1) % (int(options["port_last"]) - int(options["port_first"]) + 1)


def _arguments(
    chosen: Record, side: str, pair: Record, rails_by_host: Mapping[str, Mapping[str, Record]], port: int, host_options: Record
) -> list[str]:
    rail = _rail(rails_by_host, pair[side], pair["rail"])
    address = _rail(rails_by_host, pair["server"], pair["rail"])["address"] if side == "client" else None
    options = {**chosen, **host_options}
    if chosen["test"] == RC_PINGPONG:
        return rc_pingpong_arguments(side, rail, address, port, options)
    return perftest_arguments(chosen["test"], side, rail, address, port, options)


def _rail(rails_by_host: Mapping[str, Mapping[str, Record]], host: str, name: str) -> Record:
    rail = rails_by_host.get(host, {}).get(name)
    if not rail or not rail.get("device") or not rail.get("address"):
        raise ValueError(f"{name} of {host} is planned for tests, but has no RDMA device or address; plan only rails that were resolved.")
    return rail
