# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`checked_thresholds`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: checked_thresholds
short_description: Refuse thresholds that cannot be meant, before anything is measured
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Fails with one sentence for the first threshold without bound, with an unknown key, metric, label, host or rail, or with a value that
    is no number.
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
    that: verify_thresholds | rdma.k8s.checked_thresholds(groups['rdma_hosts'], ['rail0', 'rail1']) | length == 1
  vars:
    verify_thresholds:
      - {metric: ib_write_bw.average_gbit_s, at_least: 0.05}
"""

RETURN = r"""
_value:
  description: The thresholds, as they were given.
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.thresholds import checked_thresholds


def _checked_thresholds(
    thresholds: list[dict[str, Any]], hosts: list[str] | None = None, rails: list[str] | None = None
) -> list[dict[str, Any]]:
    try:
        checked_thresholds(thresholds, hosts or [], rails or [])
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error
    return thresholds


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"checked_thresholds": _checked_thresholds}
