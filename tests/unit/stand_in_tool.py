# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for ib_write_bw, which needs RDMA: speaks TCP over loopback and prints what the tool would. Its numbers mean nothing.

Usage: stand_in_tool.py [--silent] [--stay] [--fail] -p PORT [--bind_source_ip=ADDRESS] [ADDRESS]; the rest is accepted and ignored.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

LINE = "-" * 87
TITLE = f"{LINE}\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : standin0\n{LINE}"
ROW = f" 65536      300              0.15               0.14   \t\t   0.000259\n{LINE}"
BANNER = "************************************\n* Waiting for client to connect... *\n************************************"
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"


def addresses(local: str, remote: str) -> str:
    gid = "GID: 00:00:00:00:00:00:00:00:00:00:255:255:127:00:00:01"
    ends = "\n".join(f" {end} address: LID 0000 QPN {number} PSN 0x1\n {gid}" for end, number in (("local", local), ("remote", remote)))
    return f"{ends}\n{LINE}"


def say(text: str) -> None:
    print(text, flush=True)


def connect(address: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((address, port))
    except OSError:
        sys.exit(f"Couldn't connect to {address}:{port}\nUnable to init the socket connection")


def accept(words: list[str], port: int) -> socket.socket:
    address = next((word.partition("=")[2] for word in words if word.startswith("--bind_source_ip=")), "127.0.0.1")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1)
    say(BANNER)
    return listener.accept()[0]


def main(words: list[str]) -> None:
    say(f"stand-in, pid {os.getpid()}")
    if "--fail" in words:
        sys.exit("IB device standin0 not found")
    if "--stay" in words:
        signal.pause()
    port, is_client = int(words[words.index("-p") + 1]), words[-2] != "-p" and not words[-1].startswith("-")
    peer = connect(words[-1], port) if is_client else accept(words, port)
    mine = f"0x{os.getpid():06x}"
    peer.sendall(mine.encode())
    say(TITLE)
    say(addresses(mine, peer.recv(8).decode()))
    say(HEADER)
    if "--silent" in words:
        signal.pause()
    peer.sendall(b"done")
    if peer.recv(4) != b"done":
        sys.exit("ethernet_read_keys: Couldn't read remote address")
    say(ROW)


if __name__ == "__main__":
    main(sys.argv[1:])
