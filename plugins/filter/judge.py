# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`judge`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: judge
short_description: Judge attempts by thresholds
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Gives each attempt a C(verdict) of V(pass), V(warn), V(fail), V(missing) or V(inconclusive). What was not measured has not passed.
  - Where no threshold speaks of a bandwidth, it must reach 90 % (below 95 % is a warning) of what the slower of the two links can carry.
positional: _input, thresholds, rails_by_host
options:
  _input:
    description: What P(rdma.k8s.test_attempts#filter) returned.
    type: list
    elements: dict
    required: true
  thresholds:
    description:
      - Thresholds with C(metric), C(where) (labels and their values), one of C(at_least) and C(at_most), C(severity) (V(fail) or V(warn))
        and C(source). The first that matches counts, for each severity.
    type: list
    elements: dict
    required: true
  rails_by_host:
    description: The resolved rails of each host, by name. Their C(rate_gbit_s), C(active_mtu) and C(link_layer) are used.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what did not pass
  ansible.builtin.debug:
    msg: "{{ attempts | rdma.k8s.judge(thresholds, rails) | rejectattr('verdict', 'equalto', 'pass') | map(attribute='id') }}"
  vars:
    attempts: []
    rails: {}
    thresholds:
      - {metric: ib_write_bw.average_gbit_s, where: {rail: rail0}, at_least: 370, source: acceptance test of May}
"""

RETURN = r"""
_value:
  description: The attempts with C(verdict) and C(checks) (C(metric), C(value), C(bound), C(limit), C(severity), C(source), C(outcome)).
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.judge import judge

Rows = list[dict[str, Any]]


def _judge(attempts: Rows, thresholds: Rows, rails_by_host: dict[str, dict[str, dict[str, Any]]]) -> Rows:
    try:
        return judge(attempts, thresholds, rails_by_host)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"judge": _judge}
