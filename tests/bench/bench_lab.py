# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On the lab: remote module calls of a converged run, and what screening costs beside its bare tests. Prints, asserts nothing."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ("node1", "node2", "node3")
READ_RESULTS = "cd $(ls -td /var/lib/rdma-k8s/run/*-1 | head -1) && cat results-*.json"


def play(name: str, *arguments: str) -> dict[str, int]:
    """Run a playbook on the lab; modules that ran on each host."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as counts:
        environment = {
            **os.environ,
            "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests/bench/callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "count_calls",
            "COUNT_CALLS_FILE": counts.name,
        }
        command = [sys.executable, "-m", "ansible.cli.playbook", "-i", "inventories/lab", f"playbooks/{name}.yml", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
        found: dict[str, int] = json.load(counts)
        return found


def results(host: str) -> list[dict[str, Any]]:
    """What the host wrote of its newest first run; one list of a round's tests after the other."""
    ssh = ["ssh", "-F", str(ROOT / ".cache/lab/ssh_config"), host, READ_RESULTS]
    text = subprocess.run(ssh, capture_output=True, text=True, check=True).stdout
    return [result for line in text.replace("][", "]\n[").splitlines() for result in json.loads(line)]


def print_screening() -> None:
    """Wall time of all rounds on the hosts ÷ (rounds of each test x the median of one such test)."""
    known = [result for host in HOSTS for result in results(host)]
    clients = [result for result in known if result["side"] == "client"]
    wall_s = max(result["finished"] for result in known) - min(result["started"] for result in clients)
    bare_s = 0.0
    for test in sorted({result["test"] for result in clients}):
        each = [result["finished"] - result["started"] for result in clients if result["test"] == test]
        bare_s += len({result["round"] for result in clients if result["test"] == test}) * statistics.median(each)
        print(f"screening: {len(each)} x {test}, median {statistics.median(each):.1f} s")
    print(f"screening: {wall_s:.1f} s ÷ {bare_s:.1f} s of bare tests = {wall_s / bare_s:.2f} (goal 1.15)")


def main() -> None:
    try:
        play("lab_up", "-e", "lab_vm_state=restored")
        play("prepare_hosts")
        calls = {name: play(name) for name in ("prepare_hosts", "verify_hosts")}
        for name, count in calls.items():
            each = {host: count.get(host, 0) for host in HOSTS}
            print(f"{name}, converged: {max(each.values())} remote module calls a host ({each})")
        print_screening()
    finally:
        play("lab_down")


if __name__ == "__main__":
    main()
