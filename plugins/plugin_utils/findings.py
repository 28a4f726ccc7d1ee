# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about the fabric: which host, rail, direction or pair is at fault, in sentences, with values and evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.ends import BAD, Flow, Picture
from ansible_collections.rdma.k8s.plugins.plugin_utils.judge import worst
from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import METRICS

Record = Mapping[str, Any]
Finding = dict[str, Any]

KEPT_EVIDENCE = 8
NAMED_PEERS = 3

REMEDIES = {
    "dead": "check cable, link and switch port of {where}, then its address, GID index and MTU, and filters on UDP 4791",
    "dead_rails": "see whether cables or netdevs of the dead rails are swapped; check link, address, GID index and MTU of {where}",
    "send": "on {where} look at rate limits (tc), the PCIe slot's width and speed and the CPU governor, at the switch port for pauses",
    "receive": "look at the switch port of {where} for drops and ECN marks, at the card for discards, and at its PCIe slot and NUMA node",
    "both": "on {where} look at negotiated link rate, PCIe width and speed, MTU and cable errors, then at the switch port",
    "pair": "look at the switches and links between the two hosts, and at the route in each direction",
    "two_hosts": "verify with a third host on the rail, which then tells the two apart",
    "rounds": "allow more rounds for re-tests, or test the two hosts with other partners",
    "rail": "look at the switch of {where} and at what all its hosts share (MTU, PFC); if the values are right, set verify_thresholds",
    "intermittent": "repeat the test over a longer time, and watch the error counters of both ports meanwhile",
}


def make_finding(outcome: str, scope: str, cause: str, remedy: str, evidence: Iterable[str] = (), **known: object) -> Finding:
    """A finding with all its fields; what is not known is ``None``."""
    fields: Finding = {name: known.get(name) for name in ("host", "peer", "rail", "direction", "test", "metric", "value", "threshold")}
    names = [str(part) for part in (scope, fields["host"], fields["peer"], fields["rail"], fields["direction"], fields["test"]) if part]
    kept = list(dict.fromkeys(evidence))[:KEPT_EVIDENCE]
    return {"id": ".".join(names), "outcome": outcome, "scope": scope, **fields, "cause": cause, "remedy": remedy, "evidence": kept}


def fabric_findings(picture: Picture) -> list[Finding]:
    """What is bad: named hosts and rails first, then flows that no end explains."""
    named: dict[str, dict[str, dict[str, list[Flow]]]] = {}
    for end, flows in picture.named.items():
        named.setdefault(end.host, {}).setdefault(end.rail, {})[end.direction] = flows
    found = [finding for host, rails in named.items() for finding in _host_findings(picture, host, rails)]
    return found + _flow_findings(picture)


def _host_findings(picture: Picture, host: str, rails: Mapping[str, Mapping[str, list[Flow]]]) -> list[Finding]:
    """One finding for the host when all its tested rails are bad, else one a rail."""
    tested = [rail for rail, hosts in picture.members.items() if host in hosts and ((rail, host) not in picture.out or rail in rails)]
    groups = [dict(rails)] if len(tested) > 1 and len(rails) == len(tested) else [{rail: rails[rail]} for rail in rails]
    several_dead = sum(_is_dead(picture, flows_of_rail(directions)) for directions in rails.values()) > 1
    return [_end_finding(picture, host, group, several_dead) for group in groups]


def flows_of_rail(directions: Mapping[str, list[Flow]]) -> list[Flow]:
    """All flows that accuse a host on a rail."""
    return [flow for flows in directions.values() for flow in flows]


def _end_finding(picture: Picture, host: str, rails: Mapping[str, Mapping[str, list[Flow]]], several_dead: bool) -> Finding:
    flows = [flow for directions in rails.values() for flow in flows_of_rail(directions)]
    ways = {way for directions in rails.values() for way in directions}
    direction = ways.pop() if len(ways) == 1 else None
    rail = next(iter(rails)) if len(rails) == 1 else None
    dead = _is_dead(picture, flows)
    kind = ("dead_rails" if several_dead else "dead") if dead else direction or "both"
    where = f"{host}'s {rail}" if rail else f"{host} (all rails)"
    attempts = bad_attempts(picture, flows)
    place = f"on {rail}" if rail else f"on all its rails ({_names(rails, len(rails))})"
    peers = [flow.receiver if flow.sender == host else flow.sender for flow in flows]
    admitted = next((attempt for attempt in attempts if attempt.get("blamed") == host), None)
    if dead:
        reason = admitted or attempts[0]
        cause = f"{host} carries no RDMA traffic {place}. {reason['cause']}"
    else:
        deed = {"send": "sends too slowly", "receive": "receives too slowly", None: "is too slow both ways"}[direction]
        cause = f"{host} {deed} {place}: {_told_value(attempts)}"
    if not admitted:
        cause += f" Seen with {_names(peers)}, which others reach well."
    outcome = worst(attempt["verdict"] for attempt in attempts)
    known = {"host": host, "rail": rail, "direction": direction, **_worst_check(attempts)}
    return make_finding(outcome, "rail" if rail else "host", cause, REMEDIES[kind].format(where=where), _ids(attempts), **known)


def _flow_findings(picture: Picture) -> list[Finding]:
    """Bad flows that no named end explains, both directions of a pair together; and flows that were good at other times."""
    pairs: dict[tuple[str, tuple[str, str]], list[Flow]] = {}
    lost: dict[str, list[Flow]] = {}
    good_rails = {end.rail for end in picture.good}
    for flow, state in picture.states.items():
        if state not in ("bad", "mixed") or any(end in picture.named for end in flow.ends):
            continue
        if len(picture.members[flow.rail]) > 2 and flow.rail not in good_rails:
            lost.setdefault(flow.rail, []).append(flow)
        else:
            first, second = sorted((flow.sender, flow.receiver))
            pairs.setdefault((flow.rail, (first, second)), []).append(flow)
    return [_rail_finding(picture, rail, flows) for rail, flows in lost.items()] + [
        _pair_finding(picture, flows) for flows in pairs.values()
    ]


def _rail_finding(picture: Picture, rail: str, flows: Sequence[Flow]) -> Finding:
    attempts = bad_attempts(picture, flows)
    cause = f"No pair on {rail} is good ({len(flows)} tested), so the fault is what its hosts share: {_told_value(attempts)}"
    known = {"rail": rail, **_worst_check(attempts)}
    return make_finding(
        worst(attempt["verdict"] for attempt in attempts), "rail", cause, REMEDIES["rail"].format(where=rail), _ids(attempts), **known
    )


def _pair_finding(picture: Picture, flows: Sequence[Flow]) -> Finding:
    flow = flows[0]
    attempts = bad_attempts(picture, flows)
    outcome = worst(attempt["verdict"] for attempt in attempts)
    what = f"{flow.sender} {'and' if len(flows) > 1 else 'to'} {flow.receiver} on {flow.rail}: {_told_value(attempts)}"
    if all(picture.states[each] == "mixed" for each in flows):
        total = sum(len({attempt["round"] for attempt in picture.flows[each]}) for each in flows)
        bad = len({attempt["round"] for attempt in attempts})
        outcome, kind, why = "warn", "intermittent", f"That happened in {bad} of {total} runs, so it comes and goes."
    elif all(end in picture.good for each in flows for end in each.ends):
        kind, why = "pair", "Both are well with other hosts, so only the path between them is at fault."
    elif len([host for host in picture.members[flow.rail] if (flow.rail, host) not in picture.out]) < 3:
        kind, why = "two_hosts", "With two hosts only the pair can be named."
    else:
        kind, why = "rounds", "No further partner told the two apart."
    known = {"host": flow.sender, "peer": flow.receiver, "rail": flow.rail, **_worst_check(attempts)}
    return make_finding(outcome, "pair", f"{what} {why}", REMEDIES[kind], _ids(attempts), **known)


def bad_attempts(picture: Picture, flows: Iterable[Flow]) -> list[Record]:
    """The bad attempts of the flows, worst first; behind them those that broke off, which the same fault explains."""
    found = [attempt for flow in flows for attempt in picture.flows[flow] if attempt["verdict"] in BAD or attempt["outcome"] == "damaged"]
    order = (*BAD, "inconclusive")
    return sorted(found, key=lambda attempt: (order.index(attempt["verdict"]), attempt["outcome"] != "dead"))


def _is_dead(picture: Picture, flows: Iterable[Flow]) -> bool:
    """Each flow carries nothing: its data tests are dead, whatever a ping-pong still says."""
    return all(any(attempt["outcome"] == "dead" for attempt in picture.flows[flow]) for flow in flows)


def _worst_check(attempts: Iterable[Record]) -> Finding:
    """Test, metric, value and threshold of the check that missed its limit by most; of a dead test its name only."""
    missed = [(attempt, check) for attempt in attempts for check in attempt["checks"] if check["outcome"] == attempt["verdict"]]
    if not missed:
        return {"test": next((attempt["test"] for attempt in attempts), None)}
    attempt, check = min(missed, key=lambda pair: (BAD.index(pair[1]["outcome"]), _margin(pair[1])))
    threshold = {"bound": check["bound"], "value": check["limit"], "source": check["source"]}
    return {"test": attempt["test"], "metric": check["metric"], "value": check["value"], "threshold": threshold}


def _margin(check: Record) -> float:
    ratio = check["value"] / check["limit"] if check["limit"] else 0.0
    return float(ratio if check["bound"] == "at_least" else -ratio)


def _told_value(attempts: Sequence[Record]) -> str:
    """The worst value beside its limit, or the cause of death, as a sentence."""
    dead = next((attempt for attempt in attempts if attempt["outcome"] == "dead"), None)
    if dead:
        return str(dead["cause"])
    known = _worst_check(attempts)
    unit, threshold = METRICS[known["metric"]], known["threshold"]
    return f"{known['value']:.4g} {unit} where {threshold['bound'].replace('_', ' ')} {threshold['value']:.4g} {unit} is wanted."


def _names(names: Iterable[str], most: int = NAMED_PEERS) -> str:
    known: Collection[str] = list(dict.fromkeys(names))
    shown = list(known)[:most]
    rest = len(known) - len(shown)
    return (
        ", ".join(shown) + (f" and {rest} more" if rest else "") if rest or len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    )


def _ids(attempts: Iterable[Record]) -> list[str]:
    return [attempt["id"] for attempt in attempts]
