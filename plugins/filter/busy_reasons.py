# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`busy_reasons`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: busy_reasons
short_description: Tell who uses the rails of a host now
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Names processes that hold a rail's device open, pods that were given RDMA devices, and rails on which RDMA traffic flows.
positional: _input, rails
options:
  _input:
    description: C(rdma_facts) of the host.
    type: dict
    required: true
  rails:
    description: The resolved rails of the host.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse to measure on a busy host
  ansible.builtin.assert:
    that: not rdma.rdma_facts | rdma.k8s.busy_reasons(verify_host_rails)
"""

RETURN = r"""
_value:
  description: One part of a sentence for each reason; empty when the rails are free.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.module_utils.busy import busy_reasons


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"busy_reasons": busy_reasons}
