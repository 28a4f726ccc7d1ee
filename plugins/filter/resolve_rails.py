# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`resolve_rails`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: resolve_rails
short_description: Find the RDMA device behind each rail of a host
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Finds device, port, GID index and NUMA node of each rail from its netdev and address.
  - What makes a rail unusable, or less than the inventory says, is a finding.
positional: _input, rails, host
options:
  _input:
    description: C(rdma_facts) of the host, as M(rdma.k8s.rdma_info) returns them.
    type: dict
    required: true
  rails:
    description: The rails of the host, each with C(address), as P(rdma.k8s.host_rails#filter) lists them.
    type: list
    elements: dict
    required: true
  host:
    description: The host's name in the inventory, for the findings.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the devices behind the rails
  ansible.builtin.debug:
    msg: "{{ (rdma.rdma_facts | rdma.k8s.resolve_rails(rdma_rails | rdma.k8s.host_rails, inventory_hostname)).rails }}"
"""

RETURN = r"""
_value:
  description: C(rails), those that can be used, and C(findings); C(docs/architecture.md) lists the fields of both.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.rails import resolve_rails


def _resolve_rails(facts: dict[str, Any], rails: list[dict[str, Any]], host: str) -> dict[str, Any]:
    resolved, findings = resolve_rails(rails, facts, host)
    return {"rails": resolved, "findings": findings}


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"resolve_rails": _resolve_rails}
