# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's list of test sides: its rounds, what became of them, and whether anybody still watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Step = dict[str, Any]

KEPT_RUNS = 5
NEEDED_KEYS = frozenset({"id", "round", "side", "host", "peer", "argv", "start_window_s", "deadline_s"})


def check_steps(steps: Sequence[Step]) -> None:
    """Raise ValueError with a sentence for a list that cannot be run."""
    if not steps:
        raise ValueError("steps is empty: a host without tests needs no run")
    for number, step in enumerate(steps):
        missing = NEEDED_KEYS - step.keys()
        if missing:
            raise ValueError(f"steps[{number}] lacks {', '.join(sorted(missing))}: give what the filter rdma.k8s.test_steps returns")
        if step["side"] not in ("client", "server"):
            raise ValueError(f"steps[{number}].side is {step['side']!r}: allowed are client and server")
    [((identity, side), times)] = Counter((step["id"], step["side"]) for step in steps).most_common(1)
    if times > 1:
        raise ValueError(f"steps holds {identity} ({side}) twice")


def rounds_of(steps: Iterable[Step]) -> list[list[Step]]:
    """Group the steps by round, in order."""
    rounds: dict[int, list[Step]] = {}
    for step in steps:
        rounds.setdefault(step["round"], []).append(step)
    return [rounds[number] for number in sorted(rounds)]


class Watch:
    """Notices that nobody watches any more: the heartbeat's stamp has not changed for the grace time."""

    def __init__(self, grace_s: float, stamp: object, now: float) -> None:
        self._grace_s, self._stamp, self._since = grace_s, stamp, now

    def is_lost(self, stamp: object, now: float) -> bool:
        """Take note of the stamp, and tell whether it is too old."""
        if stamp != self._stamp:
            self._stamp, self._since = stamp, now
        return now - self._since > self._grace_s


def has_failed(result: Mapping[str, Any]) -> bool:
    """Tell whether a side did not end well."""
    return bool(result["ended"] != "exited" or result["exit_status"])


class Tally:
    """Counts how far a run is."""

    def __init__(self, rounds: Sequence[Sequence[Step]]) -> None:
        self._rounds = rounds
        self._over: set[tuple[str, str]] = set()
        self._failed: set[tuple[str, str]] = set()

    def add(self, result: Mapping[str, Any]) -> None:
        """Count a side that is over."""
        side = (result["id"], result["side"])
        self._over.add(side)
        if has_failed(result):
            self._failed.add(side)

    def progress(self, index: int) -> dict[str, Any]:
        """Counts of sides, and of clients, which count tests once over all hosts; the ids that are not over in the round of this index."""
        current = self._rounds[index] if index < len(self._rounds) else []
        return {
            "round": self._rounds[min(index, len(self._rounds) - 1)][0]["round"],
            "steps": sum(map(len, self._rounds)),
            "done": len(self._over),
            "failed": len(self._failed),
            "clients_done": _clients(self._over),
            "clients_failed": _clients(self._failed),
            "running": [step["id"] for step in current if (step["id"], step["side"]) not in self._over],
        }


def _clients(sides: Iterable[tuple[str, str]]) -> int:
    return sum(side == "client" for _id, side in sides)


def result_of(
    step: Mapping[str, Any], ended: str | None, exit_status: int | None, starts: int, times: tuple[float, float], output: str
) -> dict[str, Any]:
    """The record of a side that is over. ``times``: when its host came to it and when it ended, in that host's epoch seconds."""
    command = " ".join(step["argv"])
    ending = {"exit_status": exit_status, "starts": starts, "ended": ended, "command": command, "output": as_text(output)}
    return {**step, "started": times[0], "finished": times[1], **ending}


def as_text(output: str) -> str:
    """Output with bytes that are no UTF-8 replaced: JSON must carry it."""
    return output.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def runs_to_remove(started_by_run: Mapping[str, float], keep: int = KEPT_RUNS) -> list[str]:
    """Names of the oldest runs, beyond those that are kept."""
    newest_first = sorted(started_by_run, key=lambda name: (started_by_run[name], name), reverse=True)
    return newest_first[keep:]


def start_ticks(stat: str | None) -> str | None:
    """When a process was started, from ``/proc/PID/stat``: with its number this is an identity. None where there is no such process."""
    # The command's name may hold blanks and brackets; what follows its last bracket does not.
    fields = (stat or "").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in ("Z", "X") else None


def state_of(progress: Mapping[str, Any], ticks: str | None) -> str:
    """State of a run: ``ticks`` is when the process with its number was started now, None where there is none."""
    if progress["finished"]:
        return "stopped" if progress["stopped"] else "finished"
    return "running" if ticks == progress["ticks"] and ticks is not None else "died"
