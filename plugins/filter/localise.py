# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`localise`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: localise
short_description: Tell which host, rail, direction or pair is at fault
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Names what is at fault, and asks for further rounds where it cannot tell yet. In these, suspects meet partners that are proven good.
  - Call it again with all attempts so far, until C(settled) is true.
positional: _input
options:
  _input:
    description: All judged attempts so far, those of re-tests too, in the order in which they were made.
    type: list
    elements: dict
    required: true
  plan:
    description: The plan of the first run, for what it left out.
    type: dict
  rails_at_once:
    description: Whether a host may be tested on all its rails at the same time.
    type: bool
    default: false
  rounds_left:
    description: How many further rounds may be asked for.
    type: int
    default: 8
"""

EXAMPLES = r"""
- name: Show what is at fault
  ansible.builtin.debug:
    msg: "{{ (judged | rdma.k8s.localise(rounds_left=0)).findings | map(attribute='cause') }}"
  vars:
    judged: []
"""

RETURN = r"""
_value:
  description: C(findings) (worst first), C(next_rounds) (as in a plan) and C(settled).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.localise import localise


def _localise(
    judged: list[dict[str, Any]], plan: dict[str, Any] | None = None, rails_at_once: bool = False, rounds_left: int = 8
) -> dict[str, Any]:
    try:
        return localise(judged, plan=plan, rails_at_once=rails_at_once, rounds_left=rounds_left)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., object]]:
        return {"localise": _localise}
