# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab starts, goes back to snapshots and ends, and an interrupted start leaves nothing."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from running_lab import ROOT, Lab

CLOCK_S = 30
START_S = 300


def test_a_running_lab_is_left_alone(lab: Lab) -> None:
    before = lab.processes()
    done = lab.play("lab_up")
    assert done.exit_status == 0, done.output
    assert not done.changed
    assert lab.processes() == before


def test_a_restored_host_forgets_what_it_did_and_knows_the_time(lab: Lab) -> None:
    lab.output("node1", "touch /root/mark && sync")
    lab.restore()
    assert lab.run("node1", "test -e /root/mark").returncode == 1
    assert abs(int(lab.output("node1", "date +%s")) - time.time()) < CLOCK_S


def test_a_snapshot_of_ones_own_keeps_what_the_host_did(lab: Lab) -> None:
    lab.output("node1", "touch /root/mark && sync")
    try:
        saved = lab.play("lab_up", "-e", "lab_vm_state=saved", "-e", "lab_vm_snapshot=marked")
        assert saved.exit_status == 0, saved.output
        lab.output("node1", "rm /root/mark")
        restored = lab.play("lab_up", "-e", "lab_vm_state=restored", "-e", "lab_vm_snapshot=marked")
        assert restored.exit_status == 0, restored.output
        assert lab.run("node1", "test -e /root/mark").returncode == 0
    finally:
        lab.restore()


def test_an_unknown_snapshot_is_named(lab: Lab) -> None:
    done = lab.play("lab_up", "-e", "lab_vm_state=restored", "-e", "lab_vm_snapshot=never_made")
    assert done.exit_status != 0
    assert "There is no snapshot never_made" in done.output


def test_lab_down_leaves_no_process_and_no_network(lab: Lab) -> None:
    try:
        assert lab.play("lab_down").exit_status == 0
        assert lab.processes() == []
        assert lab.namespace not in lab.namespaces()
        again = lab.play("lab_down")
        assert again.exit_status == 0
        assert not again.changed
    finally:
        lab.restore()


def test_a_namespace_in_use_by_somebody_else_is_left_alone(lab: Lab) -> None:
    lab.play("lab_down")
    subprocess.run(["ip", "netns", "add", lab.namespace], check=True)
    other = subprocess.Popen(["ip", "netns", "exec", lab.namespace, "cat"], stdin=subprocess.PIPE)
    try:
        wait_until(lambda: pids_in(lab.namespace) == [other.pid])
        done = lab.play("lab_up")
        assert done.exit_status != 0
        assert f"Another lab uses the network namespace {lab.namespace}" in " ".join(done.output.split())
        assert lab.play("lab_down").exit_status == 0
        assert pids_in(lab.namespace) == [other.pid]
    finally:
        other.kill()
        other.wait()
        lab.restore()


def pids_in(namespace: str) -> list[int]:
    """Processes in a network namespace."""
    found = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid in found.split()]


def test_an_interrupted_start_leaves_nothing_and_the_next_one_works(lab: Lab) -> None:
    lab.play("lab_down")
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    start = subprocess.Popen(
        [program, "playbooks/lab_up.yml", "-i", "inventories/lab", *lab.arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: any("qemu" in command for command in lab.processes()))
        os.killpg(start.pid, signal.SIGINT)
        start.wait(START_S)
        wait_until(lambda: lab.processes() == [])
        assert lab.namespace not in lab.namespaces()
    finally:
        start.kill()
        start.wait()
        lab.restore()


def wait_until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds; a failure after START_S seconds."""
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline, "this did not come to pass"
        time.sleep(0.1)
