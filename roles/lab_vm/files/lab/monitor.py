# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Client of QEMU's monitor."""

from __future__ import annotations

import pathlib
import socket

PROMPT = b"(qemu) "


class MonitorError(Exception):
    """QEMU refused a command, or did not answer."""


def command(path: pathlib.Path, line: str, timeout_s: float = 120.0) -> str:
    """What QEMU prints for one command; MonitorError when it prints an error or does not answer in time."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(str(path))
            # A command that is sent before the first prompt is cut off when the connection closes, without a word.
            _until_prompt(connection)
            connection.sendall(line.encode() + b"\n")
            answer = _until_prompt(connection)
        except OSError as error:
            raise MonitorError(f"{path}: {line}: {error}") from error
    text = answer.decode(errors="replace").replace("\r", "").partition("\n")[2].strip()
    if "Error" in text:
        raise MonitorError(f"{path}: {line}: {text}")
    return text


def _until_prompt(connection: socket.socket) -> bytes:
    read = b""
    while not read.endswith(PROMPT):
        chunk = connection.recv(65536)
        if not chunk:
            raise OSError("QEMU closed its monitor")
        read += chunk
    return read.removesuffix(PROMPT)
