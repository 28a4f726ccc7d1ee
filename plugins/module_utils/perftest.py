# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest's report: text → measurements of one run, or the reason why there are none."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Any

from ansible_collections.rdma.k8s.plugins.module_utils.perftest_arguments import TESTS
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_errors import FAILED, PerftestError, find_error
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_json import parse_perftest_json
from ansible_collections.rdma.k8s.plugins.module_utils.perftest_rows import bandwidth_row, latency_row, refuse_fields

_TITLE = re.compile(
    r"(?P<verb>RDMA_Write|RDMA_Read|Send|Atomic)(?:[ _][A-Z_]+)?[ _](?P<both>Bidirectional[ _])?(?P<kind>BW|Latency)[ _]Test"
)
_BANDWIDTH_HEADER = re.compile(
    r"#bytes +#iterations +BW peak\[(?P<peak>[^]]+)\] +BW average\[(?P<unit>[^]]+)\] +MsgRate\[Mpps\](?P<more>(?:\s+.+)?)"
)
_LATENCY_HEADER = re.compile(r"#bytes +#iterations +t_(?P<first>min|avg)\[usec\].*")
_SEPARATOR = re.compile(r"-{40,}")
_LABEL = re.compile(r"(?P<label>[A-Za-z][\w .*-]*?)\s*:\s+(?P<value>\S+)")
_ADDRESS = re.compile(r"(?P<end>local|remote) address: LID (?P<lid>\S+) QPN (?P<qpn>0x[0-9a-f]+) PSN (?P<psn>0x[0-9a-f]+)(?: .*)?")
_WARNING = re.compile(r"warning|conflicting|couldn't|unable|invalid|not recognized|will run with", re.IGNORECASE)
_AGAIN = "run the test again"
_VERBS = {"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send", "Atomic": "atomic"}


def parse_perftest(text: str, command: str | None = None) -> dict[str, Any]:
    """Return the run that a text shows.

    ``test``, ``bidirectional`` (bandwidths are then sums of both directions), ``side`` (server where it waited for a client),
    ``parameters`` (label: text), ``local`` and ``remote`` (one ``lid, qpn, psn, gid`` a queue pair), ``rows``, ``warnings``.
    Rows: ``message_bytes, iterations`` and ``peak_gbit_s, average_gbit_s, message_rate_mpps``, or latencies ``…_us``; None: not measured.
    ``command``: the line that started this side; where given, test, size and side must fit. Raises PerftestError.
    """
    known = find_error(text, command or "")
    if known:
        raise known
    lines = [line.strip() for line in text.splitlines()]
    if text.lstrip().startswith("{"):
        result = parse_perftest_json(text, command)
        title = _TITLE.fullmatch(result.pop("title"))
        result = {**result, "side": None, "local": [], "remote": [], "warnings": []}
    else:
        title = _only(_TITLE, lines, "title")
        start, stop = _table(lines)
        rows, warnings = _rows(lines[start], lines[start + 1 : stop])
        preamble = lines[:start]
        result = {
            "parameters": _parameters(preamble),
            **_addresses(preamble),
            "rows": rows,
            "side": "server" if any("Waiting for client" in line for line in preamble) else "client",
            "warnings": [line for line in preamble if _WARNING.search(line)] + warnings,
        }
    result["test"] = f"ib_{_VERBS[title['verb']]}_{'bw' if title['kind'] == 'BW' else 'lat'}" if title else None
    result["bidirectional"] = bool(title and title["both"])
    _check_command(result, (command or "").split())
    return result


def statistic(result: dict[str, Any], name: str, message_bytes: int | None = None) -> float:
    """Return one value of a run, e.g. ``average_gbit_s`` at 65536 bytes. Raises PerftestError where the run did not measure it."""
    rows = [row for row in result["rows"] if message_bytes in (None, row["message_bytes"])]
    if not rows:
        sizes = ", ".join(str(row["message_bytes"]) for row in result["rows"])
        raise PerftestError("not_measured", f"{message_bytes} bytes were not measured, only {sizes}", "ask for one of these sizes")
    if len(rows) > 1:
        raise PerftestError("ambiguous", f"the run has {len(rows)} message sizes", "name one of them")
    if rows[0].get(name) is None:
        raise PerftestError("not_measured", f"{name} was not measured", "it is not available with -D; give iterations instead")
    return float(rows[0][name])


def same_run(client: dict[str, Any], server: dict[str, Any]) -> bool:
    """Tell whether two sides talked to each other: what is local for one is remote for the other."""
    return bool(client["local"]) and client["local"] == server["remote"] and client["remote"] == server["local"]


def _only(pattern: re.Pattern[str], lines: Sequence[str], name: str) -> re.Match[str] | None:
    found = [match for match in map(pattern.fullmatch, lines) if match]
    if len(found) > 1:
        raise PerftestError("doubled", f"the text holds {len(found)} runs (more than one {name})", _AGAIN)
    return found[0] if found else None


def _is_header(line: str) -> bool:
    return line.startswith("#bytes")


def _table(lines: Sequence[str]) -> tuple[int, int]:
    """Positions of the table's header and of the line that closes the table."""
    headers = [number for number, line in enumerate(lines) if _is_header(line)]
    if len(headers) > 1:
        raise PerftestError("doubled", f"the text holds {len(headers)} tables", _AGAIN)
    if not headers:
        raise _no_table(lines)
    separators = [number for number, line in enumerate(lines) if _SEPARATOR.fullmatch(line)]
    before = [number for number in separators if number < headers[0]]
    after = [number for number in separators if number > headers[0]]
    if not before:  # an excerpt that starts with the table
        return headers[0], after[0] if after else len(lines)
    if not after and any(re.match(r"\d+\s", line) for line in lines[headers[0] + 1 :]):
        raise PerftestError("cut", "the table is not closed: the output was cut", _AGAIN)
    if after and lines[after[0]] != lines[before[-1]]:
        raise PerftestError("cut", "the line that closes the table was cut", _AGAIN)
    stop = after[0] if after else len(lines)
    if any(re.match(r"\d+\s+\d+\s+\d", line) for line in lines[stop:]):
        raise PerftestError("doubled", "rows stand behind the end of the table", _AGAIN)
    return headers[0], stop


def _no_table(lines: Sequence[str]) -> PerftestError:
    if not any(lines):
        return PerftestError("empty", "the tool printed nothing", "see whether it was ended before it connected", FAILED)
    if any(line.startswith("Usage:") for line in lines):
        return PerftestError("usage", "the tool printed its usage instead of a result", "correct its arguments", FAILED)
    return PerftestError("no_table", "the text has no table of results", "read the output; leave --output out", FAILED)


def _rows(header: str, lines: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of the table, and the lines of stderr that stand between them."""
    bandwidth, latency = _BANDWIDTH_HEADER.fullmatch(header), _LATENCY_HEADER.fullmatch(header)
    rows, others = [], []
    for line in filter(None, lines):
        if not re.match(r"\d+(\s|$)", line):
            others.append(line)
        elif bandwidth:
            fields = _fields(line, 5 + bandwidth["more"].count("["))
            rows.append(bandwidth_row(fields, bandwidth["unit"]))
        elif latency:
            rows.append(latency_row(_fields(line, 9 if latency["first"] == "min" else 4)))
    if not bandwidth and not latency:
        raise PerftestError("unknown_table", f"the header {header[:100]!r} is not known", "report it with the perftest version")
    if not rows:
        raise PerftestError("no_row", "the table has no row: the test did not finish", "see the other side's output", FAILED)
    if len({row["message_bytes"] for row in rows}) < len(rows):
        raise PerftestError("doubled", "a message size stands in the table twice", _AGAIN)
    return rows, others


def _fields(line: str, count: int) -> list[str]:
    fields = line.split()
    if len(fields) != count:
        raise refuse_fields(fields)
    return fields


def _parameters(lines: Sequence[str]) -> dict[str, str]:
    """Labels and values of the block above the addresses; two pairs can share a line."""
    block = [line for line in lines if ": " in line and not re.match(r"(local|remote) address|GID:|#", line)]
    return {found["label"]: found["value"] for line in block for found in _LABEL.finditer(line)}


def _addresses(lines: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    ends: dict[str, list[dict[str, Any]]] = {"local": [], "remote": []}
    current = None
    for line in lines:
        found = _ADDRESS.fullmatch(line)
        if found:
            current = {"lid": found["lid"], "qpn": found["qpn"], "psn": found["psn"], "gid": None}
            ends[found["end"]].append(current)
        elif line.startswith("GID:") and current:
            current["gid"] = _gid(line[4:].strip())
    if len(ends["local"]) != len(ends["remote"]):
        raise PerftestError("damaged", f"{len(ends['local'])} local and {len(ends['remote'])} remote addresses", _AGAIN)
    return ends


def _gid(text: str) -> str:
    """Address of a GID as perftest prints it: sixteen decimal bytes; an IPv4-mapped one as IPv4."""
    try:
        address = ipaddress.IPv6Address(bytes(int(part, 10) for part in text.split(":")))
    except ValueError:
        raise PerftestError("damaged", f"the GID {text[:80]!r} is not sixteen decimal bytes", _AGAIN) from None
    return str(address.ipv4_mapped or address)


def _check_command(result: dict[str, Any], words: Sequence[str]) -> None:
    """Refuse a text that another command printed."""
    test = next((name for name in (word.rpartition("/")[2] for word in words) if name in TESTS), None)
    if test and result["test"] and test != result["test"]:
        raise PerftestError("other_test", f"the output is of {result['test']}, the command ran {test}", _AGAIN)
    sizes = {row["message_bytes"] for row in result["rows"]}
    asked = next((int(size) for option, size in zip(words, words[1:]) if option == "-s" and size.isdigit()), None)
    if asked and "atomic" not in (test or "") and sizes != {asked}:
        raise PerftestError("other_size", f"{asked} bytes were asked for, the table has {', '.join(map(str, sorted(sizes)))}", _AGAIN)
    if test and result["test"] and ("-b" in words) != result["bidirectional"]:
        raise PerftestError("other_test", "the output and the command differ in whether both directions were measured", _AGAIN)
    peer = _address(words[-1]) if words else None
    if peer and result["side"] == "server":
        raise PerftestError("other_side", "the command is a client's, the output a server's", "parse the client's output")
    ends = [end["gid"] for end in result["local"][:1] + result["remote"][:1]]
    if peer and len(ends) == 2 and ends[0] == peer != ends[1]:
        raise PerftestError("other_side", f"the client's own address is {peer}, which the command names as its peer", _AGAIN)


def _address(word: str) -> str | None:
    try:
        return str(ipaddress.ip_address(word))
    except ValueError:
        return None
