# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Door to :func:`report_sections`."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report_sections
short_description: Sort a report into the sections that a template prints
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Groups, orders and rounds, and words the sentences, so that a template only prints.
  - Every string is escaped for the format of O(template). Print it as it is, in HTML and XML also between double quotes.
positional: _input, template
options:
  _input:
    description: A report, as a dictionary or as the text of C(report.json).
    type: raw
    required: true
  template:
    description: The format that the sections are for. V(text) and V(verdict) are without control characters and not escaped.
    type: str
    choices: [text, verdict, html, md, junit.xml, prom]
    default: text
"""

EXAMPLES = r"""
- name: Say the verdict of the newest report
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'reports/latest/report.json') | rdma.k8s.report_sections('verdict')).verdict.headline }}"
"""

RETURN = r"""
_value:
  description: >-
    Sections by name: C(title), C(verdict), C(tiles), C(findings), C(maps), C(hosts), C(thresholds), C(plan), C(versions);
    C(suites) for JUnit, C(families) for Prometheus.
  type: dict
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.k8s.plugins.plugin_utils import report_section


def report_sections(document: dict[str, Any] | str, template: str = "text") -> dict[str, Any]:
    """The sections; a document that cannot be read is refused in a sentence."""
    try:
        return report_section.report_sections(document, template)
    except ValueError as error:
        raise AnsibleFilterError(f"report_sections: {error}") from error


class FilterModule:
    """Makes the filter known to Ansible."""

    def filters(self) -> Mapping[str, Callable[..., object]]:
        return {"report_sections": report_sections}
