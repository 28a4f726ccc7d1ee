# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils import rdma_stack

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "rdma_stack"
PACKAGES = {"debian": ["perftest"], "rhel": ["perftest"]}


@pytest.mark.parametrize(
    ("os_release", "family"),
    [
        ((FIXTURES / "os-release_debian-12.txt").read_text(), "debian"),
        ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", "debian"),
        ('NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\n', "rhel"),
        ("ID='rhel'\n", "rhel"),
    ],
)  # fmt: skip
def test_family_of_a_distribution(os_release: str, family: str) -> None:
    assert rdma_stack.choose_family(os_release, PACKAGES) == family


@pytest.mark.parametrize(("os_release", "name"), [('ID="sles"\nID_LIKE="suse"\n', "sles"), ("", "an unknown system")])
def test_an_unsupported_distribution_is_named(os_release: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"this host runs {name}; supported are debian and rhel and their relatives"):
        rdma_stack.choose_family(os_release, PACKAGES)


def test_only_wholly_installed_packages_count() -> None:
    assert rdma_stack.parse_installed((FIXTURES / "dpkg-query_show.txt").read_text()) == {"iproute2"}
    assert rdma_stack.parse_installed("perftest half-configured\nrdma-core installed\n") == {"rdma-core"}
    assert rdma_stack.parse_installed("package perftest is not installed\nethtool installed\n") == {"ethtool"}  # rpm


def test_upgrades_are_not_new() -> None:
    simulation = (FIXTURES / "apt-get_simulate_install.txt").read_text()
    new = ["ibverbs-providers", "libibumad3", "libpci3", "pci.ids", "perftest", "rdma-core", "udev"]
    assert rdma_stack.parse_new_packages(simulation) == new


def test_the_boot_file() -> None:
    assert (rdma_stack.boot_text(["ib_uverbs", "rdma_ucm"]) or "").splitlines()[1:] == ["ib_uverbs", "rdma_ucm"]
    assert rdma_stack.boot_text([]) is None


@pytest.mark.parametrize("name", ["", "-r", "a b", "a;b", "a/b"])
def test_a_bad_module_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a kernel module"):
        rdma_stack.boot_text([name])


def test_a_proxy_is_for_both_schemes() -> None:
    assert rdma_stack.proxy_environment("http://p:3128") == {"http_proxy": "http://p:3128", "https_proxy": "http://p:3128"}
    assert rdma_stack.proxy_environment(None) == {}
