#!/usr/bin/python
# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_info
short_description: Read what a host says of its RDMA devices
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Reads RDMA devices, GIDs, counters, network devices, NUMA nodes, limits and versions of tools in one call, and who uses RDMA now.
  - Changes nothing. Run it as root, else it cannot see which processes hold a device open.
extends_documentation_fragment: ansible.builtin.action_common_attributes
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: posix, support: full}
options:
  sample_s:
    description: Seconds between two readings of the counters that tell whether RDMA traffic flows; 0 takes one reading only.
    type: float
    default: 1
  standing_commands:
    description: Commands that may hold a device open without making the host busy, beside the services of the RDMA stack.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Read the facts of RDMA
  rdma.k8s.rdma_info:
  register: rdma

- name: Show the devices
  ansible.builtin.debug:
    msg: "{{ rdma.rdma_facts.devices }}"
"""

RETURN = r"""
rdma_facts:
  description: The facts of the host; C(docs/architecture.md) lists all fields. What a host does not say is null.
  returned: success
  type: dict
  sample:
    hostname: node1
    kernel: 6.1.0-57-amd64
    tools: {ib_write_bw: "6.06"}
    netdevs: {fab0: {mtu: 4500, addresses: [192.0.2.11/26], driver: virtio_net, numa_node: 1}}
    devices: [{device: rxe0, port: 1, netdev: fab0, state: ACTIVE, link_layer: ethernet, virtual: true, rate_gbit_s: null}]
    busy: {open_devices: [], pods: [], moving: []}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils.busy_facts import gather_busy
from ansible_collections.rdma.k8s.plugins.module_utils.device_facts import gather_devices
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError
from ansible_collections.rdma.k8s.plugins.module_utils.machine_facts import gather_machine
from ansible_collections.rdma.k8s.plugins.module_utils.netdev_facts import gather_netdevs


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sample_s": {"type": "float", "default": 1.0},
            "standing_commands": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    host = Host("rdma_info")
    try:
        devices = gather_devices(host)
        facts = {
            **gather_machine(host),
            "netdevs": gather_netdevs(host, {entry["netdev"] for entry in devices}),
            "devices": devices,
            "busy": gather_busy(host, devices, module.params["standing_commands"], module.params["sample_s"]),
        }
    except (HostError, ValueError) as error:
        module.fail_json(msg=f"{error} (the module must run as root, and reads what Linux 5.4 and later show)")
    module.exit_json(changed=False, rdma_facts=facts)


if __name__ == "__main__":
    main()
