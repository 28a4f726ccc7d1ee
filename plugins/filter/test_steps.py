# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`plan_steps`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: test_steps
short_description: Turn a plan of rounds into each host's list of test sides
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Each step is one side of one test, with its command, port and time limits. Both sides of a test share an C(id).
  - The tests of a pair run one after another. The tests of a round run at the same time.
positional: _input, rails_by_host, tests, options
options:
  _input:
    description: What P(rdma.k8s.plan_rounds#filter) returned.
    type: dict
    required: true
  rails_by_host:
    description: The resolved rails of each host, by name.
    type: dict
    required: true
  tests:
    description: Names of tests, or dictionaries with C(test) and the options that differ for it.
    type: list
    elements: raw
    required: true
  options:
    description:
      - Options of the tools (C(message_bytes), C(queue_pairs), C(iterations) or C(duration_s), C(bidirectional), C(rdma_cm),
        C(traffic_class)).
      - C(port_first) and C(port_last), the TCP ports that servers take in turn.
      - C(start_window_s), seconds that hosts may start apart, and C(deadline_s), seconds that one test may take.
    type: dict
    required: true
  host_options:
    description: What each host has (C(version) of perftest, C(has_numactl)).
    type: dict
  first_round:
    description: The number of the plan's first round in the whole verification, so that later runs do not reuse an C(id).
    type: int
    default: 1
"""

EXAMPLES = r"""
- name: Show what node1 runs
  ansible.builtin.debug:
    msg: "{{ (plan | rdma.k8s.test_steps(rails, ['ib_write_bw'], options)).node1 }}"
  vars:
    plan: "{{ ['node1', 'node2'] | rdma.k8s.plan_rounds({'node1': ['rail0'], 'node2': ['rail0']}) }}"
    rails:
      node1: {rail0: {name: rail0, address: 192.0.2.1, device: mlx5_0, port: 1, gid_index: 3}}
      node2: {rail0: {name: rail0, address: 192.0.2.2, device: mlx5_0, port: 1, gid_index: 5}}
    options: {port_first: 18600, port_last: 18699, start_window_s: 30, deadline_s: 20, message_bytes: 65536, duration_s: 10}
"""

RETURN = r"""
_value:
  description:
    - For each host the list of its steps with C(id), C(round) (its turn in this run), C(plan_round), C(rail), C(test), C(side), C(host),
      C(peer), C(argv), C(start_window_s) and C(deadline_s).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.steps import plan_steps


def _test_steps(
    plan: dict[str, Any],
    rails_by_host: dict[str, dict[str, dict[str, Any]]],
    tests: list[str | dict[str, Any]],
    options: dict[str, Any],
    host_options: dict[str, dict[str, Any]] | None = None,
    first_round: int = 1,
) -> dict[str, list[dict[str, Any]]]:
    try:
        return plan_steps(plan, rails_by_host, tests, options, host_options=host_options, first_round=first_round)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"test_steps": _test_steps}
