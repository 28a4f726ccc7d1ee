# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller knows of a run while it watches: who answers, who is gone, how far it is, how long it will take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.run_plan import tell_count, tell_seconds

Record = Mapping[str, Any]

# One unanswered question may be the network's hiccup; a second one is a host that is gone.
MISSES_OF_A_GONE_HOST = 2
OVER = ("finished", "stopped", "died")


def watch(run: Record, before: Record, answers: Mapping[str, Record], elapsed_s: float) -> dict[str, Any]:
    """The state of the watch after all hosts were asked: ``over, absent, gone, misses, last, reasons, text``.

    ``run``: as planned. ``before``: the state before, empty at first. ``answers``: what ``test_run`` (at first) or ``test_run_info`` gave a
    host. ``absent``: hosts whose tests are not to be waited for. ``gone``: hosts that are asked no more. ``reasons``: why, by host.
    """
    told = {host: {key: answer[key] for key in ("state", "progress")} for host, answer in answers.items() if answer.get("state")}
    last = {**before.get("last", {}), **told}
    misses = dict(before.get("misses", {}))
    reasons = dict(before.get("reasons", {}))
    for host in run["steps"]:
        if host in before.get("gone", ()):
            continue
        answer = answers.get(host, {})
        reason = _miss(run, answer, elapsed_s) if before else _start_failure(answer)
        misses[host] = misses.get(host, 0) + 1 if reason else 0
        if reason and (not before or misses[host] >= MISSES_OF_A_GONE_HOST):
            reasons[host] = reason
    gone = sorted(reasons)
    ended_early = [host for host, answer in last.items() if answer["state"] in ("stopped", "died")]
    reasons_of_all = {**{host: f"its run {last[host]['state']}" for host in ended_early}, **reasons}
    waiting = [host for host in run["steps"] if host not in gone and last.get(host, {}).get("state") not in OVER]
    state = {
        "over": not waiting or elapsed_s > run["limit_s"],
        "gone": gone,
        "absent": sorted(reasons_of_all),
        "misses": misses,
        "last": last,
        "reasons": reasons_of_all,
    }
    return {**state, "text": tell_progress(run, state, elapsed_s)}


def tell_progress(run: Record, state: Record, elapsed_s: float) -> str:
    """Round, tests done, failures so far, time left, hosts that are gone: one line."""
    known = [answer["progress"] for answer in state["last"].values() if answer.get("progress")]
    done, failed = (sum(progress[key] for progress in known) for key in ("clients_done", "clients_failed"))
    turn = min((progress["round"] for progress in known if not progress.get("finished")), default=run["turns"])
    current = math.ceil(turn * run["rounds"] / max(run["turns"], 1))
    parts = [
        f"round {current} of {run['rounds']}" if known else "starting",
        f"{done} of {tell_count(run['tests'], 'test')} done",
        f"{failed} failed",
    ]
    if state["absent"]:
        parts.append(f"absent: {', '.join(state['absent'][:8])}{' …' if len(state['absent']) > 8 else ''}")
    if state["over"]:
        return ", ".join([*parts, f"over after {tell_seconds(elapsed_s)}"])
    left = _left(run, done, elapsed_s)
    return ", ".join([*parts, f"about {tell_seconds(left)} left" if left > 0 else "longer than predicted"])


def _left(run: Record, done: int, elapsed_s: float) -> float:
    """At first the prediction counts, then more and more the speed so far."""
    predicted = run["predicted_s"]
    share = done / run["tests"] if run["tests"] else 1.0
    measured = elapsed_s / share if share else predicted
    return float(share * measured + (1 - share) * max(predicted, elapsed_s) - elapsed_s)


def _start_failure(answer: Record) -> str | None:
    return None if answer.get("ansible_job_id") else f"could not be started: {_message(answer)}"


def _miss(run: Record, answer: Record, elapsed_s: float) -> str | None:
    if answer.get("unreachable") or answer.get("failed") or not answer.get("state"):
        return f"did not answer: {_message(answer)}"
    if answer["state"] == "none" and elapsed_s > run["start_s"]:
        return "its run did not start"
    return None


def _message(answer: Record) -> str:
    return (str(answer.get("msg") or "no answer").strip() or "no answer").splitlines()[0][:200]
