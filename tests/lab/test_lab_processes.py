# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Only the lab's own processes are ended."""

from __future__ import annotations

import importlib.util

import pytest
from running_lab import ROOT

SPEC = importlib.util.spec_from_file_location("processes", ROOT / "roles/lab_vm/files/lab/processes.py")
assert SPEC is not None
assert SPEC.loader is not None
processes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(processes)

LAB = "/home/me/k8s/.cache/lab"


@pytest.mark.parametrize(
    "command",
    [
        f"qemu-system-x86_64 -name lab-node1 -serial file:{LAB}/vm/node1/serial.log",
        f"socat UNIX-LISTEN:{LAB}/vm/node1/ssh,fork TCP:127.0.0.1:22001",
        f"/bin/bash /home/me/k8s/roles/lab_image/files/build_image {LAB}/image/12ab /home/me/k8s/roles/lab_image/files/guest",
        f"unshare --mount --pid --fork /home/me/k8s/roles/lab_image/files/build_image {LAB}/image/12ab",
        f'/usr/bin/python3 /home/me/k8s/roles/lab_vm/files/lab up {{"image":"{LAB}/image/12ab"}} booted',
    ],
)
def test_the_labs_own_process_is_known(command: str) -> None:
    assert processes.belongs(command.split(" "), LAB)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "qemu-system-x86_64 -name mine -serial file:/home/me/mine/serial.log",
        f"qemu-system-x86_64 -name lab-node1 -serial file:{LAB}-of-a-colleague/vm/node1/serial.log",
        f"tail -f {LAB}/vm/node1/serial.log",
        f"rm -r {LAB}/vm {LAB}",
        f"ansible-playbook playbooks/lab_up.yml -e lab_directory={LAB}/",
        f"bash {LAB}/vm/lab",
    ],
)
def test_another_process_is_left_alone(command: str) -> None:
    assert not processes.belongs(command.split(" "), LAB)
