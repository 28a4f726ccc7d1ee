# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`join_attempts`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: test_attempts
short_description: Join both sides of each test into one attempt
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Reads what both sides of each test printed and how they ended, and tells what was measured, or why nothing was.
  - A text counts only when both sides ended well and agree.
positional: _input, results_by_host, absent_hosts
options:
  _input:
    description: What P(rdma.k8s.test_steps#filter) returned.
    type: dict
    required: true
  results_by_host:
    description: The results that each host gave; a host that gave none may be left out.
    type: dict
    required: true
  absent_hosts:
    description: Hosts that the controller lost or never reached, each with the reason.
    type: dict
"""

EXAMPLES = r"""
- name: Show what was measured
  ansible.builtin.debug:
    msg: "{{ steps | rdma.k8s.test_attempts(results) | selectattr('outcome', 'equalto', 'measured') | map(attribute='measurements') }}"
  vars:
    steps: {}
    results: {}
"""

RETURN = r"""
_value:
  description:
    - The attempts with C(id), C(round), C(rail), C(test), C(client), C(server), C(direction), C(outcome) (V(measured),
      V(dead), V(failed), V(absent) or V(damaged)), C(measurements), C(cause), C(remedy), C(evidence)
      and C(blamed) (the host whose doing it is, or null).
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.attempts import join_attempts

Rows = dict[str, list[dict[str, Any]]]


def _test_attempts(steps: Rows, results_by_host: Rows, absent_hosts: dict[str, str] | None = None) -> list[dict[str, Any]]:
    try:
        return join_attempts(steps, results_by_host, absent_hosts)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"test_attempts": _test_attempts}
