# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`parse_perftest`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: parse_perftest
short_description: Read the report of a perftest run
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Reads what C(ib_write_bw) and its seven relatives print, or their JSON, from any version since 4.5.
  - Refuses, with one sentence, what cannot be trusted. Reasons are among others a known error text, no row, zero, a cut row, two runs
    in one text, a unit that contradicts the message rate, a decimal comma.
  - Bandwidths are in Gb/s (10^9 bits) whatever unit was printed, latencies in microseconds. What the run did not measure is null.
positional: _input, command
options:
  _input:
    description: What the tool printed, stdout and stderr together.
    type: str
    required: true
  command:
    description: The command line that printed it. Where given, test, message size and side must fit; JSON needs it for the unit.
    type: str
"""

EXAMPLES = r"""
- name: Show the bandwidth
  ansible.builtin.debug:
    msg: "{{ (result.stdout | rdma.k8s.parse_perftest).rows[0].average_gbit_s }} Gb/s"
"""

RETURN = r"""
_value:
  description:
    - The run. C(rows) has one entry a message size. C(bidirectional) tells that bandwidths are sums of both directions.
    - C(local) and C(remote) list the queue pairs with their addresses.
    - C(parameters) holds the header, C(warnings) the warnings among the output.
  type: dict
  sample:
    test: ib_write_bw
    bidirectional: false
    side: client
    parameters: {Device: mlx5_0, Mtu: "4096[B]"}
    local: [{lid: "0000", qpn: "0x0137", psn: "0xbd4e80", gid: 192.0.2.5}]
    remote: [{lid: "0000", qpn: "0x0138", psn: "0x6d058e", gid: 192.0.2.6}]
    rows: [{message_bytes: 65536, iterations: 5000, peak_gbit_s: 97.5, average_gbit_s: 97.49, message_rate_mpps: 0.18595}]
    warnings: []
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.module_utils.perftest import parse_perftest as parse
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import PerftestError


def parse_perftest(text: str, command: str | None = None) -> dict[str, Any]:
    """Parse, and give the reason of a refusal as Ansible expects it."""
    try:
        return parse(text, command)
    except PerftestError as error:
        raise AnsibleFilterError(f"{error} ({error.reason})") from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"parse_perftest": parse_perftest}
