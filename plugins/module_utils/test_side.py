# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One side of one test: when to start it, when to wait, when it is over and how it ended. Times are seconds of a clock nobody sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import find_error

# A client that starts together with its server is refused; a moment saves it a second start.
CLIENT_DELAY_S = 0.3
RETRY_S = 0.5

# What `timeout`, `stdbuf` and `taskset` give where there is nothing to run.
NOT_FOUND = (126, 127)

_ROW = re.compile(r"^\s*\d+\s+\d+\s+\d+\.\d+|usec/iter$", re.MULTILINE)
_HEADER = re.compile(r"^\s*(?:RDMA_Write|RDMA_Read|Send|Atomic).* Test\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Side:
    """One side of one test as it goes. ``began``: when its host came to the round; ``met``: when the tool had reached its peer."""

    step: Mapping[str, Any]
    began: float
    next_start: float
    starts: int = 0
    started: float | None = None
    met: float | None = None


class Seen(NamedTuple):
    """What can be seen of a side: whether its tool runs, how it ended, what it printed, whether its peer is gone or nobody watches."""

    running: bool = False
    exit_status: int | None = None
    output: str = ""
    absent: bool = False
    abandoned: bool = False


class Decision(NamedTuple):
    """The side as it is now, and ``start``, ``wait``, or ``end`` with how it ended."""

    side: Side
    action: str
    ended: str | None = None


def begin(step: Mapping[str, Any], now: float) -> Side:
    """The side as its host comes to its round: a server starts at once."""
    return Side(step=step, began=now, next_start=now + (CLIENT_DELAY_S if step["side"] == "client" else 0))


def started(side: Side, now: float) -> Side:
    """The side after its tool was started."""
    return replace(side, starts=side.starts + 1, started=now, met=None)


def decide(side: Side, seen: Seen, now: float) -> Decision:
    """Say what to do with a side now."""
    if seen.exit_status is not None:
        return _after_exit(side, seen, now)
    if seen.abandoned or seen.absent:
        return Decision(side, "end", "stopped" if seen.abandoned else "absent")
    if not seen.running:
        return Decision(side, "start" if now >= side.next_start else "wait")
    if side.met is None and has_met(seen.output):
        side = replace(side, met=now)
    if now >= limit_of(side):
        return Decision(side, "end", expired(side, seen.output))
    return Decision(side, "wait")


def limit_of(side: Side) -> float:
    """When a running tool is ended. The deadline counts from the meeting; before it, both sides are owed the start window."""
    window, deadline = side.step["start_window_s"], side.step["deadline_s"]
    if side.met is not None:
        return float(side.met + deadline)
    if side.step["side"] == "client" and side.started is not None:
        return float(max(side.began + window, side.started + deadline))
    return float(side.began + window + deadline)


def longest_life(step: Mapping[str, Any]) -> float:
    """Seconds after which a tool is ended even when its runner is dead."""
    return float(step["start_window_s"] + 2 * step["deadline_s"])


def expired(side: Side, output: str) -> str:
    """How a tool ended whose time is over: with a row it only did not finish; silence comes after the meeting."""
    if _ROW.search(output):
        return "deadline"
    return "silent" if side.met is not None or has_met(output) else "no_peer"


def has_met(output: str) -> bool:
    """Tell whether the tool has reached its peer: it prints the peer's address, or its header (a server of rdma_cm does that before)."""
    return "remote address:" in output or bool(_HEADER.search(output) and "Waiting for client rdma_cm" not in output)


def _after_exit(side: Side, seen: Seen, now: float) -> Decision:
    error = find_error(seen.output)
    if seen.exit_status in NOT_FOUND or (error and error.reason == "not_found"):
        return Decision(side, "end", "not_found")
    if side.step["side"] == "server" or not error or not error.retry:
        return Decision(side, "end", "exited")
    if seen.abandoned or seen.absent:
        return Decision(side, "end", "stopped" if seen.abandoned else "absent")
    if now + RETRY_S >= side.began + side.step["start_window_s"]:
        return Decision(side, "end", "no_peer")
    return Decision(replace(side, next_start=now + RETRY_S, started=None), "wait")
