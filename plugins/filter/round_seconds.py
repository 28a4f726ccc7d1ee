# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`round_seconds`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: round_seconds
short_description: Seconds that one round of tests is expected to take
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - The durations of the tests of a pair, which run one after another, and what each needs to start and to end.
positional: _input, options
options:
  _input:
    description: Names of tests, or dictionaries with C(test) and the options that differ for it.
    type: list
    elements: raw
    required: true
  options:
    description: Options of all tests; C(duration_s), C(iterations) and C(test_s), which overrides what is expected of one test, count.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say how long a round takes
  ansible.builtin.debug:
    msg: "{{ ['ib_write_bw'] | rdma.k8s.round_seconds({'duration_s': 10}) }} s"
"""

RETURN = r"""
_value:
  description: Seconds.
  type: float
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.run_plan import round_seconds


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"round_seconds": round_seconds}
