# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts the modules that a playbook ran on each host, and writes the counts to the file named by COUNT_CALLS_FILE."""

from __future__ import annotations

import collections
import json
import os
import pathlib
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: count_calls
type: aggregate
short_description: Count the modules that ran on each host
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description: Writes {host: count} as JSON.
"""


class CallbackModule(CallbackBase):
    """A result with an invocation comes from a module that ran on a host; actions of the controller have none."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "count_calls"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: collections.Counter[str] = collections.Counter()

    def v2_runner_on_ok(self, result: Any) -> None:
        delegated = result.result.get("_ansible_delegated_vars")
        if "invocation" in result.result and not delegated:
            self.calls[result.host.get_name()] += 1

    def v2_playbook_on_stats(self, stats: object) -> None:
        pathlib.Path(os.environ["COUNT_CALLS_FILE"]).write_text(json.dumps(self.calls), encoding="utf-8")
