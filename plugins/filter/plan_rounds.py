# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`plan_rounds`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_rounds
short_description: Plan which hosts are tested with each other, and when
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Plans rounds of disjoint pairs on each rail. The client of a pair sends, the server receives.
  - Hosts may have fewer rails than others.
positional: _input, rails_of_host
options:
  _input:
    description: Names of the hosts, in the order in which they are paired. At least two.
    type: list
    elements: str
    required: true
  rails_of_host:
    description: The names of each host's rails.
    type: dict
    required: true
  strategy:
    description:
      - V(screen) lets each host send and receive once on each rail, in two rounds a rail (three when the number of hosts is odd).
      - V(mesh) tests every ordered pair on each rail.
    type: str
    choices: [screen, mesh]
    default: screen
  rails_at_once:
    description: Whether a host is tested on all its rails at the same time, instead of on one rail after the other.
    type: bool
    default: false
  test_seconds:
    description: Seconds that one round takes, all its tests together.
    type: float
    default: 20
  start_seconds:
    description: Seconds that the start of the run takes, once.
    type: float
    default: 0
  budget_s:
    description: Seconds that the run may take. Rounds that do not fit are cut from the end, and listed.
    type: float
"""

EXAMPLES = r"""
- name: Say how long a full mesh takes
  ansible.builtin.debug:
    msg: "{{ (groups['rdma_hosts'] | rdma.k8s.plan_rounds(rails_of_host, strategy='mesh', test_seconds=12)).predicted_s }} s"
  vars:
    rails_of_host: {node1: [rail0, rail1], node2: [rail0, rail1], node3: [rail0]}
"""

RETURN = r"""
_value:
  description:
    - The plan with C(strategy), C(rounds) (a list of rounds, each a list of pairs with C(rail), C(client) and C(server)), C(predicted_s),
      C(cut) (the pairs that the budget left out) and C(alone) (C(host) and C(rail) where no other host has the rail).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.rounds import plan_rounds


def _plan_rounds(
    hosts: list[str],
    rails_of_host: dict[str, list[str]],
    strategy: str = "screen",
    rails_at_once: bool = False,
    test_seconds: float = 20.0,
    start_seconds: float = 0.0,
    budget_s: float | None = None,
) -> dict[str, Any]:
    try:
        return plan_rounds(
            hosts,
            rails_of_host,
            strategy,
            rails_at_once=rails_at_once,
            test_seconds=test_seconds,
            start_seconds=start_seconds,
            budget_s=budget_s,
        )
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"plan_rounds": _plan_rounds}
