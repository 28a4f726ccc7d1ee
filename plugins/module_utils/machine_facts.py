# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the machine: kernel, CPUs, NUMA nodes, memory, limits, tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.rdma.k8s.plugins.module_utils import netdev
from ansible_collections.rdma.k8s.plugins.module_utils.memory import parse_meminfo

if TYPE_CHECKING:
    from ansible_collections.rdma.k8s.plugins.module_utils.host import Host

NODES = "/sys/devices/system/node"
GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


def gather_machine(host: Host) -> dict[str, Any]:
    """docs/architecture.md lists the fields."""
    nodes = [name[len("node") :] for name in host.list_names(NODES) if name[len("node") :].isdigit()]
    governor = host.read_if_there(GOVERNOR)
    return {
        "hostname": host.read("/proc/sys/kernel/hostname").strip(),
        "kernel": host.read("/proc/sys/kernel/osrelease").strip(),
        "python": host.python_version(),
        "cpus": netdev.parse_cpulist(host.read("/sys/devices/system/cpu/online")),
        "numa_nodes": {node: host.read(f"{NODES}/node{node}/cpulist").strip() for node in nodes},
        "memory_bytes": parse_meminfo(host.read("/proc/meminfo"))["MemTotal"],
        "memlock_bytes": netdev.parse_memlock(host.read("/proc/self/limits")),
        "governor": governor.strip() if governor else None,
        "tools": _gather_tools(host),
    }


def _gather_tools(host: Host) -> dict[str, str]:
    """Installed tools; perftest's programs come in one package, so one of them tells the version of all."""
    found = [name for name in netdev.TOOLS if host.which(name)]
    perftest = [name for name in found if name.startswith("ib_")]
    # The version option of perftest prints the version and ends with 1.
    version = netdev.parse_version(host.run(perftest[0], "--version", accept=(0, 1))) if perftest else ""
    return {name: version if name in perftest else "" for name in found}
