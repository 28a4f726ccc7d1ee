# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds all free huge pages of 2 MiB until it is ended; runs on the lab host as a service of type notify."""

from __future__ import annotations

import mmap
import os
import pathlib
import signal
import socket
import sys

PAGE_BYTES = 2 << 20
MAP_HUGETLB = 0x40000

free = int(pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages").read_text())
if not free:
    sys.exit("there is no free huge page of 2 MiB to take: reserve some first")
held = mmap.mmap(-1, free * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB)
for page in range(free):
    held[page * PAGE_BYTES] = 1
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
signal.pause()
