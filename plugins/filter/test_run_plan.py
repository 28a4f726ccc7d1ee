# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`plan_run`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: test_run_plan
short_description: Plan one run of tests over all hosts
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Adds to each host's list of steps how long the run takes, how often to ask the hosts, and when to give up.
  - A start window is widened by what the controller needs to start all hosts with its forks.
positional: _input, hosts, tests, options
options:
  _input:
    description: Rounds, each a list of pairs with C(rail), C(client) and C(server).
    type: list
    elements: list
    required: true
  hosts:
    description: For each host C(rails) (its resolved rails by name) and C(tools) (versions by name).
    type: dict
    required: true
  tests:
    description: Names of tests, or dictionaries with C(test) and the options that differ for it.
    type: list
    elements: raw
    required: true
  options:
    description:
      - Those of P(rdma.k8s.test_steps#filter), with C(port_count) in place of C(port_last).
      - C(deadline_s) does not count a test's duration. C(grace_s) is how long a run goes on when nobody asks.
    type: dict
    required: true
  first_round:
    description: The number of the first round in the whole verification.
    type: int
    default: 1
  forks:
    description: How many hosts the controller asks at a time.
    type: int
    default: 5
"""

EXAMPLES = r"""
- name: Say how long the run takes
  ansible.builtin.debug:
    msg: "{{ (plan.rounds | rdma.k8s.test_run_plan(hosts, ['ib_write_bw'], options)).text }}"
  vars:
    hosts:
      node1: {rails: {rail0: {name: rail0, address: 192.0.2.1, device: mlx5_0, port: 1, gid_index: 3}}, tools: {ib_write_bw: "6.20"}}
      node2: {rails: {rail0: {name: rail0, address: 192.0.2.2, device: mlx5_0, port: 1, gid_index: 5}}, tools: {ib_write_bw: "6.20"}}
    plan: "{{ hosts.keys() | list | rdma.k8s.plan_rounds({'node1': ['rail0'], 'node2': ['rail0']}) }}"
    options: {port_first: 18600, port_count: 100, start_window_s: 30, deadline_s: 20, grace_s: 60, duration_s: 10}
"""

RETURN = r"""
_value:
  description:
    - C(steps) by host, number of C(tests), C(rounds) and C(turns) (one test of each pair).
    - C(predicted_s), C(poll_s), C(start_s), C(grace_s) and C(limit_s) in seconds, and a C(text) that says how much it is.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.run_plan import plan_run


def _test_run_plan(*arguments: Any, **more: Any) -> dict[str, Any]:
    try:
        return plan_run(*arguments, **more)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"test_run_plan": _test_run_plan}
