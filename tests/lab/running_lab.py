# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The software lab as its users have it: playbooks, and ssh under the generated configuration."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYBOOK_TIMEOUT_S = 1200
COMMAND_TIMEOUT_S = 300


@dataclasses.dataclass(frozen=True)
class Done:
    """How a playbook went."""

    exit_status: int
    output: str

    @property
    def changed(self) -> bool:
        """Whether any task changed anything."""
        return re.search(r"changed=[1-9]", self.output.rpartition("PLAY RECAP")[2]) is not None


@dataclasses.dataclass(frozen=True)
class Lab:
    """The lab as its users have it: playbooks, and ssh under the generated configuration."""

    directory: pathlib.Path
    namespace: str
    hosts: list[str]
    rails: list[str]
    arguments: list[str]

    def play(self, name: str, *arguments: str) -> Done:
        """Run one of the collection's playbooks."""
        words = [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{name}.yml", "-i", "inventories/lab"]
        done = subprocess.run(
            [*words, *self.arguments, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PLAYBOOK_TIMEOUT_S,
        )
        return Done(done.returncode, done.stdout)

    def restore(self) -> None:
        """All hosts as they were after their first boot."""
        done = self.play("lab_up", "-e", "lab_vm_state=restored")
        assert done.exit_status == 0, done.output

    def fault(self, name: str, state: str, host: str = "node2", rail: str = "rail1") -> Done:
        """Bring a fault, or take it away."""
        return self.play(
            "lab_fault",
            *("-e", f"lab_fault={name}", "-e", f"lab_fault_host={host}", "-e", f"lab_fault_rail={rail}", "-e", f"lab_fault_state={state}"),
        )

    def run(self, host: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a lab host as root."""
        ssh = ["ssh", "-F", str(self.directory / "ssh_config"), host, command]
        return subprocess.run(ssh, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S)

    def output(self, host: str, command: str) -> str:
        """What a command prints, without the last line's end; it must succeed."""
        done = self.run(host, command)
        assert done.returncode == 0, f"{host}: {command}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def address(self, host: str, rail: str) -> str:
        """A host's own address on a rail, without prefix."""
        inventory = yaml.safe_load((ROOT / "inventories/lab/hosts.yml").read_text())
        address: str = inventory["rdma_hosts"]["hosts"][host]["rdma_rail_addresses"][rail]
        return address.partition("/")[0]

    def reaches(self, client: str, server: str, rail: str, packet_bytes: int = 84) -> bool:
        """Whether a host has an answer from another one on a rail, to unfragmented packets of this size."""
        payload = packet_bytes - 28
        ping = f"ping -M do -c 3 -i 0.2 -W 2 -s {payload} -I {self.address(client, rail)} {self.address(server, rail)}"
        return self.run(client, ping).returncode == 0

    def processes(self) -> list[str]:
        """Command lines of the lab's processes on this machine."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if pathlib.Path(words[0]).name in ("qemu-system-x86_64", "socat") and any(f"{self.directory}/vm/" in word for word in words):
                found.append(" ".join(words))
        return found

    def namespaces(self) -> list[str]:
        """Names of this machine's network namespaces."""
        return [path.name for path in pathlib.Path("/run/netns").glob("*")]
