# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`compare_hosts`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: compare_hosts
short_description: Find hosts that differ from the others
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Compares kernel, perftest, and of each rail driver, firmware, rate and MTU.
  - A host that differs from most others is a warning. Where no value has a majority, one warning names all.
positional: _input, rails
options:
  _input:
    description: C(rdma_facts) of each host, by its name.
    type: dict
    required: true
  rails:
    description: The resolved rails of each host, by its name.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show who differs
  ansible.builtin.debug:
    msg: "{{ facts_by_host | rdma.k8s.compare_hosts(rails_by_host) | map(attribute='cause') }}"
"""

RETURN = r"""
_value:
  description: Findings with the outcome C(warn).
  type: list
  elements: dict
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.host_comparison import compare_hosts


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"compare_hosts": compare_hosts}
