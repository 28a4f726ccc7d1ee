# SPDX-License-Identifier: GPL-3.0-or-later
"""A host made of a dictionary of files and one of commands; it counts changes and can die at each, as the real edge does."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any, cast

import pytest
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils import converge as converge_file
from ansible_collections.rdma.k8s.plugins.module_utils.changes import add_change
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError


class Killed(BaseException):
    """Stands for SIGKILL: no ``except Exception`` of the code under test may catch it."""


class Ended(BaseException):
    """A module's exit_json or fail_json."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(json.dumps(result, indent=1, default=str))
        self.result = result


class FakeHost(Host):
    """`files`: text, or the errno which reading gives. `commands`: text, an error to raise, or what to call with the argv.

    `kernel`: called with (files, path, value) at each write to an attribute, where writing is not simply storing.
    """

    def __init__(
        self,
        files: Mapping[str, str | int] | None = None,
        commands: Mapping[tuple[str, ...], str | HostError | Callable[[FakeHost], str]] | None = None,
        links: Mapping[str, str] | None = None,
        kernel: Callable[[dict[str, str | int], str, str], None] | None = None,
    ) -> None:
        super().__init__("test")
        self.files: dict[str, str | int] = dict(files or {})
        self.commands = dict(commands or {})
        self.links = dict(links or {})
        self.kernel = kernel or (lambda files, path, value: files.__setitem__(path, value))
        self.record: list[dict[str, Any]] = []
        self.ran: list[tuple[str, ...]] = []
        self.kill_at: int | None = None

    def read(self, path: str, limit: int = -1) -> str:
        found = self.files.get(path, errno.ENOENT)
        if isinstance(found, int):
            raise HostError(f"cannot read {path}", code=found)
        return found if limit < 0 else found[:limit]

    def list_names(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted({name[len(prefix) :].split("/")[0] for name in [*self.files, *self.links] if name.startswith(prefix)})

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.links or bool(self.list_names(path))

    def real_path(self, path: str) -> str:
        for link in sorted(self.links, key=len, reverse=True):
            if path == link or path.startswith(link + "/"):
                return self.links[link] + path[len(link) :]
        return path

    def link_target(self, path: str) -> str | None:
        return self.links.get(path)

    def which(self, program: str) -> str | None:
        return f"/usr/bin/{program}" if any(argv[0] == program for argv in self.commands) else None

    def run(self, *argv: str, accept: Collection[int] = (0,), timeout_s: float = 120, env: Mapping[str, str] | None = None) -> str:
        self.ran.append(argv)
        assert argv in self.commands, f"no such command on this host: {argv}"
        answer = self.commands[argv]
        if isinstance(answer, HostError):
            if answer.code in accept:
                return ""
            raise answer
        return answer if isinstance(answer, str) else answer(self)

    def write(self, path: str, text: str, mode: int = 0o644, validate: Collection[str] = ()) -> None:
        self._mutate({"kind": "file", "path": path}, self.read_if_there(path), text, lambda: self.files.__setitem__(path, text))

    def remove(self, path: str) -> None:
        self._mutate({"kind": "file", "path": path}, self.read_if_there(path), None, lambda: self.files.__delitem__(path))

    def set_attribute(self, path: str, value: str, before: str | None = None) -> None:
        assert path in self.files, f"no such attribute on this host: {path}"
        self._mutate({"kind": "attribute", "path": path}, before or self.files[path], value, lambda: self.kernel(self.files, path, value))

    def _mutate(self, what: dict[str, Any], before: object, after: object, act: Callable[[], object]) -> None:
        self._failpoint()
        self.record = add_change(self.record, {"what": what, "before": before, "after": after})
        self._failpoint()
        act()

    def _failpoint(self) -> None:
        self._changes += 1
        if self._changes == self.kill_at:
            raise Killed

    @property
    def changes(self) -> int:
        """Points passed at which a crash would hurt: two for each change."""
        return self._changes

    def reborn(self, kill_at: int | None = None) -> FakeHost:
        """The same machine for the next module: files and record stay, the counter starts anew."""
        self._changes, self.kill_at = 0, kill_at
        return self


class FakeModule:
    """Stands for AnsibleModule."""

    def __init__(self, params: dict[str, Any], check_mode: bool = False) -> None:
        self.params, self.check_mode = params, check_mode

    def exit_json(self, **result: object) -> None:
        raise Ended(result)

    def fail_json(self, **result: object) -> None:
        raise Ended({**result, "failed": True})


def converge(module: ModuleType, params: dict[str, Any], host: FakeHost, check_mode: bool = False) -> dict[str, Any]:
    """Result of one run of a state module on a fake host."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(converge_file, "Host", lambda role: host)
        with pytest.raises(Ended) as ended:
            converge_file.converge(cast(AnsibleModule, FakeModule(params, check_mode)), "test", module.gather, module.plan, module.apply)
    return ended.value.result


def survives_each_kill(module: ModuleType, params: dict[str, Any], make_host: Callable[[], FakeHost]) -> int:
    """Kill the module at each failpoint, run it again, and compare with a run that nobody disturbed. Returns the number of kills."""
    calm = make_host()
    assert converge(module, params, calm)["changed"]
    for number in range(1, calm.changes + 1):
        host = make_host().reborn(kill_at=number)
        with pytest.raises(Killed):
            converge(module, params, host)
        result = converge(module, params, host.reborn())
        assert not result.get("failed"), f"after a kill at {number}: {result['msg']}"
        assert host.files == calm.files, f"after a kill at {number}"
        assert _first_values(host) == _first_values(calm), f"undo data after a kill at {number}"
        assert not converge(module, params, host.reborn())["changed"]
    return calm.changes


def _first_values(host: FakeHost) -> dict[str, object]:
    return {json.dumps(entry["what"], sort_keys=True): entry["before"] for entry in host.record}
