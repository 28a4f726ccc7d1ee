# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's processes, known by their command line: it names files of this lab's own folder, so a reused process number cannot mislead."""

from __future__ import annotations

import os
import pathlib
import signal
import time

PROGRAMS = ("qemu-system-x86_64", "socat", "build_image")
THIS_PROGRAM = "lab"
STARTS = ("up", "restore", "save")


def command_line(pid: int) -> list[str]:
    """The words of a process' command line; empty when it is gone."""
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def belongs(words: list[str], directory: str) -> bool:
    """Whether a command line is one of the lab's programs at work on this lab's folder."""
    names = [pathlib.Path(word).name for word in words]
    program = any(name in PROGRAMS for name in names) or (names[1:2] == [THIS_PROGRAM] and "".join(words[2:3]) in STARTS)
    return program and any(f"{directory}/" in word for word in words)


def of_lab(directory: str) -> list[int]:
    """Processes of the lab in this folder, without the one that asks and those that started it."""
    asking = _ancestors(os.getpid())
    numbers = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in numbers if pid not in asking and belongs(command_line(pid), directory)]


def _ancestors(pid: int) -> set[int]:
    found: set[int] = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            status = pathlib.Path("/proc", str(pid), "stat").read_text()
        except OSError:
            break
        pid = int(status.rpartition(")")[2].split()[1])
    return found


def end(directory: str, patience_s: float = 10.0) -> list[int]:
    """End the lab's processes, by force those that do not listen; returns their numbers."""
    deadline = time.monotonic() + patience_s
    asked: set[int] = set()
    while pids := of_lab(directory):
        late = time.monotonic() > deadline
        for pid in pids if late else set(pids) - asked:
            _send(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked.update(pids)
        time.sleep(0.05)
    return sorted(asked)


def _send(pid: int, how: signal.Signals) -> None:
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return
