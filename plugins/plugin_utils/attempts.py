# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both sides of each test joined: what was measured, or why not and whose doing it was. Text alone is never trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest import parse_perftest, same_run
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import DAMAGED, DEAD, FAILED, PerftestError, find_error
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import TEST as RC_PINGPONG
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import parse_rc_pingpong
from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import METRICS

Record = Mapping[str, Any]
Sides = Mapping[str, Record | None]
Attempt = dict[str, Any]

# What a side says when the other one is at fault, or when it only says that nothing came.
FOLLOW_UPS = ("peer_gone", "no_server", "no_row", "empty", "no_table", "tool", "cut", "no_result")
# What a side says about its own host; other errors can come from either.
OWN = (
    *("unknown_option", "bad_arguments", "gid_index_range", "no_device", "port_in_use", "port_down"),
    *("memory_registration", "no_gpu_memory_path", "no_dmabuf"),
)
# A port that is down is the fabric's doing, whichever side says so first.
OUTCOMES = {"port_down": DEAD}
CONNECTION = (
    "check that the link is up on both hosts, that each rail's address is right, the route between them and filters on the TCP port"
)
PATH = "check cable and switch port, the MTU along the path, PFC, and filters on UDP 4791"


def join_attempts(
    steps_by_host: Mapping[str, Iterable[Record]],
    results_by_host: Mapping[str, Iterable[Record]],
    absent_hosts: Mapping[str, str] | None = None,
) -> list[Attempt]:
    """One attempt a test (docs/architecture.md), in the order of the rounds. ``absent_hosts``: why, by host."""
    results = {(result["host"], result["id"]): result for row in results_by_host.values() for result in row}
    steps: dict[str, dict[str, Record]] = {}
    for row in steps_by_host.values():
        for step in row:
            steps.setdefault(step["id"], {})[step["side"]] = step
    ordered = sorted(steps.values(), key=lambda sides: int(sides["client"]["plan_round"]))
    return [
        _join(sides["client"], {side: results.get((sides[side]["host"], sides[side]["id"])) for side in sides}, absent_hosts or {})
        for sides in ordered
    ]


def _join(step: Record, results: Sides, absent_hosts: Mapping[str, str]) -> Attempt:
    """``step`` is the client's."""
    ends = {"client": step["host"], "server": step["peer"]}
    found = _absence(results, ends, absent_hosts) or _obstacle(results, ends)
    measurements: list[Attempt] = []
    if not found:
        try:
            measurements = _measure(step, results)
        except PerftestError as error:
            found = _explain(error, step, results, ends)
    return {
        **{key: step[key] for key in ("id", "rail", "test")},
        "round": step["plan_round"],
        **ends,
        "direction": direction(step),
        "measurements": measurements,
        **(found or _outcome("measured", None)),
        "evidence": {
            side: result and {key: result.get(key) for key in ("command", "output", "ended", "exit_status")}
            for side, result in results.items()
        },
    }


def direction(step: Record) -> str:
    """Which way a test moves data, seen from its client."""
    if "-b" in step["argv"]:
        return "both"
    return "receive" if step["test"].startswith("ib_read_") else "send"


def _outcome(outcome: str, cause: str | None, remedy: str | None = None, blamed: str | None = None) -> Attempt:
    return {"outcome": outcome, "cause": cause, "remedy": remedy, "blamed": blamed}


def _absence(results: Sides, ends: Mapping[str, str], absent_hosts: Mapping[str, str]) -> Attempt | None:
    """A side without result, or one that was told that its peer is gone."""
    gone = [ends[side] for side in ends if results[side] is None]
    gone += [ends["server" if side == "client" else "client"] for side in ends if (results[side] or {}).get("ended") == "absent"]
    if not gone:
        return None
    host = next((host for host in gone if host in absent_hosts), gone[0])
    reason = absent_hosts.get(host, "no result came from it").rstrip(".")
    return _outcome("absent", f"{host} did not take part: {reason}.", "see why it was unreachable or ended early, then verify again", host)


def _obstacle(results: Sides, ends: Mapping[str, str]) -> Attempt | None:
    """What kept a tool from running at all."""
    for side, host in ends.items():
        result = results[side] or {}
        if result.get("ended") == "not_found":
            return _outcome(FAILED, f"{host} has no {result['test']}.", "install the package perftest or rdma-core's utilities there", host)
        if result.get("ended") == "stopped":
            return _outcome(FAILED, f"The run on {host} stopped itself because the controller had gone.", "verify again", None)
    return None


def _measure(step: Record, results: Sides) -> list[Attempt]:
    """Measurements of the client, when both sides ended well and agree. Raises PerftestError."""
    client, server = results["client"] or {}, results["server"] or {}
    parsed = _parse(step["test"], client)
    for side, result in (("server", server), ("client", client)):
        if result.get("ended") != "exited" or result.get("exit_status") != 0:
            what = f"{side} ended with {_ending(result)} although the client printed a result"
            raise _fault(result) or PerftestError("exit_status", what, remedy="run the test again")
    if not _same_run(step["test"], parsed, server):
        raise PerftestError("other_run", "the two sides printed the addresses of different runs", remedy="run the test again")
    rows = parsed.get("rows", [{**parsed, "message_bytes": None}])
    labels = {
        "host": step["host"],
        "peer": step["peer"],
        "rail": step["rail"],
        "direction": direction(step),
        "test": step["test"],
        "side": "client",
    }
    return [
        {"metric": f"{step['test']}.{name}", "value": value, "labels": {**labels, "message_bytes": row["message_bytes"]}}
        for row in rows
        for name, value in row.items()
        if value is not None and f"{step['test']}.{name}" in METRICS
    ]


def _parse(test: str, result: Record) -> dict[str, Any]:
    parse = parse_rc_pingpong if test == RC_PINGPONG else parse_perftest
    return parse(result.get("output") or "", result.get("command"))


def _same_run(test: str, client: dict[str, Any], server: Record) -> bool:
    """False where both sides printed addresses that do not fit. Some servers print none, or no table."""
    try:
        other = _parse(test, {**server, "command": ""})
    except PerftestError as error:
        if error.reason in FOLLOW_UPS:
            return True
        raise
    if test == RC_PINGPONG:
        return bool(client["local"] == other["remote"] and client["remote"] == other["local"])
    return same_run(client, other) or not client["local"]


def _fault(result: Record) -> PerftestError | None:
    return find_error(result.get("output") or "", result.get("command") or "")


def _ending(result: Record) -> str:
    return f"exit status {result.get('exit_status')}" if result.get("ended") == "exited" else f"{result.get('ended')}"


def _explain(error: PerftestError, step: Record, results: Sides, ends: Mapping[str, str]) -> Attempt:
    """The root cause: a text that names one (the client's before the server's), else how the sides ended."""
    faults = {side: _fault(results[side] or {}) for side in ends}
    for host, fault in ((ends["client"], faults["client"]), (ends["server"], faults["server"]), (None, error)):
        if fault and fault.reason not in FOLLOW_UPS:
            cause = f"{host}: {fault.cause}." if host else f"{fault.cause}."
            outcome = OUTCOMES.get(fault.reason, fault.outcome)
            return _outcome(outcome, cause, fault.remedy or None, host if fault.reason in OWN else None)
    client, server = results["client"] or {}, results["server"] or {}
    endings = {str(client.get("ended")), str(server.get("ended"))}
    if client.get("ended") == "no_peer" or (faults["client"] and faults["client"].reason == "no_server"):
        return _unmet(step, client, server)
    if "silent" in endings:
        return _outcome(DEAD, f"Silence: the two sides met over TCP, but no RDMA data arrived within {step['deadline_s']:g} s.", PATH)
    if "deadline" in endings:
        return _outcome(DEAD, f"The test did not end within its deadline of {step['deadline_s']:g} s.", PATH)
    fault = faults["client"] or faults["server"] or error
    return _outcome(
        fault.outcome, f"{_ending(client)} at {ends['client']}, {_ending(server)} at {ends['server']}: {fault.cause}.", fault.remedy or None
    )


def _unmet(step: Record, client: Record, server: Record) -> Attempt:
    """The client never got through. Only where both sides were there at the same time does that speak against the fabric."""
    if server.get("ended") == "exited" and server.get("exit_status") == 0:
        return _outcome(
            DAMAGED, f"{step['host']} never reached {step['peer']}, where the test ended well with somebody else.", "verify again"
        )
    times: list[Any] = [client.get("started"), server.get("started"), client.get("finished"), server.get("finished")]
    if None in times or max(map(float, times[:2])) >= min(map(float, times[2:])):
        cause = f"{step['host']} and {step['peer']} were not ready within the same start window of {step['start_window_s']:g} s."
        return _outcome(FAILED, cause, "verify again, with a longer start window if that happens often")
    cause = f"{step['host']} could not connect to {step['peer']} on {step['rail']} by TCP, although both sides ran."
    return _outcome(DEAD, cause, CONNECTION)
