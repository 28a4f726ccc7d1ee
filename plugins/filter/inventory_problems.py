# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`inventory_problems`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: inventory_problems
short_description: Find mistakes in the rails of an inventory
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Checks C(rdma_rails) and C(rdma_rail_addresses) of all hosts without touching any of them.
  - A mistake that several hosts share is said once, with the hosts in front.
positional: _input, addresses
options:
  _input:
    description: C(rdma_rails) of each host, by host name.
    type: dict
    required: true
  addresses:
    description: C(rdma_rail_addresses) of each host, by host name.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Stop on mistakes in the inventory
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ {'gpu01': rdma_rails} | rdma.k8s.inventory_problems({'gpu01': rdma_rail_addresses}) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each mistake, with the variable, the value, what is allowed and what to do. Empty when all is well.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import inventory_problems


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"inventory_problems": inventory_problems}
