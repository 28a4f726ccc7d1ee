# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What perftest and ibv_rc_pingpong say when a run fails: text → reason → cause and remedy. Data first; the search is below."""

from __future__ import annotations

import re

DEAD = "dead"
FAILED = "failed"
DAMAGED = "damaged"

_MEMLOCK = "raise the memlock limit (ulimit -l; in pods the capability IPC_LOCK)"
_PATH = "check GID index, the MTU along the path, PFC, routes between the two addresses, and filters on UDP 4791"
_SERVER = "see why the server side did not start; check filters on the control port"
_GID = "check GID index and MTU on both sides"
_KERNEL_LOG = "read the kernel log of both hosts"

# reason: (outcome, cause with the pattern's groups, remedy)
REASONS = {
    "unknown_option": (FAILED, "this perftest does not know the option {}", "leave the option out, or install a newer perftest"),
    "dmabuf_before_cuda": (FAILED, "--use_cuda_dmabuf stood before --use_cuda", "put --use_cuda=N first"),
    "gid_index_range": (FAILED, "perftest takes GID indexes from 0 to 64 only", "connect with rdma_cm (verify_perftest_rdma_cm)"),
    "bad_arguments": (FAILED, "bad perftest arguments", "read the first lines of the output"),
    "no_device": (FAILED, "there is no RDMA device {}", "load its driver, or correct the rail's netdev"),
    "no_devices": (FAILED, "there is no RDMA device at all", "load the driver, or give the pod its device"),
    "port_in_use": (FAILED, "the TCP port {} is in use", "choose another range (verify_perftest_port_first)"),
    "port_down": (FAILED, "port {} of the device is down", "bring the link up"),
    "gid_type": (FAILED, "the GID is empty or of another type than the peer's", "use the RoCE v2 GID of the rail's address on both sides"),
    "no_gpu_memory_path": (FAILED, "there is no way to register GPU memory", "load nvidia_peermem, or use --use_cuda_dmabuf"),
    "no_dmabuf": (
        FAILED,
        "DMA-BUF is not supported by this card, GPU, driver or kernel",
        "load nvidia_peermem, or update driver and kernel",
    ),
    "memory_registration": (FAILED, "memory registration failed", _MEMLOCK),
    "gpu_memory_registration": (FAILED, "memory registration failed", f"load nvidia_peermem or use --use_cuda_dmabuf; else {_MEMLOCK}"),
    "memory_registration_errno": (
        FAILED,
        "memory registration failed with error {}",
        "look the number up in errno(3), read the kernel log",
    ),
    "transport_retry_exceeded": (DEAD, "transport retry exceeded (12): packets or their acknowledgements were lost", _PATH),
    "rnr_retry_exceeded": (DEAD, "the receiver was never ready (13)", "see whether the peer's host is overloaded"),
    "broke_off": (DAMAGED, "the connection broke off in the middle of the test (status {})", f"run the test again; {_KERNEL_LOG}"),
    "remote_error": (FAILED, "the peer refused the access (status {})", "start both sides with the same test and options"),
    "completion_error": (FAILED, "a work request ended with status {}", f"look the status up in ibv_wc_status_str(3), {_KERNEL_LOG}"),
    "completion": (FAILED, "a work request ended with an error", _KERNEL_LOG),
    "gid_unusable": (FAILED, "the queue pair cannot reach its peer", _GID),
    "rdma_cm_address": (FAILED, "rdma_cm found no RDMA path to the address", "use the address of an RDMA netdev, check its route"),
    "rdma_cm_rejected": (FAILED, "nobody listens at the peer (rejected by rdma_cm)", _SERVER),
    "rdma_cm_unreachable": (DEAD, "rdma_cm got no answer from the peer (event {})", _PATH),
    "rdma_cm_event": (FAILED, "rdma_cm could not connect (event {})", "check address, route and RDMA netdev on both sides"),
    "no_server": (FAILED, "server not reachable on {}", _SERVER),
    "no_connection": (FAILED, "server not reachable", _SERVER),
    "version": (FAILED, "the peer's perftest is too old", "install the same perftest on both hosts"),
    "peer_hung": (DEAD, "no message from the peer for {} seconds", _PATH),
    "duration_too_short": (FAILED, "the duration is too short for its margins", "test longer (verify_perftest_duration_s)"),
    "below_limit": (FAILED, "the result is below the limit given to perftest", "leave -w and -y out: thresholds are judged afterwards"),
    "peer_gone": (FAILED, "the peer ended before the test did", "the cause is in the other side's output"),
    "not_found": (FAILED, "the tool is not installed", "install perftest and rdma-core's examples (host_rdma does)"),
    "tool": (FAILED, "the tool gave up", "read its output"),
}

# These reasons only say that nobody listened yet: the client may try again.
RETRIED = ("no_server", "no_connection", "rdma_cm_rejected")

# (pattern, reason, GPU memory: True, False, or None for both). The first match wins: causes stand before what follows from them.
PATTERNS = tuple(
    (re.compile(pattern), reason, cuda)
    for pattern, reason, cuda in (
        (r"unrecognized option '([^']+)'", "unknown_option", None),
        (r"invalid option -- '(.)'", "unknown_option", None),
        (r"CUDA DMA-BUF cannot be used without CUDA", "dmabuf_before_cuda", None),
        (r"Gid index should be between 0 and 64", "gid_index_range", None),
        (r"Parser function exited with Error", "bad_arguments", None),
        (r"executable file not found|failed to run command|execution of `[^']*': No such file", "not_found", None),
        (r"IB device (\S+) not found", "no_device", None),
        (r"Unable to find the Infiniband/RoCE device|Did not detect devices|No IB devices found", "no_devices", None),
        (r"Couldn't listen to port (\d+)", "port_in_use", None),
        (r"Port number (\d+) state is Down", "port_down", None),
        (r"Found Incompatibility issue with GID types", "gid_type", None),
        (r"Couldn't allocate MR with error=14\b", "no_gpu_memory_path", True),
        (r"Couldn't allocate MR with error=93\b", "no_dmabuf", True),
        (r"DMA_BUF is not supported on this GPU|cuMemGetHandleForAddressRange error", "no_dmabuf", None),
        (r"Couldn't allocate MR with error=12\b", "memory_registration", None),
        (r"Couldn't allocate MR with error=(\d+)", "memory_registration_errno", None),
        (r"Couldn't allocate MR|failed to create mr", "gpu_memory_registration", True),
        (r"Couldn't allocate MR|Couldn't register MR|failed to create mr", "memory_registration", False),
        (r"Failed status[- ]transport retry counter exceeded \(12\)|Failed status 12\b", "transport_retry_exceeded", None),
        (r"Failed status[- ]RNR retry counter exceeded \(13\)|Failed status 13\b", "rnr_retry_exceeded", None),
        # Where some messages were completed (ccnt), both sides had agreed: their options are not at fault.
        (r"Failed status (5|9|10|11): [^\n]*\n(?:[^\n]*\n)??scnt=\d+, ccnt=[1-9]", "broke_off", None),
        (r"Failed status-[^\n]*?\((5|9|10|11)\): [^\n]*\n(?:[^\n]*\n)??scnt=\d+, ccnt=[1-9]", "broke_off", None),
        (r"Failed status[- ][^\n]*?\((9|10|11)\)|Failed status (9|10|11)\b", "remote_error", None),
        (r"Failed status[- ][^\n]*?\((\d+)\)|Failed status (\d+)\b", "completion_error", None),
        (r"Failed to modify QP(?: \w+)? to RTR|client read/write: No space left on device", "gid_unusable", None),
        (r"ADDR_ERROR|rdma_resolve_addr failed|rdma_resolve_route failed", "rdma_cm_address", None),
        (r"[Uu]nexpected CM event bl blka 8\b", "rdma_cm_rejected", None),
        (r"[Uu]nexpected CM event bl blka (7)\b", "rdma_cm_unreachable", None),
        (r"[Uu]nexpected CM event (?:bl blka )?(\d+)", "rdma_cm_event", None),
        (r"Couldn't connect to (\S+:\d+)", "no_server", None),
        (r"Unable to init the socket connection", "no_connection", None),
        (r"not compatible with versions older than", "version", None),
        (r"Did not get Message for (\d+) Seconds", "peer_hung", None),
        (r"margin is not long enough", "duration_too_short", None),
        (r"result is below (?:bw|msg_rate|msgrate|msg rate) limit", "below_limit", None),
        (r"Completion with error at (?:client|server)", "completion", None),
        (r"Couldn't read(?:/write)? remote address|Unable to read to socket/rdma_cm|Failed to exchange data", "peer_gone", None),
        (r"Couldn't connect to remote QP|Unable to Connect the HCA's", "gid_unusable", None),
        (r"Failed to complete run_iter|parse WC failed|Couldn't create IB resources", "tool", None),
    )
)


class PerftestError(ValueError):
    """Output that gives no measurement.

    ``reason``: a short code. ``outcome``: dead, failed or damaged, as in an attempt. ``cause``: what happened. ``remedy``: what to do.
    ``line``: the telling line of the output, or None. ``retry``: nobody listened yet, nothing else is wrong.
    """

    def __init__(self, reason: str, cause: str, remedy: str = "", outcome: str = DAMAGED, line: str | None = None) -> None:
        super().__init__(f"{cause}: {remedy}" if remedy else cause)
        self.reason, self.cause, self.remedy, self.outcome, self.line = reason, cause, remedy, outcome, line
        self.retry = reason in RETRIED


def uses_cuda(text: str, command: str) -> bool:
    """Tell whether the run used GPU memory, by its command or its preamble."""
    return "--use_cuda" in command or "initializing CUDA" in text


def find_error(text: str, command: str = "") -> PerftestError | None:
    """Return the known error that the text of one side shows, causes before consequences, or None."""
    with_cuda = uses_cuda(text, command)
    for pattern, reason, cuda in PATTERNS:
        found = pattern.search(text) if cuda in (None, with_cuda) else None
        if found:
            outcome, cause, remedy = REASONS[reason]
            groups = [group for group in found.groups() if group is not None]
            return PerftestError(reason, cause.format(*groups), remedy, outcome, line_of(text, found.start(), found.end()))
    return None


def line_of(text: str, start: int, end: int) -> str:
    """Return the whole line, or lines, around a stretch of text."""
    stop = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : len(text) if stop < 0 else stop].strip()
