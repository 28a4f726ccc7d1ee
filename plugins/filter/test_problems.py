# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`find_problems`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: test_problems
short_description: Find tests and options that cannot be meant, before anything is measured
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Checks numbers as the user wrote them, then plans one pair with all tests.
positional: _input, options, numbers
options:
  _input:
    description: Tests as for P(rdma.k8s.test_run_plan#filter).
    type: list
    elements: raw
    required: true
  options:
    description: Options as for P(rdma.k8s.test_run_plan#filter).
    type: dict
    required: true
  numbers:
    description: What the user gave for variables that must be whole numbers, by the variable's name.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Check the tests
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ verify_perftest_tests | rdma.k8s.test_problems(options, {'verify_perftest_queue_pairs': verify_perftest_queue_pairs}) }}"
"""

RETURN = r"""
_value:
  description: A sentence for each number that is none, else one for the first test or option that cannot be. Empty when all is well.
  type: list
  elements: str
"""

from collections.abc import Callable

from ansible_collections.rdma.k8s.plugins.plugin_utils.run_plan import find_problems


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"test_problems": find_problems}
