# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import busy
from ansible_collections.rdma.k8s.plugins.module_utils.busy_facts import gather_busy
from ansible_collections.rdma.k8s.plugins.module_utils.device_facts import gather_devices
from ansible_collections.rdma.k8s.plugins.module_utils.rdma_device import bytes_moved
from fake_host import FakeHost
from recorded_host import NET, RDMA, facts_of, mlx5_host, rxe_host

POD = (
    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod4f5a1b2c_0d3e_4f60_8a7b_9c0d1e2f3a4b.slice/cri-containerd-1.scope\n"
)
RAIL = {"name": "rail0", "netdev": "fab0", "device": "rxe0"}


def with_process(
    host: FakeHost, pid: int, command: str, opened: str = "", cgroup: str = "0::/system.slice\n", capabilities: str = "0"
) -> FakeHost:
    host.files |= {f"/proc/{pid}/comm": command + "\n", f"/proc/{pid}/cgroup": cgroup, f"/proc/{pid}/status": f"CapEff:\t{capabilities}\n"}
    host.files["/sys/class/infiniband_verbs/uverbs0/ibdev"] = "rxe0\n"
    if opened:
        host.links[f"/proc/{pid}/fd/3"] = opened
    return host


def test_a_process_with_an_open_device() -> None:
    host = with_process(rxe_host(), 77, "ib_write_bw", "/dev/infiniband/uverbs0")
    with_process(host, 78, "ibacm", "/dev/infiniband/uverbs0")  # a service of the stack
    with_process(host, 79, "bash", "/dev/pts/0")
    facts = facts_of(host)
    assert facts["busy"]["open_devices"] == [{"pid": 77, "command": "ib_write_bw", "device": "rxe0"}]
    assert busy.busy_reasons(facts, [RAIL]) == ["process 77 (ib_write_bw) holds rxe0 open"]
    assert busy.busy_reasons(facts, [{**RAIL, "device": "rxe1", "netdev": "fab1"}]) == []


def test_a_pod_with_a_device_of_its_own() -> None:
    host = with_process(rxe_host(), 80, "python3", cgroup=POD)
    with_process(host, 81, "kube-proxy", cgroup=POD.replace("4f5a", "0000"), capabilities="000001ffffffffff")  # privileged: sees all
    with_process(host, 82, "pause", cgroup=POD.replace("4f5a", "1111"))  # was given none
    for pid in (80, 81):
        host.files[f"/proc/{pid}/root/dev/infiniband/uverbs0"] = ""
    facts = facts_of(host)
    assert facts["busy"]["pods"] == [{"pid": 80, "command": "python3"}]
    assert busy.busy_reasons(facts, [RAIL]) == ["a pod with RDMA devices runs here (process 80, python3)"]


@pytest.mark.parametrize(
    ("make_host", "counter", "step", "netdev", "rate"),
    [
        (mlx5_host, f"{RDMA}/mlx5_0/ports/1/counters/port_xmit_data", 1_000_000, "ens1f0np0", 4_000_000),
        (rxe_host, f"{RDMA}/rxe0/ports/1/hw_counters/sent_pkts", 9, "fab0", 500_000),
    ],
)
def test_counters_that_move(monkeypatch: pytest.MonkeyPatch, make_host: Any, counter: str, step: int, netdev: str, rate: int) -> None:
    """A card counts words of four bytes; rxe only packets, so the netdev's bytes stand for them."""
    host = make_host()
    ticks = [0.0]

    def sleep(seconds: float) -> None:
        ticks[0] += seconds
        host.files[counter] = str(int(str(host.files[counter])) + step)
        host.files[f"{NET}/{netdev}/statistics/tx_bytes"] = str(1000 + 500_000)

    monkeypatch.setattr(host, "sleep", sleep)
    monkeypatch.setattr(host, "clock", lambda: ticks[0])
    found = gather_busy(host, gather_devices(host), [], 1.0)
    assert found["moving"] == [{"netdev": netdev, "bytes_s": rate}]


def test_tcp_on_the_same_netdev_is_no_rdma() -> None:
    counters = {"sent_pkts": 5, "rcvd_pkts": 5}
    assert bytes_moved(counters, counters, 10**9) == 0


def test_background_noise_is_not_traffic() -> None:
    assert busy.moving_netdevs({"a": 124_000, "b": 126_000, "c": 10**9}, 1.0) == [
        {"netdev": "c", "bytes_s": 10**9},
        {"netdev": "b", "bytes_s": 126_000},
    ]


def test_traffic_is_told_in_gigabits() -> None:
    facts = {
        "busy": {
            "open_devices": [],
            "pods": [],
            "moving": [{"netdev": "fab0", "bytes_s": 125_000_000}, {"netdev": "eth0", "bytes_s": 10**9}],
        }
    }
    assert busy.busy_reasons(facts, [RAIL]) == ["RDMA traffic of 1 Gb/s flows on rail0 (fab0)"]


@pytest.mark.parametrize(
    "cgroup",
    [
        POD,
        "12:devices:/kubepods/besteffort/pod4f5a1b2c-0d3e-4f60-8a7b-9c0d1e2f3a4b/abc\n",
        "0::/system.slice/containerd.service/kubepods-pod4f5a1b2c_0d3e_4f60_8a7b_9c0d1e2f3a4b.slice:cri-containerd:abc\n",
    ],
)
def test_pods_by_their_cgroup(cgroup: str) -> None:
    assert busy.parse_pod(cgroup) == "4f5a1b2c-0d3e-4f60-8a7b-9c0d1e2f3a4b"
    assert busy.parse_pod("0::/user.slice/user-0.slice\n") is None
