#!/usr/bin/python
# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: test_run
short_description: Run a host's list of tests, one round after the other
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Runs one side of each test that a host takes part in. Servers start at once and wait; clients try again until the start window ends.
  - The sides of a round run at the same time, rounds one after the other.
  - Start it with C(async) and C(poll=0), then ask M(rdma.k8s.test_run_info) how far it is. Asking is the heartbeat.
  - Without a heartbeat for O(grace_s) seconds it ends all tools and itself. When it dies, its tools end with it.
  - What it prints and finds is kept in C(/var/lib/rdma-k8s/run), for the last five runs.
extends_documentation_fragment: ansible.builtin.action_common_attributes
attributes:
  check_mode: {support: none}
  diff_mode: {support: none}
  platform: {platforms: posix, support: full}
options:
  run_id:
    description: Name of the run, the same on all hosts; it names the folder of its files. Letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  steps:
    description: The host's list as P(rdma.k8s.test_steps#filter) returns it.
    type: list
    elements: dict
    required: true
  grace_s:
    description: Seconds without a heartbeat after which the run ends itself.
    type: float
    default: 60
  state_folder:
    description: Where the folder of runs is. Only tests with several hosts on one machine need another.
    type: path
    default: /var/lib/rdma-k8s
seealso:
  - module: rdma.k8s.test_run_info
"""

EXAMPLES = r"""
- name: Start the host's tests
  rdma.k8s.test_run:
    run_id: 20261130T221500-1
    steps: "{{ steps[inventory_hostname] }}"
  async: 600
  poll: 0
"""

RETURN = r"""
progress:
  description: Counts of sides at the end, as M(rdma.k8s.test_run_info) gives them.
  type: dict
  returned: success
"""

from dataclasses import dataclass
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils import test_list, test_side
from ansible_collections.rdma.k8s.plugins.module_utils.host import Child, Host, HostError

TICK_S = 0.1
STOP_GRACE_S = 0.2
OUTPUT_BYTES = 64 * 1024


@dataclass
class Tool:
    """A side, its tool while there is one, the file that it prints to, and in the end its result."""

    side: test_side.Side
    output_path: str
    began_epoch: float
    child: Child | None = None
    result: dict[str, Any] | None = None


class Run:
    """The list as it is run on this host."""

    def __init__(self, host: Host, params: dict[str, Any]) -> None:
        self.host, self.run_id = host, params["run_id"]
        self.rounds = test_list.rounds_of(params["steps"])
        self.tally = test_list.Tally(self.rounds)
        self.absent: list[str] = []
        host.write_run_file(self.run_id, "heartbeat.json", {"absent": self.absent})
        self.stamp = host.run_file_stamp(self.run_id, "heartbeat.json")
        self.watch = test_list.Watch(params["grace_s"], self.stamp, host.clock())
        self.abandoned = False
        ticks = test_list.start_ticks(host.read("/proc/self/stat"))
        self.identity = {"pid": host.link_target("/proc/self"), "ticks": ticks, "started_epoch": host.now()}

    def carry_out(self) -> dict[str, Any]:
        """Run round after round while somebody watches; return how far it came."""
        for index, steps in enumerate(self.rounds):
            if not self.abandoned:
                self._run_round(index, steps)
        return self._tell(len(self.rounds), finished=True)

    def _run_round(self, index: int, steps: list[test_list.Step]) -> None:
        folder, now, epoch = self.host.run_folder(self.run_id), self.host.clock(), self.host.now()
        tools = [Tool(test_side.begin(step, now), f"{folder}/output-{index}-{n}.txt", epoch) for n, step in enumerate(steps)]
        self._tell(index)
        while any(tool.result is None for tool in tools):
            self._look_around()
            for tool in tools:
                if tool.result is None:
                    self._advance(tool)
                    if tool.result:
                        self.tally.add(tool.result)
                        self._tell(index)
            self.host.sleep(TICK_S)
        self.host.write_run_file(self.run_id, f"results-{index:05}.json", [tool.result for tool in tools])

    def _look_around(self) -> None:
        """Take note of the heartbeat and of the hosts that it names as gone."""
        stamp = self.host.run_file_stamp(self.run_id, "heartbeat.json")
        self.abandoned = self.watch.is_lost(stamp, self.host.clock())
        if stamp != self.stamp:
            heartbeat: Any = self.host.read_run_file(self.run_id, "heartbeat.json")
            self.stamp, self.absent = stamp, heartbeat["absent"]

    def _tell(self, index: int, finished: bool = False) -> dict[str, Any]:
        progress = {**self.tally.progress(index), **self.identity, "finished": finished, "stopped": self.abandoned}
        self.host.write_run_file(self.run_id, "progress.json", progress)
        return progress

    def _advance(self, tool: Tool) -> None:
        """Look at one side and do what is due."""
        status = tool.child.poll() if tool.child else None
        output = self.host.read(tool.output_path, OUTPUT_BYTES) if tool.child else ""
        absent = tool.side.step["peer"] in self.absent
        seen = test_side.Seen(tool.child is not None, status, output, absent, self.abandoned)
        tool.side, action, ended = test_side.decide(tool.side, seen, self.host.clock())
        if action == "start":
            self._start(tool)
        elif action == "end":
            if tool.child and status is None:
                tool.child.stop(STOP_GRACE_S)
            self._end(tool, ended, status, output)
        elif status is not None:
            tool.child = None

    def _start(self, tool: Tool) -> None:
        step = tool.side.step
        tool.side = test_side.started(tool.side, self.host.clock())
        try:
            tool.child = self.host.start(step["argv"], tool.output_path, test_side.longest_life(step))
        except HostError as error:
            self._end(tool, "not_found", None, str(error))

    def _end(self, tool: Tool, ended: str | None, status: int | None, output: str) -> None:
        times = (tool.began_epoch, self.host.now())
        tool.result = test_list.result_of(tool.side.step, ended, status, tool.side.starts, times, output)


def refuse_second_run(host: Host, run_id: str) -> None:
    """Remove old runs; raise ValueError where one of this name exists or another one lives."""
    told: dict[str, Any] = {name: host.read_run_file(name, "progress.json") or {} for name in host.run_names()}
    for name, progress in told.items():
        if name == run_id and progress:
            raise ValueError(f"run_id {run_id!r}: this host has a run of that name already; choose another name")
        if progress and state_of_run(host, progress) == "running":
            raise ValueError(f"run {name!r} still goes on here; wait for its end, or stop asking it: it then ends by itself")
    for name in test_list.runs_to_remove({name: progress.get("started_epoch", 0.0) for name, progress in told.items()}):
        host.remove_run(name)


def state_of_run(host: Host, progress: dict[str, Any]) -> str:
    return test_list.state_of(progress, test_list.start_ticks(host.read_if_there(f"/proc/{progress['pid']}/stat")))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str", "required": True},
            "steps": {"type": "list", "elements": "dict", "required": True},
            "grace_s": {"type": "float", "default": 60},
            "state_folder": {"type": "path", "default": Host.STATE},
        }
    )
    host = Host("verify_perftest")
    host.STATE = module.params["state_folder"]
    try:
        test_list.check_steps(module.params["steps"])
        refuse_second_run(host, module.params["run_id"])
        module.exit_json(changed=False, progress=Run(host, module.params).carry_out())
    except (HostError, ValueError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
