# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`lost_hosts`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lost_hosts
short_description: Report hosts that told nothing
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - A host that failed or was unreachable in an earlier step is missing in a report, not forgotten.
positional: _input
options:
  _input:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show who is lost
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts_all | difference(ansible_play_hosts) | rdma.k8s.lost_hosts }}"
"""

RETURN = r"""
_value:
  description: Findings with the outcome C(missing).
  type: list
  elements: dict
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.gaps import lost_hosts


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"lost_hosts": lost_hosts}
