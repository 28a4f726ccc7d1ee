# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the software lab up and down: ``python3 lab (up|restore|save|down) SPECIFICATION [SNAPSHOT]``.

up       the hosts run and answer: left alone when they do, restored from the snapshot where it is there, else booted and saved under it
restore  the same, but hosts that run are thrown away first
save     a snapshot of the running hosts
down     nothing of the lab runs any more

SPECIFICATION is JSON with the fields of ``guest.Lab``. Prints what it did as JSON, or one sentence on standard error.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import pathlib
import signal
import sys

import lifecycle
import machine
from guest import Lab
from machine import LabError
from monitor import MonitorError

PR_SET_PDEATHSIG = 1


class InterruptError(Exception):
    """Somebody wants this program to end."""


def main(action: str, specification: str, snapshot: str = lifecycle.FIRST) -> int:
    """Carry out one action; interrupted, take down what runs, so that nothing stays behind Ctrl-C."""
    lab = Lab(**json.loads(specification))
    try:
        print(json.dumps(lifecycle.down(lab) if action == "down" else start(lab, action, snapshot)))
    except (LabError, MonitorError) as error:
        print(error, file=sys.stderr)
        return 1
    except InterruptError:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        lifecycle.down(lab)
        return 1
    return 0


def start(lab: Lab, action: str, snapshot: str) -> dict[str, object]:
    """Carry out an action that leaves the lab running; two at once are refused."""
    machine.make_directory(lab)
    with pathlib.Path(lab.directory, "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("Another start of this lab is at work: wait for it, or end it with lab_down.") from None
        return {"up": lifecycle.up, "restore": lifecycle.restore, "save": lifecycle.save}[action](lab, snapshot)


def interrupt(_number: int, _frame: object) -> None:
    """Signal handler."""
    raise InterruptError


if __name__ == "__main__":
    # Ansible that is interrupted leaves its commands running; this one is told when the module that started it goes.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    sys.exit(main(*sys.argv[1:]))
