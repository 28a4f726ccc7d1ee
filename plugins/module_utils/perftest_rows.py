# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of a perftest report: printed fields → checked values, in one unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import PerftestError

# Both names mean 2^20 bytes: 24.07 only corrected the label.
GBIT_S = {"Gb/sec": 1.0, "MB/sec": 2**20 * 8 / 1e9, "MiB/sec": 2**20 * 8 / 1e9}

LATENCY_FIELDS = ("min_us", "max_us", "typical_us", "average_us", "stdev_us", "p99_us", "p99_9_us")
DURATION_FIELDS = ("average_us", "transactions_s")

# perftest prints two decimals, or six for slow links and rates; anything else lost a digit.
_NUMBER = re.compile(r"\d+\.(?:\d{2}|\d{6})")
_AGAIN = "run the test again"


def bandwidth_row(fields: Sequence[str], unit: str) -> dict[str, Any]:
    """Values of ``bytes, iterations, peak, average, message rate`` as printed. A peak of 0.00 was not measured and is None.

    Raises PerftestError for fields that cannot be trusted, among them a message rate (Mpps) that contradicts the unit.
    """
    if unit not in GBIT_S:
        raise PerftestError("unknown_unit", f"the table's unit is {unit!r}, not one of {', '.join(GBIT_S)}", "report it with the output")
    size, iterations = (_count(field) for field in fields[:2])
    peak, average, rate = (_number(field) for field in fields[2:5])
    if average == 0:
        raise PerftestError("zero", "the average bandwidth is zero", _AGAIN)
    _check_unit(size, fields[3], fields[4], unit)
    return {
        "message_bytes": size,
        "iterations": iterations,
        "peak_gbit_s": round(peak * GBIT_S[unit], 6) or None,
        "average_gbit_s": round(average * GBIT_S[unit], 6),
        "message_rate_mpps": rate,
    }


def latency_row(fields: Sequence[str]) -> dict[str, Any]:
    """Values of a latency row in microseconds; what a run with ``-D`` does not measure is None. Raises PerftestError."""
    names = LATENCY_FIELDS if len(fields) == 2 + len(LATENCY_FIELDS) else DURATION_FIELDS
    size, iterations = (_count(field) for field in fields[:2])
    values = dict(zip(names, (_number(field) for field in fields[2:])))
    if values["average_us"] == 0:
        raise PerftestError("zero", "the average latency is zero", _AGAIN)
    if "min_us" in values and not values["min_us"] <= values["typical_us"] <= values["max_us"]:
        raise PerftestError("inconsistent", "the typical latency is not between minimum and maximum", _AGAIN)
    absent = dict.fromkeys((*LATENCY_FIELDS, *DURATION_FIELDS))
    return {"message_bytes": size, "iterations": iterations, **absent, **values}


def refuse_fields(fields: Sequence[str]) -> PerftestError:
    """Say why fields that should be a row are none."""
    line = " ".join(fields)
    if any(re.fullmatch(r"-?(nan|inf(inity)?)", field, re.IGNORECASE) for field in fields):
        return PerftestError("not_a_number", "the row holds a value that is no number", _AGAIN, line=line)
    if any(re.fullmatch(r"\d+,\d+", field) for field in fields):
        return PerftestError("decimal_comma", "the numbers have a decimal comma", "run the tool with LC_ALL=C", line=line)
    return PerftestError("cut_row", "the row is incomplete or damaged", _AGAIN, line=line)


def _count(field: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", field):
        raise refuse_fields([field])
    return int(field)


def _number(field: str) -> float:
    if not _NUMBER.fullmatch(field):
        raise refuse_fields([field])
    return float(field)


def _check_unit(size: int, average: str, rate: str, unit: str) -> None:
    """Bytes times message rate is the bandwidth in every version; compare within what rounding to the printed digits allows."""
    claimed, claimed_error = float(average) * GBIT_S[unit], _last_digit(average) * GBIT_S[unit]
    derived, derived_error = size * float(rate) * 8e-3, size * _last_digit(rate) * 8e-3
    if abs(claimed - derived) > claimed_error + derived_error:
        raise PerftestError(
            "unit_mismatch",
            f"unit and message rate disagree: {average} {unit} is {claimed:.6g} Gb/s, {rate} Mpps of {size} bytes is {derived:.6g} Gb/s",
            "start both sides with the same options, and read the client's table",
        )


def _last_digit(number: str) -> float:
    return float(10.0 ** -len(number.partition(".")[2]))
