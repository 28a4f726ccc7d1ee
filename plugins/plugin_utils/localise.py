# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judged attempts → who is at fault, and which rounds would tell more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.plugin_utils.ends import read_picture
from ansible_collections.rdma.k8s.plugins.plugin_utils.findings import fabric_findings
from ansible_collections.rdma.k8s.plugins.plugin_utils.gaps import gap_findings
from ansible_collections.rdma.k8s.plugins.plugin_utils.judge import VERDICTS
from ansible_collections.rdma.k8s.plugins.plugin_utils.retests import next_rounds

Record = Mapping[str, Any]


def localise(judged: Sequence[Record], *, plan: Record | None = None, rails_at_once: bool = False, rounds_left: int = 8) -> dict[str, Any]:
    """``findings`` (worst first), ``next_rounds`` (as in a plan) and ``settled``: nothing more to learn, or no round left.

    ``judged``: all judged attempts so far, those of earlier re-tests too, in the order in which they were made. ``plan``: of the first run,
    for what it left out. ``rounds_left``: how many further rounds may be asked for. Call again with the new attempts until it is settled.
    """
    picture = read_picture(judged)
    rounds = next_rounds(picture, rails_at_once)[: max(rounds_left, 0)]
    findings = fabric_findings(picture) + gap_findings(picture, judged, plan or {})
    return {
        "findings": sorted(findings, key=lambda finding: VERDICTS.index(finding["outcome"])),
        "next_rounds": rounds,
        "settled": not rounds,
    }
