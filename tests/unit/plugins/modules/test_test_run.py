# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner with real processes over loopback; only the tool is a stand-in. Two folders stand for two hosts."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.perftest import parse_perftest, same_run

ROOT = pathlib.Path(__file__).resolve().parents[4]
TOOL = [sys.executable, "-S", "-E", str(ROOT / "tests/unit/stand_in_tool.py")]
PATIENCE_S = 30.0
CALL = """
import json, sys
from ansible.module_utils.testing import patch_module_args
from ansible_collections.rdma.k8s.plugins.modules import {name}
with patch_module_args(json.load(sys.stdin)):
    {name}.main()
"""


def wait_for(condition: Callable[[], object], what: str) -> Any:
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"did not happen: {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Machine:
    """A folder that stands for a host."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def call(self, name: str, **arguments: Any) -> subprocess.Popen[str]:
        code = CALL.format(name=name)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / ".cache")}
        command = [sys.executable, "-c", code]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, text=True, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin
        process.stdin.write(json.dumps({"state_folder": str(self.folder), **arguments}))
        process.stdin.close()
        process.stdin = None
        self.started.append(process)
        return process

    def run(self, steps: list[dict[str, Any]], run_id: str = "run-1", **arguments: Any) -> subprocess.Popen[str]:
        return self.call("test_run", run_id=run_id, steps=steps, **arguments)

    def ask(self, run_id: str = "run-1", **arguments: Any) -> dict[str, Any]:
        return answer(self.call("test_run_info", run_id=run_id, **arguments))

    def results(self) -> list[dict[str, Any]]:
        return list(self.ask(results=True)["results"])

    def tool_pid(self) -> int:
        """Number of the stand-in's process, once it runs."""

        def look() -> int | None:
            found = [re.search(r"pid (\d+)", path.read_text()) for path in self.folder.glob("run/*/output-*.txt")]
            return int(found[-1][1]) if found and found[-1] else None

        return int(wait_for(look, "the tool runs"))

    def end(self) -> None:
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert stdout, stderr
    return dict(json.loads(stdout))


@pytest.fixture
def machines(tmp_path: pathlib.Path) -> Iterator[tuple[Machine, Machine]]:
    both = Machine(tmp_path / "a"), Machine(tmp_path / "b")
    yield both
    for machine in both:
        machine.end()


def pair(port: int, number: int = 1, *words: str, window: float = 20, deadline: float = 20) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both sides of a test; the client is on host a."""
    common = {"id": f"{number}.rail0.a>b", "round": number, "rail": "rail0", "start_window_s": window, "deadline_s": deadline}
    argv = [*TOOL, *words, "-p", str(port)]
    client = {**common, "side": "client", "host": "a", "peer": "b", "argv": [*argv, "127.0.0.1"]}
    return client, {**common, "side": "server", "host": "b", "peer": "a", "argv": argv}


def test_two_hosts_meet_in_each_round(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    rounds = [pair(free_port(), number) for number in (1, 2)]
    runs = [host.run([sides[index] for sides in rounds]) for index, host in enumerate(machines)]
    for run in runs:
        done = answer(run)["progress"]
        assert (done["round"], done["done"], done["failed"], done["finished"]) == (2, 2, 0, True)
    assert a.ask()["state"] == "finished"
    for client, server in zip(a.results(), b.results()):
        assert (client["id"], client["ended"], client["exit_status"]) == (server["id"], "exited", 0)
        assert same_run(parse_perftest(client["output"]), parse_perftest(server["output"]))
        assert client["finished"] >= client["started"]
    assert oct((a.folder / "run" / "run-1").stat().st_mode)[-3:] == "700"


def test_a_late_server_is_waited_for(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    client, server = pair(free_port())
    run = a.run([client])
    wait_for(
        lambda: (
            len(list(a.folder.glob("run/run-1/output-*"))) and b"Couldn't connect" in next(a.folder.glob("run/run-1/output-*")).read_bytes()
        ),
        "refused",
    )
    b.run([server])
    assert answer(run)["progress"]["failed"] == 0
    assert a.results()[0]["starts"] > 1


def test_a_dead_peer_costs_the_start_window_only(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    client, server = pair(free_port(), window=1, deadline=1)
    answers = [answer(host.run([step])) for host, step in ((a, client), (b, {**server, "argv": [*server["argv"][:-1], str(free_port())]}))]
    assert [each["progress"]["failed"] for each in answers] == [1, 1]
    assert [host.results()[0]["ended"] for host in machines] == ["no_peer", "no_peer"]


def test_silence_is_told_apart_from_a_slow_start(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    client, server = pair(free_port(), 1, "--silent", deadline=1)
    for run in [a.run([client]), b.run([server])]:
        answer(run)
    endings = {host.results()[0]["ended"] for host in machines}
    assert "silent" in endings
    assert endings <= {"silent", "exited"}  # the second to end may see the connection close
    assert not any(is_alive(host.tool_pid()) for host in machines)


def test_a_tool_that_fails_or_is_missing_is_not_tried_again(machines: tuple[Machine, Machine]) -> None:
    a, _b = machines
    client, _server = pair(free_port(), 1, "--fail")
    missing = {**client, "id": "2", "round": 2, "argv": ["rdma-k8s-no-such-tool", "127.0.0.1"]}
    answer(a.run([client, missing]))
    failed, absent = a.results()
    assert (failed["ended"], failed["exit_status"], failed["starts"]) == ("exited", 1, 1)
    assert "IB device standin0 not found" in failed["output"]
    assert (absent["ended"], absent["starts"]) == ("not_found", 1)


def test_an_absent_peer_ends_its_tests_and_the_rest_goes_on(machines: tuple[Machine, Machine]) -> None:
    a, b = machines
    alone, _server = pair(free_port(), 1)
    client, server = pair(free_port(), 2)
    run = a.run([{**alone, "peer": "gone"}, client])
    b.run([server])
    wait_for(lambda: a.ask()["state"] == "running", "the run started")
    assert a.ask(absent=["gone"])["progress"]["steps"] == 2
    answer(run)
    assert [result["ended"] for result in a.results()] == ["absent", "exited"]


def test_without_a_heartbeat_everything_ends(machines: tuple[Machine, Machine]) -> None:
    a, _b = machines
    first, _server = pair(free_port(), 1, "--stay")
    second, _server = pair(free_port(), 2)
    run = a.run([first, second], grace_s=1)
    pid = a.tool_pid()
    assert is_alive(pid)
    progress = answer(run)["progress"]
    assert (progress["stopped"], progress["done"]) == (True, 1)
    assert not is_alive(pid)
    assert (a.ask()["state"], a.results()[0]["ended"]) == ("stopped", "stopped")


def test_asking_keeps_a_run_alive(machines: tuple[Machine, Machine]) -> None:
    a, _b = machines
    step, _server = pair(free_port(), 1, "--stay", window=4, deadline=0.1)
    run = a.run([step], grace_s=2)
    wait_for(lambda: a.ask()["state"] == "finished", "the run ends by its own limits")
    assert answer(run)["progress"]["stopped"] is False
    assert a.results()[0]["ended"] == "no_peer"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_tools_end_with_a_killed_runner(machines: tuple[Machine, Machine], number: signal.Signals) -> None:
    a, _b = machines
    step, _server = pair(free_port(), 1, "--stay")
    run = a.run([step])
    pid = a.tool_pid()
    run.send_signal(number)
    run.wait(PATIENCE_S)
    wait_for(lambda: not is_alive(pid), "the tool ended")
    assert a.ask()["state"] == "died"


def test_a_second_run_is_refused(machines: tuple[Machine, Machine]) -> None:
    a, _b = machines
    step, _server = pair(free_port(), 1, "--stay")
    run = a.run([step])
    a.tool_pid()
    assert "still goes on here" in answer(a.run([step], run_id="run-2"))["msg"]
    run.kill()
    run.wait()
    assert "has a run of that name already" in answer(a.run([step]))["msg"]
    assert "steps is empty" in answer(a.run([], run_id="run-3"))["msg"]
    assert "run_id '../x'" in answer(a.run([step], run_id="../x"))["msg"]
    for name in ("run-9", "../x"):
        unknown = a.ask(name, results=True)
        assert (unknown["state"], unknown["progress"], unknown["results"]) == ("none", {}, [])


def test_old_runs_are_removed(machines: tuple[Machine, Machine]) -> None:
    a, _b = machines
    step, _server = pair(free_port(), 1, "--fail")
    for number in range(7):
        answer(a.run([step], run_id=f"run-{number}"))
    assert sorted(path.name for path in (a.folder / "run").iterdir()) == [f"run-{number}" for number in range(1, 7)]
