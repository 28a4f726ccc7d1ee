# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab makes on the machine: its network namespace, keys and files, and the processes of its hosts."""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import subprocess
import tarfile

import guest
from guest import Lab


class LabError(Exception):
    """A sentence for the user: what does not work, and what to do."""


def run(*command: str, timeout_s: float = 60.0) -> str:
    """Standard output of a command; LabError with its own words when it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise LabError(f"{command[0]} is not installed: see roles/lab_image/files/controller-packages.txt.") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{' '.join(command[:8])}` did not end within {timeout_s:.0f} s.") from error
    if done.returncode:
        raise LabError(f"`{' '.join(command[:8])}` failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def check(lab: Lab) -> None:
    """Name what hinders the lab before anything is made."""
    if os.geteuid():
        raise LabError("The lab needs root for its network namespace: run it as root, or as a user who may use sudo.")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise LabError("/dev/net/tun is missing: load the module tun, or give the container this device.")
    if len(lab.directory) > LONGEST_DIRECTORY:
        raise LabError(f"{lab.directory} is too long for the sockets under it: use a folder of at most {LONGEST_DIRECTORY} characters.")
    free = shutil.disk_usage(lab.directory).free >> 30
    if free < FREE_DISK_GIB:
        raise LabError(f"{lab.directory} has {free} GiB free: the lab needs {FREE_DISK_GIB} GiB.")


# A socket's path has at most 107 characters; ssh adds 18 of its own to it while it makes one.
LONGEST_DIRECTORY = 65
FREE_DISK_GIB = 4


def make_directory(lab: Lab) -> None:
    """The folder of all that the lab keeps."""
    pathlib.Path(lab.directory).mkdir(parents=True, exist_ok=True)
    own(lab, pathlib.Path(lab.directory))


def make_network(lab: Lab) -> None:
    """The namespace with one bridge for each rail and one tap for each host on it; no address on the machine's side."""
    remove_network(lab)
    if namespace_path(lab).exists():
        raise LabError(f"Another lab uses the network namespace {lab.namespace}: take it down, or set lab_namespace to a new name.")
    run("ip", "netns", "add", lab.namespace)
    inside = ("ip", "netns", "exec", lab.namespace)
    run(*inside, "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    lines = ["link set lo up"]
    for rail in range(lab.rails):
        lines += [f"link add rail{rail} type bridge stp_state 0 forward_delay 0 mcast_snooping 0", f"link set rail{rail} up mtu 9000"]
        for host in lab.hosts:
            tap = guest.tap(host, rail)
            lines += [f"tuntap add dev {tap} mode tap multi_queue", f"link set {tap} master rail{rail} up mtu 9000"]
    for line in lines:
        run("ip", "-n", lab.namespace, *line.split())


def namespace_path(lab: Lab) -> pathlib.Path:
    """Where iproute2 keeps the namespace."""
    return pathlib.Path("/run/netns", lab.namespace)


def remove_network(lab: Lab) -> bool:
    """Take the namespace away unless somebody else's processes are in it; whether it went."""
    try:
        if not namespace_path(lab).exists() or run("ip", "netns", "pids", lab.namespace).split():
            return False
        run("ip", "netns", "delete", lab.namespace)
    except LabError:
        if namespace_path(lab).exists():  # else another `down` was quicker
            raise
    return True


def own(lab: Lab, path: pathlib.Path) -> None:
    """Give a file to the user who runs the lab: under sudo all is made by root."""
    shutil.chown(path, lab.user)


def write(lab: Lab, path: pathlib.Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file whose rights are right from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in path.parent, path.parent.parent:
        own(lab, folder)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    own(lab, path)


def make_keys(lab: Lab) -> None:
    """A key for the user and one for each host, made once a lab, and what ssh must know of them."""
    keys = pathlib.Path(lab.directory, "keys")
    keys.mkdir(parents=True, exist_ok=True)
    own(lab, keys)
    for name in ("lab", *lab.hosts):
        if not (keys / f"{name}.pub").exists():
            (keys / name).unlink(missing_ok=True)
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(keys / name))
        own(lab, keys / name)
        own(lab, keys / f"{name}.pub")
    known = "".join(f"{host} {(keys / f'{host}.pub').read_text()}" for host in lab.hosts)
    write(lab, keys / "known_hosts", known.encode())
    write(lab, pathlib.Path(lab.directory, "ssh_config"), guest.ssh_config(lab).encode())


def make_identity(lab: Lab, host: str) -> None:
    """The files that the guest reads through QEMU's firmware configuration."""
    there, keys = lab.host_directory(host), pathlib.Path(lab.directory, "keys")
    write(lab, there / "hostname", host.encode())
    write(lab, there / "host_key", (keys / host).read_bytes(), 0o600)
    write(lab, there / "authorized_key", (keys / "lab.pub").read_bytes())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in guest.network_files(lab, host).items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text), 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    write(lab, there / "network", archive.getvalue())


def make_disk(lab: Lab, host: str) -> None:
    """A fresh disk over the image: what the host wrote before is lost, its snapshots too."""
    disk = lab.host_directory(host) / "disk.qcow2"
    disk.unlink(missing_ok=True)
    run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", f"{lab.image}/base.qcow2", str(disk))
    own(lab, disk)


def start(lab: Lab, host: str, accelerator: str, snapshot: str | None) -> None:
    """Start a host in the lab's namespace, and the relay through which its sshd is reached from outside of it."""
    inside = ("ip", "netns", "exec", lab.namespace)
    run(*inside, *guest.qemu_command(lab, host, accelerator, snapshot))
    socket = lab.host_directory(host) / "ssh"
    relay = f"UNIX-LISTEN:{socket},fork,unlink-early,mode=0600,user={lab.user}"
    with (lab.host_directory(host) / "relay.log").open("w") as log:
        subprocess.Popen(
            [*inside, "socat", relay, f"TCP:127.0.0.1:{lab.ssh_port(host)}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
