# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is tested with whom, and when: rounds of disjoint pairs on each rail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

Pair = dict[str, str]
Round = list[Pair]
Names = list[tuple[str, str]]

STRATEGIES = ("screen", "mesh")


def plan_rounds(
    hosts: Sequence[str],
    rails_of_host: Mapping[str, Sequence[str]],
    strategy: str = "screen",
    *,
    rails_at_once: bool = False,
    test_seconds: float = 20.0,
    start_seconds: float = 0.0,
    budget_s: float | None = None,
) -> dict[str, Any]:
    """The round plan: ``strategy, rounds, predicted_s, cut, alone``.

    ``rails_of_host``: names of each host's rails; hosts may have fewer than others. ``test_seconds``: one round, all its tests together.
    ``start_seconds``: once for the run. ``budget_s``: rounds that end after it are cut, from the end. ``alone``: rails without a partner.
    ``ValueError`` with one sentence for input that cannot be planned.
    """
    _check(hosts, strategy, test_seconds, start_seconds, budget_s)
    members = _members(hosts, rails_of_host)
    by_rail = [[_on_rail(rail, pairs) for pairs in _schedule(strategy, group)] for rail, group in members.items() if len(group) > 1]
    rounds = _merge(by_rail, rails_at_once)
    kept = len(rounds) if budget_s is None else min(len(rounds), int((budget_s - start_seconds) / test_seconds + 1e-9))
    return {
        "strategy": strategy,
        "rounds": rounds[:kept],
        "predicted_s": round(start_seconds + kept * test_seconds, 3) if kept else 0.0,
        "cut": [pair for later in rounds[kept:] for pair in later],
        "alone": [{"host": group[0], "rail": rail} for rail, group in members.items() if len(group) == 1],
    }


def _members(hosts: Sequence[str], rails_of_host: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    members: dict[str, list[str]] = {}
    for host in hosts:
        for rail in rails_of_host.get(host, ()):
            members.setdefault(rail, []).append(host)
    return members


def _check(hosts: Sequence[str], strategy: str, test_seconds: float, start_seconds: float, budget_s: float | None) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(f"The strategy is {strategy!r}; allowed are {' and '.join(STRATEGIES)}.")
    if len(hosts) < 2:
        raise ValueError(
            f"Tests between hosts need at least two hosts, but there is {hosts[0] if hosts else 'none'}; add hosts to the group."
        )
    twice = sorted({host for host in hosts if list(hosts).count(host) > 1}) if len(set(hosts)) < len(hosts) else []
    if twice:
        raise ValueError(f"The host {twice[0]} is listed more than once; list each host once.")
    if test_seconds <= 0 or start_seconds < 0:
        raise ValueError(
            f"A round of {test_seconds:g} s after a start of {start_seconds:g} s cannot be; give the seconds that one round takes."
        )
    if budget_s is not None and budget_s < start_seconds + test_seconds:
        raise ValueError(
            f"The time budget of {budget_s:g} s does not hold one round, which takes {start_seconds + test_seconds:g} s; "
            "raise it or shorten the tests."
        )


def _schedule(strategy: str, hosts: Sequence[str]) -> list[Names]:
    return circle_rounds(hosts) if strategy == "mesh" else screening_rounds(hosts)


def screening_rounds(hosts: Sequence[str]) -> list[Names]:
    """Two rounds (three when odd) of ``(client, server)`` in which each host sends and receives once.

    Neighbours are paired in both directions; of an odd number the last three form a ring.
    """
    ring = list(hosts[-3:]) if len(hosts) % 2 else []
    paired = hosts[: len(hosts) - len(ring)]
    forward = list(zip(paired[::2], paired[1::2], strict=True))
    rounds = [forward, [(server, client) for client, server in forward]]
    if ring:
        a, b, c = ring
        rounds = [[*rounds[0], (a, b)], [*rounds[1], (b, c)], [(c, a)]]
    return rounds


def circle_rounds(hosts: Sequence[str]) -> list[Names]:
    """Every ordered ``(client, server)`` once, by the circle method: one host stays, the others turn; then all again reversed."""
    places: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    forward = []
    for turn in range(len(places) - 1):
        turned = [places[0], *places[1:][turn:], *places[1:][:turn]]
        half = len(turned) // 2
        met = zip(turned[:half], reversed(turned[half:]), strict=True)
        # Turning the arrow every other time lets a host send and receive about equally often in a plan that is cut.
        forward.append([(one, other) if turn % 2 else (other, one) for one, other in met if one is not None and other is not None])
    return forward + [[(server, client) for client, server in pairs] for pairs in forward]


def _on_rail(rail: str, pairs: Names) -> Round:
    return [{"rail": rail, "client": client, "server": server} for client, server in pairs]


def _merge(by_rail: Sequence[list[Round]], rails_at_once: bool) -> list[Round]:
    """Rails side by side in one round, or in turn; either way a cut costs all rails alike."""
    steps = zip_longest(*by_rail, fillvalue=[])
    if rails_at_once:
        return [[pair for pairs in step for pair in pairs] for step in steps]
    return [pairs for step in steps for pairs in step if pairs]
