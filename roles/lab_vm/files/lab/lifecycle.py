# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boot, restore, save and end of the whole lab."""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import pathlib
import subprocess
import time

import accelerator
import guest
import machine
import monitor
import processes
from guest import Lab
from machine import LabError

FIRST = "booted"
BOOTS = 2


def up(lab: Lab, snapshot: str) -> dict[str, object]:
    """Leave running hosts alone, else restore them, else boot them."""
    machine.check(lab)
    if _fits(lab, accelerator.choose(lab)) and all(_runs(lab, host) for host in lab.hosts) and _answers(lab, lab.restore_timeout_s):
        return {"changed": False, "how": "running"}
    return restore(lab, snapshot)


def restore(lab: Lab, snapshot: str) -> dict[str, object]:
    """Go on from the snapshot where there is one that fits, else boot; a snapshot of the user's own must be there."""
    machine.check(lab)
    chosen = accelerator.choose(lab)
    there = _fits(lab, chosen) and _mark(lab, snapshot).exists()
    if not there and snapshot != FIRST:
        raise LabError(f"There is no snapshot {snapshot} of this lab: leave lab_vm_snapshot out to start without it.")
    processes.end(lab.directory)
    machine.make_network(lab)
    if there:
        _start(lab, chosen, snapshot)
        if _answers(lab, lab.restore_timeout_s):
            return {"changed": True, "how": "restored"}
        processes.end(lab.directory)
        _mark(lab, snapshot).unlink()
    return _boot(lab, chosen)


def _boot(lab: Lab, chosen: str) -> dict[str, object]:
    for again in range(BOOTS):
        if again:
            processes.end(lab.directory)
        for mark in _vm(lab).glob("*.saved"):
            mark.unlink()
        machine.make_keys(lab)
        for host in lab.hosts:
            machine.make_identity(lab, host)
            machine.make_disk(lab, host)
        machine.write(lab, _vm(lab) / "key", _key(lab, chosen).encode())
        _start(lab, chosen, None)
        if _answers(lab, lab.boot_timeout_s, "systemctl is-system-running --wait > /dev/null;"):
            save(lab, FIRST)
            return {"changed": True, "how": "booted"}
    silent = [host for host in lab.hosts if not _answers_one(lab, host, time.monotonic() + 5, "")]
    logs = "\n".join(f"--- {host}\n{_tail(lab, host)}" for host in silent)
    down(lab)
    raise LabError(
        f"{', '.join(silent) or 'The lab'} did not come up within {lab.boot_timeout_s} s, twice; the last lines of the consoles:\n{logs}"
    )


def save(lab: Lab, snapshot: str) -> dict[str, object]:
    """A snapshot of all hosts; it counts from the moment when the last one has it."""
    mark = _mark(lab, snapshot)
    mark.unlink(missing_ok=True)
    for host in lab.hosts:
        if not _runs(lab, host):
            raise LabError(f"{host} does not run, so there is nothing to save: bring the lab up first.")
        monitor.command(lab.host_directory(host) / "monitor", f"savevm {snapshot}")
    machine.write(lab, mark, b"")
    return {"changed": True, "how": "saved"}


def down(lab: Lab) -> dict[str, object]:
    """End what runs and take the network away; disks and snapshots stay for the next time."""
    ended = processes.end(lab.directory)
    return {"changed": machine.remove_network(lab) or bool(ended), "how": "down", "ended": ended}


def _start(lab: Lab, chosen: str, snapshot: str | None) -> None:
    for host in lab.hosts:
        machine.start(lab, host, chosen, snapshot)


def _runs(lab: Lab, host: str) -> bool:
    needle = f"file:{lab.host_directory(host)}/serial.log"
    return any(needle in processes.command_line(pid) for pid in processes.of_lab(lab.directory))


def _answers(lab: Lab, timeout_s: float, first: str = "") -> bool:
    """Whether every host answers in time; their clocks, which stood still in a snapshot, are set on the way."""
    deadline = time.monotonic() + timeout_s
    pool = concurrent.futures.ThreadPoolExecutor(len(lab.hosts))
    try:
        return all(pool.map(lambda host: _answers_one(lab, host, deadline, first), lab.hosts))
    finally:
        pool.shutdown(wait=False)  # an interrupt must not wait for hosts that it is about to end


def _answers_one(lab: Lab, host: str, deadline: float, first: str) -> bool:
    """Try until the host answers, has panicked, has ended, or the deadline is over."""
    ssh = ["ssh", "-F", f"{lab.directory}/ssh_config", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-o", "BatchMode=yes"]
    while (left := deadline - time.monotonic()) > 0:
        command = [*ssh, "-o", "ConnectTimeout=30", host, f"{first} date --set @{time.time():.3f}"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            if subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=left, check=False).returncode == 0:
                return True
        if "Kernel panic" in _tail(lab, host) or not _runs(lab, host):
            return False
        time.sleep(0.3)
    return False


def _tail(lab: Lab, host: str, lines: int = 15) -> str:
    with contextlib.suppress(OSError):
        text = (lab.host_directory(host) / "serial.log").read_text(errors="replace")
        return "\n".join(text.replace("\r", "").splitlines()[-lines:])
    return "(nothing was printed)"


def _fits(lab: Lab, chosen: str) -> bool:
    key = _vm(lab) / "key"
    return key.exists() and key.read_text() == _key(lab, chosen)


def _key(lab: Lab, chosen: str) -> str:
    """Changes when disks and snapshots of before no longer fit: another lab, image, QEMU, or this program itself."""
    commands = [guest.qemu_command(lab, host, chosen, None) for host in lab.hosts]
    files = [guest.network_files(lab, host) for host in lab.hosts]
    version = machine.run("qemu-system-x86_64", "--version")
    return hashlib.sha256(json.dumps([lab.image, lab.rails, commands, files, version]).encode()).hexdigest()


def _mark(lab: Lab, snapshot: str) -> pathlib.Path:
    return _vm(lab) / f"{snapshot}.saved"


def _vm(lab: Lab) -> pathlib.Path:
    return pathlib.Path(lab.directory, "vm")
