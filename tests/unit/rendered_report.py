# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of the report filled without Ansible, as it fills them: no autoescape, undefined names are errors."""

from __future__ import annotations

import pathlib
from typing import Any

import jinja2
from ansible_collections.rdma.k8s.plugins.plugin_utils.report import build_report, print_document
from ansible_collections.rdma.k8s.plugins.plugin_utils.report_section import report_sections

TEMPLATES = pathlib.Path(__file__).resolve().parents[2] / "roles" / "verify_report" / "templates"
FORMATS = ("html", "md", "junit.xml", "prom")


def render(template: str, document: str) -> str:
    """The report of ``document`` (JSON text) in one format."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True, autoescape=False)
    environment.filters["rdma.k8s.report_sections"] = report_sections
    source = (TEMPLATES / f"report.{template}.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(__verify_report_json=document)


def render_all(run: dict[str, Any]) -> dict[str, str]:
    """Every format of a simulated run."""
    document = print_document(build_report(**run))
    return {"json": document, **{name: render(name, document) for name in FORMATS}}
