# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest's ``--out_json``, which is not JSON before 24.01: text → the same result as from the table."""

from __future__ import annotations

import re
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import PerftestError
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_rows import bandwidth_row, latency_row

# Keys and strings with or without quotes, a comma after the last member or none.
_MEMBER = re.compile(r'^\s*"?(?P<key>[\w.]+)\s*"?\s*:\s*"?(?P<value>[^",{]+?)"?,?\s*$', re.MULTILINE)

_BANDWIDTH = ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate")
_LATENCY = ("MsgSize", "n_iterations", "t_min", "t_max", "t_typical", "t_avg", "t_stdev", "percentile_99", "percentile_99.9")
_DURATION = ("MsgSize", "n_iterations", "t_avg", "tps_average")


def parse_perftest_json(text: str, command: str | None) -> dict[str, Any]:
    """Return ``title``, ``parameters`` and ``rows``. The unit is not in the file: it comes from the command. Raises PerftestError."""
    if text.count("{") != 3 or text.count("}") != 3 or not text.rstrip().endswith("}"):
        raise PerftestError("cut", "the JSON text is not complete, or holds more than one run", "run the test again")
    info, _key, results = text.partition("results")
    parameters = {found["key"]: found["value"].strip() for found in _MEMBER.finditer(info)}
    values = {found["key"]: found["value"].strip() for found in _MEMBER.finditer(results)}
    return {"title": parameters.pop("test", ""), "parameters": parameters, "rows": [_row(values, command)]}


def _row(values: dict[str, str], command: str | None) -> dict[str, Any]:
    for names in (_BANDWIDTH, _LATENCY, _DURATION):
        if all(name in values for name in names):
            fields = [values[name] for name in names]
            return bandwidth_row(fields, _unit(command)) if names is _BANDWIDTH else latency_row(fields)
    raise PerftestError("no_row", f"the JSON text lacks results: it has {', '.join(values) or 'none'}", "read the tool's text output")


def _unit(command: str | None) -> str:
    if command is None:
        raise PerftestError("unknown_unit", "perftest's JSON does not tell its unit", "give the command line, too")
    return "Gb/sec" if "--report_gbits" in command.split() else "MiB/sec"
