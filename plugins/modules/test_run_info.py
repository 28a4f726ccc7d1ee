#!/usr/bin/python
# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: test_run_info
short_description: Ask a host how far its run of tests is
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Returns how far a run of M(rdma.k8s.test_run) is, and on request its results.
  - Asking is the heartbeat. A run that nobody asks ends itself.
  - Tells the run which hosts are gone, so that it does not wait for them.
extends_documentation_fragment: ansible.builtin.action_common_attributes
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: posix, support: full}
options:
  run_id:
    description: Name of the run.
    type: str
    required: true
  absent:
    description: Hosts that are gone. Tests with them end at once.
    type: list
    elements: str
    default: []
  results:
    description: Whether to return the results, too.
    type: bool
    default: false
  state_folder:
    description: Where the folder of runs is, as for M(rdma.k8s.test_run).
    type: path
    default: /var/lib/rdma-k8s
seealso:
  - module: rdma.k8s.test_run
"""

EXAMPLES = r"""
- name: Ask how far the run is
  rdma.k8s.test_run_info:
    run_id: 20261130T221500-1
    absent: [node7]
  register: run
"""

RETURN = r"""
state:
  description:
    - V(none) when this host has no such run; V(running); V(finished); V(stopped) when it ended itself because nobody watched;
      V(died) when its process is gone.
  type: str
  returned: success
progress:
  description:
    - The number of the round, counts of sides (and of clients, which count tests once), the ids that run now, C(started_epoch).
    - Empty when there is no such run.
  type: dict
  returned: success
  sample: {round: 2, steps: 16, done: 9, failed: 1, clients_done: 5, clients_failed: 1, running: ["2.rail0.a>b.ib_write_bw"]}
results:
  description: One record a side that is over.
  type: list
  elements: dict
  returned: when O(results=true)
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils import test_list
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError


def gather(host: Host, run_id: str) -> dict[str, Any]:
    """State and progress of a run."""
    progress: Any = host.read_run_file(run_id, "progress.json") if run_id in host.run_names() else None
    if not progress:
        return {"state": "none", "progress": {}}
    stat = host.read_if_there(f"/proc/{progress['pid']}/stat")
    return {"state": test_list.state_of(progress, test_list.start_ticks(stat)), "progress": progress}


def gather_results(host: Host, run_id: str) -> list[dict[str, Any]]:
    """Results of the rounds that are over."""
    if run_id not in host.run_names():
        return []
    names = [name for name in host.list_names(host.run_folder(run_id)) if name.startswith("results-")]
    parts: list[Any] = [host.read_run_file(run_id, name) for name in names]
    return [result for part in parts for result in part]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str", "required": True},
            "absent": {"type": "list", "elements": "str", "default": []},
            "results": {"type": "bool", "default": False},
            "state_folder": {"type": "path", "default": Host.STATE},
        },
        supports_check_mode=True,
    )
    host, run_id = Host("verify_perftest"), module.params["run_id"]
    host.STATE = module.params["state_folder"]
    try:
        found = gather(host, run_id)
        if found["state"] == "running":
            host.write_run_file(run_id, "heartbeat.json", {"absent": module.params["absent"]})
        if module.params["results"]:
            found["results"] = gather_results(host, run_id)
    except (HostError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
