# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts for the busy guard: who holds a verbs device open, which pods have one, where traffic flows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ansible_collections.rdma.k8s.plugins.module_utils import busy
from ansible_collections.rdma.k8s.plugins.module_utils.device_facts import NET, read_counters
from ansible_collections.rdma.k8s.plugins.module_utils.rdma_device import bytes_moved

if TYPE_CHECKING:
    from ansible_collections.rdma.k8s.plugins.module_utils.host import Host

VERBS = "/sys/class/infiniband_verbs"


def gather_busy(host: Host, devices: Sequence[Mapping[str, Any]], standing: Collection[str], sample_s: float) -> dict[str, Any]:
    """``{open_devices, pods, moving}``; the counters are read twice, `sample_s` seconds apart."""
    started, first = host.clock(), _read_traffic(host, devices)
    pids = [name for name in host.list_names("/proc") if name.isdigit()]
    open_devices = _gather_open_devices(host, pids, {*busy.STANDING_COMMANDS, *standing}) if devices else []
    pods = _gather_pods(host, pids) if devices else []
    host.sleep(max(0.0, sample_s - (host.clock() - started)))
    second, seconds = _read_traffic(host, devices), host.clock() - started
    moved = {name: bytes_moved(first[name][0], second[name][0], second[name][1] - first[name][1]) for name in first}
    return {"open_devices": open_devices, "pods": pods, "moving": busy.moving_netdevs(moved, seconds) if sample_s else []}


def _read_traffic(host: Host, devices: Sequence[Mapping[str, Any]]) -> dict[str, tuple[dict[str, int], int]]:
    """Netdev -> (RDMA counters, bytes of the netdev itself)."""
    return {
        entry["netdev"]: (
            read_counters(host, entry["device"], entry["port"]),
            sum(int(host.read_if_there(f"{NET}/{entry['netdev']}/statistics/{name}") or 0) for name in ("tx_bytes", "rx_bytes")),
        )
        for entry in devices
        if entry["netdev"]
    }


def _gather_open_devices(host: Host, pids: Sequence[str], standing: Collection[str]) -> list[dict[str, Any]]:
    found = []
    for pid in pids:
        targets = {host.link_target(f"/proc/{pid}/fd/{number}") for number in host.list_names(f"/proc/{pid}/fd")}
        for target in sorted(filter(None, filter(busy.is_verbs_device, targets))):
            command = (host.read_if_there(f"/proc/{pid}/comm") or "").strip()
            device = (host.read_if_there(f"{VERBS}/{target.rsplit('/', 1)[1]}/ibdev") or "").strip() or None
            if command not in standing:
                found.append({"pid": int(pid), "command": command, "device": device})
    return found


def _gather_pods(host: Host, pids: Sequence[str]) -> list[dict[str, Any]]:
    """One process of each pod that was given a verbs device. A privileged container sees all devices, used or not: no sign of work."""
    found: dict[str, dict[str, Any]] = {}
    last_capability = int(host.read_if_there("/proc/sys/kernel/cap_last_cap") or 40)
    for pid in pids:
        pod = busy.parse_pod(host.read_if_there(f"/proc/{pid}/cgroup") or "")
        if not pod or pod in found or busy.is_privileged(host.read_if_there(f"/proc/{pid}/status") or "", last_capability):
            continue
        if any(name.startswith("uverbs") for name in host.list_names(f"/proc/{pid}/root/dev/infiniband")):
            found[pod] = {"pid": int(pid), "command": (host.read_if_there(f"/proc/{pid}/comm") or "").strip()}
    return list(found.values())
