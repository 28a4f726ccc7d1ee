# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: the one place that reads files, runs commands and changes a host."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Callable

from ansible_collections.rdma.k8s.plugins.module_utils.changes import VERSION, add_change, parse_record

# The kernel answers so when an attribute has no value now, e.g. the type of an empty GID slot or the speed of a link that is down.
NO_VALUE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP, errno.ESRCH})
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)  # loaded before any fork: loading it in a child may deadlock


class HostError(Exception):
    """The host would not: a sentence, and the command with its exit status and stderr when there was one."""

    def __init__(self, message: str, command: str | None = None, code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.command, self.code, self.stderr = command, code, stderr


@contextlib.contextmanager
def _speaking_of(action: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HostError(f"cannot {action} {path}: {error.strerror or error}", code=error.errno) from error


class Child:
    """A command started by :meth:`Host.start`; it dies with the module that started it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def poll(self) -> int | None:
        """Exit status; None while it runs; negative: the signal that ended it; 124 or 137: its deadline passed."""
        return self._process.poll()

    def stop(self, grace_s: float = 2.0) -> int:
        """End the whole process group, at last by SIGKILL, and wait for it."""
        for number, patience in ((signal.SIGTERM, grace_s), (signal.SIGKILL, None)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        return self._process.returncode


class Host:
    """What a module may ask of its host. Everything that changes the host goes through one place: record, failpoint, change."""

    STATE = "/var/lib/rdma-k8s"

    def __init__(self, role: str) -> None:
        self._role = role
        self._changes = 0

    # Looking

    def read(self, path: str, limit: int = -1) -> str:
        """Text of a file, at most its first `limit` bytes; bytes that are not UTF-8 survive a later write."""
        with _speaking_of("read", path), open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "surrogateescape")

    def read_if_there(self, path: str) -> str | None:
        """Text of a file; None when it is absent or the kernel has no value for it."""
        try:
            return self.read(path)
        except HostError as error:
            if error.code in NO_VALUE:
                return None
            raise

    def list_names(self, path: str) -> list[str]:
        """Sorted names in a folder; empty when it is absent."""
        try:
            with _speaking_of("list", path):
                return sorted(os.listdir(path))
        except HostError as error:
            if error.code in NO_VALUE:
                return []
            raise

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def real_path(self, path: str) -> str:
        """The path with all links followed; for sysfs, where a link says which device or driver it is."""
        return os.path.realpath(path)

    def link_target(self, path: str) -> str | None:
        """What a link says; None when it is gone (a process that ended meanwhile) or no link."""
        try:
            with _speaking_of("follow", path):
                return os.readlink(path)
        except HostError as error:
            if error.code in NO_VALUE:
                return None
            raise

    def python_version(self) -> str:
        return ".".join(map(str, sys.version_info[:3]))

    def which(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment({})["PATH"])

    def run(self, *argv: str, accept: Collection[int] = (0,), timeout_s: float = 120, env: Mapping[str, str] | None = None) -> str:
        """Stdout of a command; HostError when its exit status is none of `accept` or it takes longer than `timeout_s` seconds."""
        command = " ".join(argv)
        try:
            # run_command has no time limit and wants an AnsibleModule; this class is what modules have in its place.
            # pylint: disable-next=ansible-bad-function
            done = subprocess.run(
                argv, env=self._environment(env or {}), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise HostError(f"`{command}` took longer than {timeout_s:g} s", command) from None
        except OSError as error:
            raise HostError(f"cannot run `{command}`: {error.strerror}", command) from error
        stdout, stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        if done.returncode not in accept:
            said = (stderr.strip() or stdout.strip() or "it said nothing").splitlines()[-1]
            raise HostError(f"`{command}` ended with {done.returncode}: {said}", command, done.returncode, stderr)
        return stdout

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LANG", "LANGUAGE") and not name.startswith("LC_")}
        folders = [*kept.get("PATH", "").split(os.pathsep), *SYSTEM_PATHS]  # under sudo or su the sbin folders may be missing
        return {**kept, "PATH": os.pathsep.join(dict.fromkeys(filter(None, folders))), "LC_ALL": "C", **extra}

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def clock(self) -> float:
        """Seconds of a clock that nobody sets; for measuring durations."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    # Changing: each call is one entry of the undo record

    def write(self, path: str, text: str, mode: int = 0o644, validate: Collection[str] = ()) -> None:
        """Replace a file at once; owner, mode and security context of an existing one are kept.

        `validate`: a command that gets the new file's path as last argument and must succeed before the file is put in place.
        """

        target = os.path.realpath(path)
        temporary = f"{target}.rdma-k8s-new"  # one fixed name: a killed run leaves at most one, and the next run replaces it

        def act() -> None:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                _write_durably(temporary, text, mode)
                if os.path.exists(target):
                    _copy_ownership(target, temporary)
                if validate:
                    self.run(*validate, temporary)
                os.replace(temporary, target)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(temporary)

        self._mutate({"kind": "file", "path": path}, self.read_if_there(path), text, act)

    def remove(self, path: str) -> None:
        """Remove a file; its text stays in the record."""
        self._mutate({"kind": "file", "path": path}, self.read_if_there(path), None, lambda: os.remove(path))

    def set_attribute(self, path: str, value: str, before: str | None = None) -> None:
        """One write to a sysfs or procfs file. `before`: what to write to undo it, where that is not simply what the file shows."""

        def act() -> None:
            with open(path, "w", encoding="ascii") as file:
                file.write(value)

        self._mutate({"kind": "attribute", "path": path}, before or (self.read_if_there(path) or "").strip(), value, act)

    def change(
        self,
        argv: Collection[str],
        what: dict[str, Any],
        before: object,
        after: object,
        timeout_s: float = 120,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command that changes the host. `what` identifies the item in the record: `kind` and a name."""
        self._mutate(what, before, after, lambda: self.run(*argv, timeout_s=timeout_s, env=env))

    def _mutate(self, what: dict[str, Any], before: object, after: object, act: Callable[[], object]) -> None:
        change = {"what": what, "before": before, "after": after, "when": round(self.now(), 3), "version": VERSION}
        record = f"{self.STATE}/changes/{self._role}.json"
        self._failpoint()
        with _speaking_of("write", record):
            self._make_private_folder(os.path.dirname(record))
            entries = add_change(parse_record(self.read_if_there(record)), change)
            _replace_durably(record, json.dumps(entries, indent=1) + "\n")
        self._failpoint()
        with _speaking_of("change", what.get("path", what["kind"])):
            act()

    def _failpoint(self) -> None:
        """Tests kill a module at each point where a real crash would hurt: before a record is written and before a change is made."""
        self._changes += 1
        if os.environ.get("RDMA_K8S_FAILPOINT") == str(self._changes):
            os.kill(os.getpid(), signal.SIGKILL)

    def _make_private_folder(self, path: str) -> None:
        os.makedirs(self.STATE, mode=0o700, exist_ok=True)
        os.chmod(self.STATE, 0o700)
        os.makedirs(path, mode=0o700, exist_ok=True)

    # A test run's own folder: scratch data, no part of the undo record

    def run_folder(self, run_id: str) -> str:
        """Path of a run's private folder, made if need be. ValueError when the name could lead elsewhere."""
        if not RUN_ID.fullmatch(run_id):
            raise ValueError(f"run_id {run_id!r}: only letters, digits, '.', '_' and '-' are allowed, at most 100")
        path = f"{self.STATE}/run/{run_id}"
        with _speaking_of("make", path):
            self._make_private_folder(path)
        return path

    def write_run_file(self, run_id: str, name: str, data: object) -> None:
        """Replace a JSON file in the run's folder at once: a reader sees the old one or the new one."""
        path = f"{self.run_folder(run_id)}/{name}"
        with _speaking_of("write", path):
            _replace_durably(path, json.dumps(data))

    def read_run_file(self, run_id: str, name: str) -> object:
        """Data of a JSON file in the run's folder; None when it is absent."""
        return json.loads(self.read_if_there(f"{self.run_folder(run_id)}/{name}") or "null")

    def run_file_stamp(self, run_id: str, name: str) -> int | None:
        """Changes whenever the file is replaced (modification time in ns); None when absent. Compare stamps, not clocks: clocks get set."""
        try:
            return os.stat(f"{self.run_folder(run_id)}/{name}").st_mtime_ns
        except FileNotFoundError:
            return None

    def run_names(self) -> list[str]:
        return self.list_names(f"{self.STATE}/run")

    def remove_run(self, run_id: str) -> None:
        shutil.rmtree(self.run_folder(run_id), ignore_errors=True)

    def start(self, argv: Collection[str], output_path: str, deadline_s: float) -> Child:
        """Start a command in a process group of its own, stdout and stderr to a file.

        It is ended after `deadline_s` seconds by `timeout`, and by SIGTERM (which `timeout` passes on) when this module dies.
        """
        bounded = ["timeout", "--signal=TERM", "--kill-after=2", f"{deadline_s:.3f}", *argv]
        with _speaking_of("start", bounded[4]), open(output_path, "wb") as output:
            # run_command cannot go on while the module does other things.
            # pylint: disable-next=ansible-bad-function
            process = subprocess.Popen(
                bounded,
                env=self._environment({}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
            )
            return Child(process)


def _write_durably(path: str, text: str, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(text.encode("utf-8", "surrogateescape"))
        file.flush()
        os.fsync(descriptor)


def _copy_ownership(source: str, target: str) -> None:
    owner = os.stat(source)
    os.chown(target, owner.st_uid, owner.st_gid)
    shutil.copystat(source, target)  # mode and SELinux context
    os.utime(target)  # but not the old time: who watches it must see a change


def _replace_durably(path: str, text: str) -> None:
    _write_durably(f"{path}.new", text, 0o600)
    os.replace(f"{path}.new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)  # else a power cut may forget the rename
    finally:
        os.close(folder)
