# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of perftest, as both sides of a test start it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BANDWIDTH_TESTS = ("ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_atomic_bw")
LATENCY_TESTS = ("ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_lat")
TESTS = BANDWIDTH_TESTS + LATENCY_TESTS

# perftest's own bound; a pod can have larger indexes and then needs rdma_cm.
MAX_GID_INDEX = 64

# 23.07 brought --bind_source_ip; 6.13 is what 23.04 to 23.10 call themselves, so the next number is the first that is sure.
BIND_SOURCE_IP_SINCE = (6, 20)


def perftest_arguments(
    test: str, side: str, rail: Mapping[str, Any], peer_address: str | None, port: int, options: Mapping[str, Any]
) -> list[str]:
    """Return the command line of one side of a perftest run.

    ``rail`` is a resolved rail. ``peer_address`` is the server's rail address; the server's side does not use it.
    ``options``, all optional: ``message_bytes``, ``queue_pairs``, ``iterations`` or ``duration_s``, ``bidirectional``, ``rdma_cm``,
    ``traffic_class``, ``cuda_device``, ``cuda_dmabuf``, ``extra_options`` (list of words), and what the host has: ``has_numactl``,
    ``version`` (what ``--version`` printed). Raises ValueError with a sentence for what cannot be.
    """
    if test not in TESTS:
        raise ValueError(f"test {test!r}: allowed are {', '.join(TESTS)}")
    if side not in ("client", "server"):
        raise ValueError(f"side {side!r}: allowed are client and server")
    if side == "client" and not peer_address:
        raise ValueError(f"{test}: the client needs the server's address on rail {rail['name']}")
    words = [
        test,
        *_device_arguments(rail, options),
        *_load_arguments(test, options),
        *_connection_arguments(rail, port, options),
        *_memory_arguments(options),
        *checked_options(options.get("extra_options") or ()),
    ]
    if side == "client":
        words.append(str(peer_address))
    return pinned(words, rail, options)


def pinned(words: Sequence[str], rail: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """Put pinning to the rail's NUMA node before a command, and line buffering: a killed tool must not take its table's header with it.

    What bounds its time stands before all this: ``Host.start`` puts it there.
    """
    node = rail.get("numa_node")
    prefix: list[str] = []
    if node is not None and node >= 0:
        if options.get("has_numactl"):
            prefix = ["numactl", "-N", str(node), "-m", str(node)]
        elif rail.get("numa_cpus"):
            prefix = ["taskset", "-c", str(rail["numa_cpus"])]
    return ["stdbuf", "-oL", *prefix, *words]


def checked_options(words: Sequence[str]) -> list[str]:
    """Return users' extra options, or raise ValueError naming a character that a web page or word processor put there."""
    for word in words:
        for character in word:
            if not character.isascii() or not character.isprintable() or character in "\"'`":
                raise ValueError(
                    f"extra option {word!r}: the character {character!r} (U+{ord(character):04X}) is not allowed; "
                    "type plain ASCII hyphens and no quotes, one word an item"
                )
        if not word or " " in word:
            raise ValueError(f"extra option {word!r}: give one word an item, without blanks")
    return list(words)


def _device_arguments(rail: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    arguments = ["-d", str(rail["device"]), "-i", str(rail["port"])]
    index = rail.get("gid_index")
    if index is None:
        return arguments
    if index <= MAX_GID_INDEX:
        return [*arguments, "-x", str(index)]
    if not options.get("rdma_cm"):
        raise ValueError(f"rail {rail['name']}: GID index {index} is above perftest's {MAX_GID_INDEX}; connect with rdma_cm")
    return arguments


def _load_arguments(test: str, options: Mapping[str, Any]) -> list[str]:
    arguments = ["-F"]
    bandwidth = test in BANDWIDTH_TESTS
    if bandwidth:
        arguments.append("--report_gbits")
    # Atomic operations have eight bytes, whatever is asked for.
    if options.get("message_bytes") and "atomic" not in test:
        arguments += ["-s", str(options["message_bytes"])]
    if bandwidth and options.get("queue_pairs"):
        arguments += ["-q", str(options["queue_pairs"])]
    if options.get("duration_s") and options.get("iterations"):
        raise ValueError("duration_s and iterations: give one of them")
    if options.get("duration_s"):
        arguments += ["-D", str(options["duration_s"])]
    if options.get("iterations"):
        arguments += ["-n", str(options["iterations"])]
    if bandwidth and options.get("bidirectional"):
        arguments.append("-b")
    return arguments


def _connection_arguments(rail: Mapping[str, Any], port: int, options: Mapping[str, Any]) -> list[str]:
    arguments = ["-p", str(port)]
    traffic_class = options.get("traffic_class")
    if options.get("rdma_cm"):
        arguments.append("-R")
    if traffic_class is not None:
        arguments += ["-T", str(traffic_class)] if options.get("rdma_cm") else [f"--tclass={traffic_class}"]
    if rail.get("address") and _version(options.get("version")) >= BIND_SOURCE_IP_SINCE:
        arguments.append(f"--bind_source_ip={rail['address']}")
    return arguments


def _memory_arguments(options: Mapping[str, Any]) -> list[str]:
    if options.get("cuda_device") is None:
        return []
    # perftest refuses --use_cuda_dmabuf where it does not stand behind --use_cuda.
    return [f"--use_cuda={options['cuda_device']}", *(["--use_cuda_dmabuf"] if options.get("cuda_dmabuf") else [])]


def _version(text: str | None) -> tuple[int, ...]:
    numbers = (text or "").split(".")
    return tuple(int(number) for number in numbers) if all(number.isdigit() for number in numbers) else ()
