# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KVM where it really boots the guest's kernel, else emulation (TCG): that /dev/kvm exists says nothing about the one below it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

import machine
from guest import PROCESSORS, Lab

PROBE_S = 20
# The kernel prints this when it has no root file system: processors, memory and clocks work by then.
REACHED = "VFS:"


def choose(lab: Lab) -> str:
    """The accelerator asked for, or the better one that works; a probe is made once for an image and a kernel of the machine."""
    if lab.accelerator != "auto":
        return lab.accelerator
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    answer = pathlib.Path(lab.image, f"accelerator-{os.uname().release}")
    if not answer.exists():
        machine.write(lab, answer, (b"kvm" if boots(lab) else b"tcg"))
    return answer.read_text()


def boots(lab: Lab) -> bool:
    """Whether the guest's own kernel gets to its root file system under KVM in time."""
    with tempfile.TemporaryDirectory(dir=lab.directory) as folder:
        console = pathlib.Path(folder, "console")
        console.touch()
        command = ["qemu-system-x86_64", *PROCESSORS["kvm"], "-machine", "q35", "-smp", "2", "-m", "512", "-nodefaults", "-display", "none"]
        command += ["-serial", f"file:{console}", "-no-reboot", "-kernel", f"{lab.image}/vmlinuz", "-append", "console=ttyS0 panic=-1"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PROBE_S
            while time.monotonic() < deadline and REACHED not in console.read_text(errors="replace"):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                    break
            return REACHED in console.read_text(errors="replace")
        finally:
            process.kill()
            process.wait()
