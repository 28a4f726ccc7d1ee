# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tarball as a user gets it: what is in it, that it installs without a network, that it runs from another folder."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tarfile
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.executable).parent
FILTERS = sorted(path.stem for path in (ROOT / "plugins" / "filter").glob("*.py"))
MODULES = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
FOLDERS = ("plugins", "roles", "playbooks", "inventories", "docs", "meta", "LICENSES")
NOT_FOR_USERS = (".cache/", ".ci/", ".git", ".venv/", "molecule/", "reports/", "requirements/", "tests/", "tools/")


@dataclass
class User:
    """Somebody with an empty home who works in a folder of their own and has installed the tarball."""

    home: pathlib.Path
    tarball: pathlib.Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of the virtual environment; nothing of the checkout is in its environment."""
        environment = {
            "PATH": f"{PROGRAMS}:{os.defpath}",
            "HOME": str(self.home),
            "ANSIBLE_HOME": str(self.home / ".ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.home / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        command = [str(PROGRAMS / program), *arguments]
        return subprocess.run(
            command, cwd=self.home, env=environment, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )


@pytest.fixture(scope="session")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    """Builds and installs; both must succeed for any test here."""
    user = User(tmp_path_factory.mktemp("home"), pathlib.Path())
    built = user.run("ansible-galaxy", "collection", "build", str(ROOT), "--output-path", str(user.home))
    assert built.returncode == 0, built.stderr
    (user.tarball,) = user.home.glob("rdma-k8s-*.tar.gz")
    installed = user.run("ansible-galaxy", "collection", "install", str(user.tarball), "--offline", "-p", str(user.home / "collections"))
    assert installed.returncode == 0, installed.stderr
    return user


def members(tarball: pathlib.Path) -> dict[str, bytes]:
    """Path -> content of the files in the tarball."""
    with tarfile.open(tarball) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]


def test_it_holds_what_users_run(user: User) -> None:
    listed = subprocess.run(["git", "ls-files", "--", *FOLDERS], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    there = {path for path in listed if (ROOT / path).is_file()}
    assert there
    assert there <= members(user.tarball).keys()


def test_it_holds_nothing_else(user: User) -> None:
    assert [name for name in members(user.tarball) if name.startswith(NOT_FOR_USERS) or "__pycache__" in name] == []


def test_it_names_no_path_of_this_machine(user: User) -> None:
    assert [name for name, content in members(user.tarball).items() if f"{ROOT}/".encode() in content] == []


def test_each_playbook_is_found_by_its_full_name(user: User) -> None:
    playbooks = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))
    collection = user.home / "collections" / "ansible_collections" / "rdma" / "k8s"
    inventory = collection / "inventories" / "example"
    run = user.run("ansible-playbook", *(f"rdma.k8s.{name}" for name in playbooks), "-i", str(inventory), "--syntax-check")
    assert run.returncode == 0, run.stderr
    assert [line.removeprefix("playbook: ") for line in run.stdout.splitlines() if line] == [
        str(collection / "playbooks" / f"{name}.yml") for name in playbooks
    ]


@pytest.mark.parametrize(("kind", "names"), [("filter", FILTERS), ("module", MODULES)], ids=["filter", "module"])
def test_each_plugin_is_documented(user: User, kind: str, names: list[str]) -> None:
    run = user.run("ansible-doc", "--json", "-t", kind, *(f"rdma.k8s.{name}" for name in names))
    assert run.returncode == 0, run.stderr
    documented = json.loads(run.stdout)
    assert [name for name in names if not documented.get(f"rdma.k8s.{name}", {}).get("doc")] == []


def test_a_filter_and_a_module_run_from_it(user: User) -> None:
    playbook = user.home / "play.yml"
    playbook.write_text(
        """
- name: Use the installed collection
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Read this machine
      rdma.k8s.rdma_info:
      register: read
    - name: Plan two hosts on one rail
      ansible.builtin.assert:
        that:
          - read.rdma_facts.cpus > 0
          - plan.rounds | flatten | length > 0
      vars:
        plan: "{{ ['a', 'b'] | rdma.k8s.plan_rounds({'a': ['rail0'], 'b': ['rail0']}) }}"
""",
        encoding="utf-8",
    )
    run = user.run("ansible-playbook", str(playbook))
    assert run.returncode == 0, run.stdout + run.stderr
