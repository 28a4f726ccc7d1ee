# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The software lab for the tests of this folder: started once, set back to its first snapshot for each file, taken down in the end."""

from __future__ import annotations

import pathlib
import shlex
from collections.abc import Iterator

import pytest
import yaml
from running_lab import ROOT, Lab


def pytest_addoption(parser: pytest.Parser) -> None:
    """Lets the tests use another lab than the default one."""
    parser.addoption("--lab-arguments", default="", help="for the lab's playbooks, e. g. '-e lab_directory=/tmp/lab -e lab_namespace=lab'")


@pytest.fixture(scope="session")
def lab_for_all(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The lab; nothing of it is left after the tests."""
    arguments = shlex.split(request.config.getoption("--lab-arguments"))
    settings = dict(word.split("=", 1) for word in arguments if "=" in word)
    inventory = yaml.safe_load((ROOT / "inventories/lab/hosts.yml").read_text())
    rails = yaml.safe_load((ROOT / "inventories/lab/group_vars/rdma_hosts.yml").read_text())["rdma_rails"]
    lab = Lab(
        directory=pathlib.Path(settings.get("lab_directory", ROOT / ".cache/lab")),
        namespace=settings.get("lab_namespace", "rdma-lab"),
        hosts=list(inventory["rdma_hosts"]["hosts"]),
        rails=[rail["name"] for rail in rails],
        arguments=arguments,
    )
    yield lab
    lab.play("lab_down")


@pytest.fixture(scope="module")
def lab(lab_for_all: Lab) -> Lab:
    """The lab, as it was after its first boot, for the tests of one file."""
    lab_for_all.restore()
    return lab_for_all
