# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Busy guard: who uses RDMA on a host now."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

# Services of the RDMA stack itself: they hold a device open all day and move next to nothing.
STANDING_COMMANDS = ("ibacm", "iwpmd", "opensm", "rdma-ndd", "srp_daemon", "nv-fabricmanager", "nvidia-imex")
POD = re.compile(r"kubepods\S*?pod([0-9a-f][0-9a-f_-]{30,40})")
MOVING_BYTES_S = 125_000  # one megabit a second: management datagrams and connection set-up stay far below


def is_verbs_device(target: str | None) -> bool:
    return bool(target and target.startswith("/dev/infiniband/uverbs"))


def parse_pod(cgroup: str) -> str | None:
    """Id of the pod that a process belongs to, from ``/proc/PID/cgroup``; None outside of pods."""
    match = POD.search(cgroup)
    return match[1].replace("_", "-") if match else None


def is_privileged(status: str, last_capability: int) -> bool:
    """Whether ``/proc/PID/status`` shows all capabilities: such a container sees every device of the host, used or not."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return bool(match and int(match[1], 16) == (1 << (last_capability + 1)) - 1)


def moving_netdevs(moved: Mapping[str, int], seconds: float) -> list[dict[str, Any]]:
    """``[{netdev, bytes_s}]`` of the netdevs whose RDMA counters grow by more than background noise; the busiest first."""
    rates = sorted(((round(count / seconds), netdev) for netdev, count in moved.items()), reverse=True)
    return [{"netdev": netdev, "bytes_s": rate} for rate, netdev in rates if rate >= MOVING_BYTES_S]


def busy_reasons(facts: Mapping[str, Any], rails: Iterable[Mapping[str, Any]]) -> list[str]:
    """What speaks against measuring on these rails of a host, one sentence part each; empty when they are free."""
    used: Collection[str] = {rail["device"] for rail in rails}
    netdevs = {rail["netdev"]: rail["name"] for rail in rails}
    busy = facts["busy"]
    return [
        *(
            f"process {entry['pid']} ({entry['command']}) holds {entry['device']} open"
            for entry in busy["open_devices"]
            if entry["device"] in used or entry["device"] is None
        ),
        *(f"a pod with RDMA devices runs here (process {entry['pid']}, {entry['command']})" for entry in busy["pods"]),
        *(
            f"RDMA traffic of {entry['bytes_s'] * 8 / 1e9:.3g} Gb/s flows on {netdevs[entry['netdev']]} ({entry['netdev']})"
            for entry in busy["moving"]
            if entry["netdev"] in netdevs
        ),
    ]
