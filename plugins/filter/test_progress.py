# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`watch`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: test_progress
short_description: Sum up what hosts answered about their runs
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Tells how far a run is, whether it is over, and which hosts are gone.
  - A host that did not answer twice is gone; its tests are not waited for.
positional: _input, before, answers, elapsed_s
options:
  _input:
    description: What P(rdma.k8s.test_run_plan#filter) returned.
    type: dict
    required: true
  before:
    description: What this filter returned before; empty when the hosts have just been started.
    type: dict
    required: true
  answers:
    description: What M(rdma.k8s.test_run) (at first) or M(rdma.k8s.test_run_info) gave each host.
    type: dict
    required: true
  elapsed_s:
    description: Seconds since the hosts were started.
    type: float
    required: true
"""

EXAMPLES = r"""
- name: Show a run without hosts
  ansible.builtin.debug:
    msg: "{{ (run | rdma.k8s.test_progress({}, {}, 0)).text }}"
  vars:
    run: {steps: {}, tests: 0, rounds: 0, turns: 0, predicted_s: 0, limit_s: 60}
"""

RETURN = r"""
_value:
  description:
    - C(over), C(absent) (hosts that are not to be waited for), C(gone) (hosts that need not be asked any more), C(reasons) by host,
      a C(text) of one line, and what the next call needs.
  type: dict
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.run_watch import watch


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"test_progress": watch}
