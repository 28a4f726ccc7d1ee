# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import types

import fake_host
import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.host import HostError

FLAG = "/sys/flag"


def flag_module() -> types.ModuleType:
    """A state module in three lines."""
    module = types.ModuleType("flag")
    module.gather = lambda host, params: {"flag": host.read(FLAG)}  # type: ignore[attr-defined]
    module.plan = lambda before, params: {"flag": params["flag"]}  # type: ignore[attr-defined]
    module.apply = lambda host, before, after: host.set_attribute(FLAG, after["flag"])  # type: ignore[attr-defined]
    return module


def test_changed_is_a_comparison() -> None:
    host = fake_host.FakeHost({FLAG: "0"})
    first = fake_host.converge(flag_module(), {"flag": "1"}, host)
    assert first == {"changed": True, "diff": {"before": {"flag": "0"}, "after": {"flag": "1"}}}
    assert not fake_host.converge(flag_module(), {"flag": "1"}, host)["changed"]


def test_check_mode_predicts_and_touches_nothing() -> None:
    host = fake_host.FakeHost({FLAG: "0"})
    predicted = fake_host.converge(flag_module(), {"flag": "1"}, host, check_mode=True)
    assert host.changes == 0
    assert predicted == fake_host.converge(flag_module(), {"flag": "1"}, host)


def test_a_silently_refused_write_is_caught() -> None:
    host = fake_host.FakeHost({FLAG: "0"}, kernel=lambda files, path, value: None)
    result = fake_host.converge(flag_module(), {"flag": "1"}, host)
    assert result["failed"]
    assert result["msg"] == "the change did not hold: flag was asked to be '1', the host shows '0'"


def test_a_wish_that_makes_no_sense_fails_before_anything_changes() -> None:
    def refuse(before: object, params: object) -> None:
        raise ValueError("flag is 7; it must be 0 or 1")

    module = flag_module()
    module.plan = refuse  # type: ignore[attr-defined]
    host = fake_host.FakeHost({FLAG: "0"})
    assert fake_host.converge(module, {"flag": "7"}, host) == {"failed": True, "msg": "flag is 7; it must be 0 or 1"}
    assert host.changes == 0


def test_a_failed_command_is_told_with_its_status() -> None:
    def refuse(host: object, params: object) -> None:
        raise HostError("`rdma link` ended with 1: no", "rdma link", 1, "no\n")

    module = flag_module()
    module.gather = refuse  # type: ignore[attr-defined]
    result = fake_host.converge(module, {"flag": "1"}, fake_host.FakeHost())
    assert result == {"failed": True, "msg": "`rdma link` ended with 1: no", "command": "rdma link", "rc": 1, "stderr": "no\n"}


def test_each_kill_is_survived() -> None:
    assert fake_host.survives_each_kill(flag_module(), {"flag": "1"}, lambda: fake_host.FakeHost({FLAG: "0"})) == 2


def test_the_double_does_die() -> None:
    host = fake_host.FakeHost({FLAG: "0"}).reborn(kill_at=2)
    with pytest.raises(fake_host.Killed):
        fake_host.converge(flag_module(), {"flag": "1"}, host)
    assert host.files == {FLAG: "0"}
