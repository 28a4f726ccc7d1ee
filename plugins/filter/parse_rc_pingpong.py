# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`parse_rc_pingpong`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: parse_rc_pingpong
short_description: Read the report of ibv_rc_pingpong
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Reads the round trip time and the addresses that C(ibv_rc_pingpong) prints.
  - Refuses, with one sentence, what cannot be trusted. Reasons are among others a known error text, no result, zero, two runs in one text.
positional: _input, command
options:
  _input:
    description: What the tool printed, stdout and stderr together.
    type: str
    required: true
  command:
    description: The command line that printed it.
    type: str
"""

EXAMPLES = r"""
- name: Show the round trip time
  ansible.builtin.debug:
    msg: "{{ (result.stdout | rdma.k8s.parse_rc_pingpong).round_trip_us }} us"
"""

RETURN = r"""
_value:
  description: The run. C(bytes) counts both directions.
  type: dict
  sample:
    test: ibv_rc_pingpong
    round_trip_us: 8.52
    iterations: 1000
    bytes: 8192000
    rate_mbit_s: 7687.51
    local: [{lid: "0x0000", qpn: "0x003a22", psn: "0xc882ae", gid: 192.0.2.20}]
    remote: [{lid: "0x0000", qpn: "0x001234", psn: "0x58320b", gid: 192.0.2.72}]
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import PerftestError
from ansible_collections.rdma.k8s.plugins.module_utils.rc_pingpong import parse_rc_pingpong as parse


def parse_rc_pingpong(text: str, command: str | None = None) -> dict[str, Any]:
    """Parse, and give the reason of a refusal as Ansible expects it."""
    try:
        return parse(text, command)
    except PerftestError as error:
        raise AnsibleFilterError(f"{error} ({error.reason})") from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"parse_rc_pingpong": parse_rc_pingpong}
