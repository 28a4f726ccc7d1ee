# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each fault is there for real, and heals: measured on node2's rail1 with the system's own tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import yaml
from running_lab import ROOT, Lab

TABLE = yaml.safe_load((ROOT / "roles/lab_fault/vars/main.yml").read_text())["__lab_fault_table"]
FAULTS = sorted(TABLE)
HOST, PEER, RAIL, NETDEV, DEVICE = "node2", "node1", "rail1", "fab1", "rxe1"
ROCE_PORT = 4791


def queue(lab: Lab) -> dict[str, int]:
    """Counters of the rail's queue after a burst of large packets."""
    before = json.loads(lab.output(HOST, f"tc -s -j qdisc show dev {NETDEV} root"))[0]
    lab.run(HOST, f"ping -f -l 100 -c 600 -s 4000 {lab.address(PEER, RAIL)}")
    after = json.loads(lab.output(HOST, f"tc -s -j qdisc show dev {NETDEV} root"))[0]
    return {name: after[name] - before[name] for name in ("drops", "overlimits")}


def sends_limited(lab: Lab) -> bool:
    """Whether packets had to wait for the rate."""
    return queue(lab)["overlimits"] > 0


def loses_packets(lab: Lab) -> bool:
    """Whether packets were dropped on the way out."""
    return queue(lab)["drops"] > 0


def is_late(lab: Lab) -> bool:
    """Whether no answer came before the delay was over."""
    times = lab.output(HOST, f"ping -c 5 -i 0.3 {lab.address(PEER, RAIL)}")
    fastest_ms = float(re.findall(r"rtt min/avg/max/mdev = ([\d.]+)/", times)[0])
    return fastest_ms >= 20.0


def gid_index(lab: Lab, host: str) -> int:
    """Index of the GID that carries the host's address on the rail."""
    digits = "".join(f"{int(part):02x}" for part in lab.address(host, RAIL).split("."))
    found = lab.output(host, f"grep -l 'ffff:{digits[:4]}:{digits[4:]}' /sys/class/infiniband/{DEVICE}/ports/1/gids/*")
    return int(found.split("/")[-1])


def rdma_works(lab: Lab) -> bool:
    """Whether the host and its peer exchange messages over RDMA."""
    program = f"ibv_rc_pingpong -d {DEVICE} -n 20"
    lab.output(HOST, f"systemd-run --quiet --collect timeout 60 {program} -g {gid_index(lab, HOST)}")
    # The server may not listen yet: then the client ends at once.
    client = f"""
        for try in $(seq 20); do
            timeout 15 {program} -g {gid_index(lab, PEER)} {lab.address(HOST, RAIL)} > /tmp/pingpong 2>&1
            status=$?
            grep -q "connect to" /tmp/pingpong || exit $status
            sleep 0.5
        done
        exit 9"""
    done = lab.run(PEER, client)
    lab.run(HOST, "pkill -x ibv_rc_pingpong")
    assert done.returncode in (0, 1, 124), lab.output(PEER, "cat /tmp/pingpong")
    return done.returncode == 0


def may_send_roce(lab: Lab) -> bool:
    """Whether the host may send to the RoCE port: a packet that its own filter drops is refused to the sender."""
    send = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{lab.address(PEER, RAIL)}', {ROCE_PORT}))"
    return bool(lab.run(HOST, f'python3 -c "{send}"').returncode == 0)


def blocks_arriving_roce(lab: Lab) -> bool:
    """Whether RDMA is dead though ping passes and the host may send."""
    return lab.reaches(PEER, HOST, RAIL) and may_send_roce(lab) and not rdma_works(lab)


def blocks_all_roce(lab: Lab) -> bool:
    """Whether RDMA is dead though ping passes, and the host may not even send."""
    return lab.reaches(PEER, HOST, RAIL) and not may_send_roce(lab) and not rdma_works(lab)


def drops_large_packets(lab: Lab) -> bool:
    """Whether the host sends small packets, but not the large ones that its peer sends."""
    return lab.reaches(HOST, PEER, RAIL) and not lab.reaches(HOST, PEER, RAIL, packet_bytes=4200)


def rdma_state(lab: Lab) -> str | None:
    """State of the rail's RDMA device; None when there is no such device."""
    links = json.loads(lab.output(HOST, "rdma -j link show"))
    return next((link["state"] for link in links if link.get("netdev") == NETDEV), None)


def is_down(lab: Lab) -> bool:
    """Whether neither the interface nor the RDMA device works."""
    return not lab.reaches(PEER, HOST, RAIL) and rdma_state(lab) == "DOWN"


def has_no_rdma_device(lab: Lab) -> bool:
    """Whether only the RDMA device is gone."""
    return rdma_state(lab) is None and lab.reaches(PEER, HOST, RAIL)


def has_another_address(lab: Lab) -> bool:
    """Whether the peer finds nobody under the host's address, though the interface is up."""
    return not lab.reaches(PEER, HOST, RAIL) and rdma_state(lab) == "ACTIVE"


def answers_from_another_rail(lab: Lab) -> bool:
    """Whether the interface of another rail answers for the host's address, and RDMA, which does not move along, is dead.

    Ping is no proof: Linux answers for all its addresses on any interface.
    """
    address = lab.address(HOST, RAIL)
    neighbour = f"ip neighbour flush dev {NETDEV}; ping -c 1 -W 2 {address} > /dev/null; ip -j neighbour show {address} dev {NETDEV}"
    own = json.loads(lab.output(HOST, f"ip -j link show dev {NETDEV}"))[0]["address"]
    found = [entry.get("lladdr") for entry in json.loads(lab.output(PEER, neighbour) or "[]")]
    return own not in found and not rdma_works(lab)


def users_lock_little_memory(lab: Lab) -> bool:
    """Whether a user other than root has the low limit."""
    return lab.output(HOST, "su - lab -c 'ulimit -l'") == "64"


def no_huge_page_is_free(lab: Lab) -> bool:
    """Whether the pages are there, and taken."""
    folder = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    total, free = (int(lab.output(HOST, f"cat {folder}/{name}_hugepages")) for name in ("nr", "free"))
    return total > 0 and free == 0


EFFECTS: dict[str, Callable[[Lab], bool]] = {
    "delay": is_late,
    "huge_pages_taken": no_huge_page_is_free,
    "memlock_low": users_lock_little_memory,
    "mtu_mismatch": drops_large_packets,
    "packet_loss": loses_packets,
    "rail_down": is_down,
    "rails_swapped": answers_from_another_rail,
    "rate_limit": sends_limited,
    "rdma_device_removed": has_no_rdma_device,
    "roce_blocked": blocks_all_roce,
    "roce_blocked_in": blocks_arriving_roce,
    "wrong_address": has_another_address,
}


@pytest.fixture(scope="module")
def equipped_lab(lab: Lab) -> Lab:
    """The lab with what the measurements need: ibv_rc_pingpong, and huge pages to take."""
    for host in (HOST, PEER):
        lab.output(host, "apt-get -q --yes install rdma-core ibverbs-utils ibverbs-providers && modprobe ib_uverbs")
    lab.output(HOST, "echo 8 > /proc/sys/vm/nr_hugepages")
    return lab


def set_fault(lab: Lab, fault: str, state: str) -> None:
    """Twice: the second time nothing changes."""
    for changed in (True, False):
        done = lab.fault(fault, state)
        assert done.exit_status == 0, done.output
        assert done.changed is changed


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_there_for_real_and_heals(equipped_lab: Lab, fault: str) -> None:
    effect = EFFECTS[fault]
    try:
        set_fault(equipped_lab, fault, "present")
        assert effect(equipped_lab)
    finally:
        set_fault(equipped_lab, fault, "absent")
    assert not effect(equipped_lab)
    assert equipped_lab.reaches(HOST, PEER, RAIL, packet_bytes=4200)
    assert rdma_state(equipped_lab) == "ACTIVE"


def test_the_healed_rail_carries_rdma(equipped_lab: Lab) -> None:
    assert rdma_works(equipped_lab)


@pytest.mark.parametrize(
    ("fault", "host", "rail", "sentence"),
    [
        ("sharks", "node2", "rail1", "there is no fault sharks; there are delay, huge_pages_taken, memlock_low, "),
        ("rate_limit", "node9", "rail1", "node9 is no lab host; there are node1, node2, node3."),
        ("rate_limit", "node2", "rail7", "needs one of the rails rail0, rail1 of node2, not"),
    ],
)
def test_a_mistake_is_named_with_what_there_is(lab: Lab, fault: str, host: str, rail: str, sentence: str) -> None:
    done = lab.fault(fault, "present", host, rail)
    assert done.exit_status != 0
    assert sentence in " ".join(done.output.split())
