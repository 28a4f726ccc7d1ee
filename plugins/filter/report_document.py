# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`build_report`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report_document
short_description: Make the report of a verification
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Joins judged attempts, findings and what is known about hosts into one document.
  - A pair that was cut, a test that no finding explains, and a rail without any test become findings.
  - The result is JSON text, since Ansible needs seconds to carry a large dictionary from task to task, and none to carry text.
positional: _input, findings
options:
  _input:
    description: Judged attempts, as the filter P(rdma.k8s.judge#filter) returns them, or that list as JSON text.
    type: raw
    required: true
  findings:
    description:
      - What was found.
      - C(evidence) of a finding holds ids of attempts, or dictionaries with C(title), C(command), C(output), C(facts).
    type: list
    elements: dict
    required: true
  kind:
    description: Name of the playbook.
    type: str
    required: true
  started:
    description: When the run started, in seconds since 1970.
    type: float
    required: true
  finished:
    description: When it ended, in seconds since 1970.
    type: float
    required: true
  plan:
    description: What the filter P(rdma.k8s.plan_rounds#filter) returned.
    type: dict
  rails:
    description: Resolved rails by host and name, or that as JSON text.
    type: raw
  facts:
    description: Facts by host, or that as JSON text.
    type: raw
  groups:
    description: Leaf, rack or pod by host. The maps of more than 48 hosts are drawn by group.
    type: dict
  versions:
    description: Versions by name.
    type: dict
  run_id:
    description: Name of the run. By default start and playbook.
    type: str
"""

EXAMPLES = r"""
- name: Keep the report
  ansible.builtin.copy:
    content: >-
      {{ judged | rdma.k8s.report_document(findings, kind='verify_hosts', started=started, finished=now().timestamp()) }}
    dest: report.json
    mode: "0600"
"""

RETURN = r"""
_value:
  description: JSON text as C(roles/verify_report/files/report.schema.json) describes it.
  type: str
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils.report import build_report, print_document


def read(value: Any) -> Any:
    """What JSON text says; anything else as it is."""
    return json.loads(value) if isinstance(value, str) else value


def report_document(attempts: Sequence[dict[str, Any]] | str, findings: Sequence[dict[str, Any]], kind: str, **known: Any) -> str:
    """The document as JSON text; input that is not what the documentation asks for is refused in a sentence."""
    try:
        texts = {name: read(known.pop(name, None)) for name in ("rails", "facts")}
        given = {name: value for name, value in {**known, **texts}.items() if value is not None}
        return print_document(build_report(kind, read(attempts), findings, **given))
    except KeyError as error:
        raise AnsibleFilterError(f"report_document: an attempt, finding or pair lacks {error}; attempts have to be judged first") from error
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"report_document: {error}") from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> Mapping[str, Callable[..., object]]:
        return {"report_document": report_document}
