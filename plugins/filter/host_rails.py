# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`host_rails`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_rails
short_description: List the rails that one host has
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Joins the rails of the inventory with the addresses of one host.
  - Where a host gives addresses, a rail without an address is a rail which this host lacks.
positional: _input, addresses
options:
  _input:
    description: C(rdma_rails).
    type: list
    elements: dict
    required: true
  addresses:
    description: C(rdma_rail_addresses) of the host. Without it the host has all rails, with whatever address their netdevs carry.
    type: dict
"""

EXAMPLES = r"""
- name: Show the rails of a host
  ansible.builtin.debug:
    msg: "{{ rdma_rails | rdma.k8s.host_rails(rdma_rail_addresses | default({})) }}"
"""

RETURN = r"""
_value:
  description: The rails of the host; each has C(address), which is null where the inventory names none.
  type: list
  elements: dict
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.inventory import host_rails


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"host_rails": host_rails}
