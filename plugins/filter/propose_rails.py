# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`propose_rails`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: propose_rails
short_description: Propose rdma_rails from what all hosts show
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Each network in which RDMA ports have an address becomes a rail. Ports that carry ssh or the default route are left out.
options:
  _input:
    description: C(rdma_facts) of each host, by its name.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the proposal
  ansible.builtin.debug:
    msg: "{{ facts_by_host | rdma.k8s.propose_rails }}"
"""

RETURN = r"""
_value:
  description:
    - C(rdma_rails) for all hosts, C(hosts) with the variables of each one, and C(notes), sentences on what stood in the way or differs.
  type: dict
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.rail_proposal import propose_rails


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"propose_rails": propose_rails}
