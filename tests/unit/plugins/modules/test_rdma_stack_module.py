# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import fake_host
import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import rdma_stack as subject
from ansible_collections.rdma.k8s.plugins.module_utils.host import HostError
from ansible_collections.rdma.k8s.plugins.modules import rdma_stack

PARAMS = {
    "stack": "inbox",
    "packages": {"debian": ["perftest", "iproute2"], "rhel": ["perftest", "iproute"]},
    "modules": ["ib_uverbs", "rdma_ucm"],
    "proxy": None,
}
INSTALLED = "/installed"  # where this double keeps its packages
APT = (*subject.INSTALL["debian"], "perftest")
UPDATE = (*subject.APT, "update")


def query(host: fake_host.FakeHost) -> str:
    return str(host.files[INSTALLED])


def install(host: fake_host.FakeHost) -> str:
    host.files[INSTALLED] = query(host) + "perftest installed\n"
    return ""


def load(name: str) -> Callable[[fake_host.FakeHost], str]:
    def act(host: fake_host.FakeHost) -> str:
        host.files[f"/sys/module/{name}/refcnt"] = "0"
        return ""

    return act


def debian_host() -> fake_host.FakeHost:
    return fake_host.FakeHost(
        {
            "/etc/os-release": "ID=debian\n",
            "/proc/sys/kernel/osrelease": "6.1.0\n",
            "/sys/module/ib_uverbs/refcnt": "1",
            INSTALLED: "iproute2 installed\n",
        },
        {
            (*subject.QUERY["debian"], "perftest", "iproute2"): query,
            ("dpkg", "--configure", "-a"): "",
            UPDATE: "",
            (*APT, "--simulate"): "Inst libnl-3-200 (3.7.0-0.2 stable [amd64])\nInst perftest (4.5 stable [amd64])\n",
            APT: install,
            ("modprobe", "rdma_ucm"): load("rdma_ucm"),
        },
    )


def test_only_what_is_missing_is_done() -> None:
    host = debian_host()
    result = fake_host.converge(rdma_stack, PARAMS, host)
    assert result["changed"]
    assert ("modprobe", "ib_uverbs") not in host.ran
    assert host.files[rdma_stack.BOOT_FILE] == subject.HEADER + "ib_uverbs\nrdma_ucm\n"
    host.ran.clear()
    assert not fake_host.converge(rdma_stack, PARAMS, host.reborn())["changed"]
    assert UPDATE not in host.ran  # new lists only when something is missing


def test_check_mode_predicts_and_touches_nothing() -> None:
    host = debian_host()
    predicted = fake_host.converge(rdma_stack, PARAMS, host, check_mode=True)
    assert (host.changes, UPDATE in host.ran) == (0, False)
    assert predicted == fake_host.converge(rdma_stack, PARAMS, host)


def test_each_kill_is_survived() -> None:
    assert fake_host.survives_each_kill(rdma_stack, PARAMS, debian_host) == 6


def test_the_record_names_all_that_came_along() -> None:
    host = debian_host()
    fake_host.converge(rdma_stack, PARAMS, host)
    assert host.record[0]["what"] == {"kind": "packages", "names": ["libnl-3-200", "perftest"]}


def test_dnf_on_relatives_of_rhel() -> None:
    host = debian_host()
    host.files["/etc/os-release"] = 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'
    host.files[INSTALLED] = "package perftest is not installed\niproute installed\n"
    host.commands = {
        (*subject.QUERY["rhel"], "perftest", "iproute"): query,
        (*subject.INSTALL["rhel"], "perftest"): install,
        ("modprobe", "rdma_ucm"): load("rdma_ucm"),
    }
    assert fake_host.converge(rdma_stack, PARAMS, host)["changed"]
    assert not fake_host.converge(rdma_stack, PARAMS, host.reborn())["changed"]


def test_what_apt_says_is_passed_on_in_one_sentence() -> None:
    host = debian_host()
    host.commands[(*APT, "--simulate")] = HostError("`apt-get …` ended with 100: E: Unable to locate package perftest", "apt-get", 100)
    result = fake_host.converge(rdma_stack, PARAMS, host)
    assert (result["failed"], result["msg"]) == (True, "`apt-get …` ended with 100: E: Unable to locate package perftest")
    assert host.changes == 0


def test_a_mirror_that_is_away_is_no_reason_to_stop() -> None:
    host = debian_host()
    host.commands[UPDATE] = HostError("`apt-get update` ended with 100: E: …", "apt-get", 100)
    assert fake_host.converge(rdma_stack, PARAMS, host)["changed"]


@pytest.mark.parametrize("builtin", ["kernel/drivers/infiniband/core/rdma_ucm.ko\n", "kernel/drivers/infiniband/core/rdma-ucm.ko\n"])
def test_a_module_built_into_the_kernel_is_loaded(builtin: str) -> None:
    host = debian_host()
    host.files["/lib/modules/6.1.0/modules.builtin"] = builtin
    fake_host.converge(rdma_stack, PARAMS, host)
    assert ("modprobe", "rdma_ucm") not in host.ran


def test_the_stacks_are_not_mixed() -> None:
    host = debian_host()
    host.commands[("ofed_info", "-s")] = "OFED-internal-25.10-1.7.1:\n"
    result = fake_host.converge(rdma_stack, PARAMS, host)
    assert result["msg"].startswith("stack: inbox was asked for, but an OFED is installed")
    assert host.changes == 0


def test_an_unknown_distribution_is_refused() -> None:
    host = debian_host()
    host.files["/etc/os-release"] = "ID=alpine\n"
    assert "this host runs alpine" in fake_host.converge(rdma_stack, PARAMS, host)["msg"]


def test_no_modules_no_boot_file() -> None:
    host = debian_host()
    fake_host.converge(rdma_stack, PARAMS, host)
    assert fake_host.converge(rdma_stack, {**PARAMS, "modules": []}, host.reborn())["changed"]
    assert rdma_stack.BOOT_FILE not in host.files
