# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`checked_thresholds`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: threshold_problems
short_description: Find thresholds that cannot be meant, before anything is measured
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Finds the first threshold without bound, with an unknown key, metric, label, host or rail, or with a value that is no number.
positional: _input, hosts, rails
options:
  _input:
    description: Thresholds as for P(rdma.k8s.judge#filter).
    type: list
    elements: dict
    required: true
  hosts:
    description: Names of all hosts. Without them, host names are not checked.
    type: list
    elements: str
    default: []
  rails:
    description: Names of all rails. Without them, rail names are not checked.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Check the thresholds
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ verify_thresholds | rdma.k8s.threshold_problems(groups['rdma_hosts'], ['rail0', 'rail1']) }}"
    verify_thresholds:
      - {metric: ib_write_bw.average_gbit_s, at_least: 0.05}
"""

RETURN = r"""
_value:
  description: A sentence with the threshold, the value and what is allowed. Empty when all is well.
  type: list
  elements: str
"""

from collections.abc import Callable, Sequence

from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import checked_thresholds


def _threshold_problems(thresholds: object, hosts: Sequence[str] = (), rails: Sequence[str] = ()) -> list[str]:
    if not isinstance(thresholds, (list, tuple)):
        return [f"verify_thresholds is {thresholds!r}; it must be a list of thresholds, each with metric and at_least or at_most."]
    try:
        checked_thresholds(thresholds, hosts, rails)
    except ValueError as error:
        return [str(error)]
    return []


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"threshold_problems": _threshold_problems}
