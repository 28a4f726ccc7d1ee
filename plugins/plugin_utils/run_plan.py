# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over all hosts: each host's list, how long it will take, how often to ask, when to give up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.steps import RANGES, plan_steps

Record = Mapping[str, Any]

# Beside its duration a test needs time to start, meet and end; with iterations it is short on real links.
START_S = 3.0
ITERATIONS_S = 2.0
# What asking one host takes on a controller that is busy, a share of the forks.
CALL_S = 2.0
MOST_POLLS = 60
SHORTEST_POLL_S = 6.0
# Polls that may be missed before a run ends itself.
MISSED_POLLS = 3


def round_seconds(tests: Sequence[str | Record], options: Record) -> float:
    """Seconds that one round is expected to take. ``test_s`` in the options overrides what one test takes."""
    each = [{**options, **({} if isinstance(test, str) else test)} for test in tests]
    return float(sum(one.get("test_s") or START_S + (_duration(one) or ITERATIONS_S) for one in each))


def plan_run(
    rounds: Sequence[Sequence[Record]],
    hosts: Mapping[str, Record],
    tests: Sequence[str | Record],
    options: Record,
    first_round: int = 1,
    forks: int = 5,
) -> dict[str, Any]:
    """``steps, tests, rounds, turns, predicted_s, poll_s, start_s, grace_s, limit_s, text``.

    ``hosts``: ``{host: {rails: {name: resolved rail}, tools: {name: version}}}``. ``options``: those of the filter ``test_steps`` with
    ``port_count`` in place of ``port_last``, ``deadline_s`` not counting a test's duration, and ``grace_s``.
    ``turns``: what hosts count as rounds, one test of each pair. ``start_s``: seconds within which each host must have begun.
    ``limit_s``: after that many seconds no host can still be at it.
    ValueError with a sentence for what cannot be run.
    """
    calls_s = CALL_S * math.ceil(len(hosts) / max(forks, 1))
    chosen = [_chosen(test, options, calls_s) for test in tests]
    rails = {host: known["rails"] for host, known in hosts.items()}
    has = {host: _host_options(known.get("tools") or {}) for host, known in hosts.items()}
    steps = plan_steps({"rounds": rounds}, rails, chosen, {}, host_options=has, first_round=first_round)
    predicted = len(rounds) * round_seconds(tests, options) + calls_s
    poll = math.ceil(max(SHORTEST_POLL_S, predicted / MOST_POLLS))
    grace = max(float(options["grace_s"]), MISSED_POLLS * (poll + calls_s))
    longest = max((sum(step["start_window_s"] + 2 * step["deadline_s"] for step in own) for own in steps.values()), default=0)
    count = sum(map(len, rounds)) * len(tests)
    return {
        "steps": steps,
        "tests": count,
        "rounds": len(rounds),
        "turns": len(rounds) * len(tests),
        "predicted_s": round(predicted, 1),
        "poll_s": poll,
        "start_s": math.ceil(options["start_window_s"] + calls_s),
        "grace_s": math.ceil(grace),
        "limit_s": math.ceil(longest + grace),
        "text": f"{tell_count(count, 'test')} in {tell_count(len(rounds), 'round')}, about {tell_seconds(predicted)}",
    }


def find_problems(tests: object, options: Record, numbers: Record | None = None) -> list[str]:
    """Sentences about what cannot be meant. ``numbers``: what the user gave where a whole number is wanted, by the variable's name."""
    problems = [
        f"{name} is {value!r}; it must be a whole number, without a unit."
        for name, value in (numbers or {}).items()
        if value is not None and (isinstance(value, bool) or not str(value).isdecimal())
    ]
    if not isinstance(tests, (list, tuple)) or not tests or not all(isinstance(test, (str, Mapping)) for test in tests):
        allowed = "a list of names of tests, or of dictionaries with test and its options"
        return [*problems, f"verify_perftest_tests is {tests!r}; it must be {allowed}."]
    if problems:
        return problems
    rail = {"name": "rail0", "device": "any", "port": 1, "address": "192.0.2.1", "gid_index": 1}
    hosts = {name: {"rails": {"rail0": rail}} for name in ("client", "server")}
    try:
        plan_run([[{"rail": "rail0", "client": "client", "server": "server"}]], hosts, list(tests), options)
    except ValueError as error:
        return [str(error)]
    return []


def tell_count(count: int, noun: str) -> str:
    """``1 round``, ``2 rounds``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def tell_seconds(seconds: float) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _duration(options: Record) -> float:
    return 0.0 if options.get("iterations") else float(options.get("duration_s") or 0)


def _chosen(test: str | Record, options: Record, calls_s: float) -> dict[str, Any]:
    """The options of one test: iterations win over a duration, hosts may start as far apart as the controller starts them."""
    one = {**options, **({"test": test} if isinstance(test, str) else test)}
    allowed = dict.fromkeys((*RANGES, *options))
    unknown = [name for name in one if name != "test" and name not in allowed]
    if unknown:
        raise ValueError(f"The test {one.get('test')} has the unknown option {unknown[0]}; allowed are {', '.join(allowed)}.")
    duration = _duration(one)
    return {
        **one,
        "duration_s": round(duration) or None,
        "port_last": one["port_first"] + one["port_count"] - 1,
        "deadline_s": one["deadline_s"] + duration,
        "start_window_s": one["start_window_s"] + calls_s,
    }


def _host_options(tools: Record) -> dict[str, Any]:
    return {"version": tools.get("ib_write_bw"), "has_numactl": "numactl" in tools}
