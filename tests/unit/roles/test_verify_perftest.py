# SPDX-License-Identifier: GPL-3.0-or-later
"""The role verify_perftest with twelve hosts on one machine and two forks; only the tool is a stand-in. One host cannot be reached."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOSTS = [f"node{number}" for number in range(1, 13)]
GONE = "node12"
PLAY = """
- name: Measure
  hosts: all
  gather_facts: false
  ignore_unreachable: true
  roles:
    - role: rdma.k8s.verify_perftest
  tasks:
    - name: Keep what was found
      ansible.builtin.copy:
        dest: "{{ folder }}/found.json"
        content: "{{ {'plan': verify_perftest_plan, 'attempts': verify_perftest_attempts, 'findings': verify_perftest_findings,
                      'measurements': verify_perftest_measurements, 'absent': verify_perftest_absent} | to_json }}"
        mode: "0600"
      run_once: true
"""
TOOL = f"""#!/bin/sh
exec {sys.executable} -S -E {ROOT}/tests/unit/stand_in_tool.py "$@"
"""


def host_variables(host: str) -> dict[str, Any]:
    if host == GONE:  # nothing listens on TCP port 1
        return {
            "ansible_connection": "ssh",
            "ansible_host": "127.0.0.1",
            "ansible_port": 1,
            "ansible_python_interpreter": "/usr/bin/python3",
        }
    return {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


def variables(folder: pathlib.Path) -> dict[str, Any]:
    rail = {"name": "rail0", "device": "standin0", "port": 1, "gid_index": 1, "numa_node": None, "rate_gbit_s": None}
    rails = {host: {"rail0": {**rail, "address": f"127.0.0.{number}"}} for number, host in enumerate(HOSTS, 11)}
    return {
        "folder": str(folder),
        "verify_perftest_hosts": {host: {"rails": rails[host], "tools": {"ib_write_bw": "6.20"}} for host in HOSTS},
        "verify_perftest_tests": ["ib_write_bw"],
        "verify_perftest_iterations": "300",  # as `-e name=value` gives it
        "verify_perftest_retest_rounds": "2",
        "verify_perftest_deadline_s": "20",
        "verify_perftest_thresholds": [{"metric": "ib_write_bw.average_gbit_s", "at_least": 0.1, "source": "the stand-in's number"}],
        "verify_perftest_state_folder": f"{folder}/hosts/{{{{ inventory_hostname }}}}",
    }


def play(folder: pathlib.Path) -> str:
    """Run the role; return what Ansible printed."""
    (folder / "bin").mkdir()
    (folder / "bin" / "ib_write_bw").write_text(TOOL)
    (folder / "bin" / "ib_write_bw").chmod(0o755)
    (folder / "ansible.cfg").write_text(f"[defaults]\nlocal_tmp = {folder}/tmp\nremote_tmp = {folder}/tmp\n")
    (folder / "play.yml").write_text(PLAY)
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": {host: host_variables(host) for host in HOSTS}}}))
    (folder / "variables.json").write_text(json.dumps(variables(folder)))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache"),
        "ANSIBLE_ASYNC_DIR": str(folder / "async"),
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
    }
    program = str(pathlib.Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "--forks=2", f"--inventory={folder}/hosts.json", f"--extra-vars=@{folder}/variables.json", str(folder / "play.yml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("verify")
    printed = play(folder)
    return folder, printed, json.loads((folder / "found.json").read_text())


def test_all_pairs_are_measured_but_those_of_the_host_that_is_gone(run: tuple[pathlib.Path, str, dict[str, Any]]) -> None:
    _folder, _printed, found = run
    outcomes = {(attempt["client"], attempt["server"]): (attempt["outcome"], attempt["verdict"]) for attempt in found["attempts"]}
    assert len(found["attempts"]) > len(HOSTS), "the host whose only partner was gone gets another one"
    assert {pair for pair, outcome in outcomes.items() if outcome == ("absent", "missing")} == {pair for pair in outcomes if GONE in pair}
    assert sorted(set(outcomes.values())) == [("absent", "missing"), ("measured", "pass")]
    assert {value["value"] for value in found["measurements"] if value["metric"] == "ib_write_bw.average_gbit_s"} == {0.14}
    assert [(finding["outcome"], finding["host"]) for finding in found["findings"]] == [("missing", GONE)]
    assert list(found["absent"]) == [GONE]


def test_the_lists_are_handed_out_once_and_progress_is_told(run: tuple[pathlib.Path, str, dict[str, Any]]) -> None:
    _folder, printed, found = run
    assert len(found["plan"]["rounds"]) > 1
    assert len(re.findall(r"^TASK .*Start the tests on each host", printed, re.MULTILINE)) == 2, "one for the rounds, one for the re-test"
    assert re.search(r"screen: 12 tests in \d rounds, about \d+ s", printed)
    assert re.search(rf"round \d of \d, \d+ of 12 tests done, \d failed, absent: {GONE}", printed)
    assert re.search(rf"{GONE}.*could not be started", printed)


def test_nothing_is_left_running(run: tuple[pathlib.Path, str, dict[str, Any]]) -> None:
    folder, _printed, _found = run
    outputs = [path.read_text() for path in folder.glob("hosts/*/run/*/output-*.txt")]
    pids = [found[1] for found in (re.search(r"pid (\d+)", text) for text in outputs) if found]
    commands = [path.read_bytes() for path in (pathlib.Path(f"/proc/{pid}/cmdline") for pid in pids) if path.exists()]
    assert len(pids) >= 2 * (len(HOSTS) - 2)
    assert not any(b"stand_in_tool" in command for command in commands)
    assert list((folder / "async").glob("*")) == []
