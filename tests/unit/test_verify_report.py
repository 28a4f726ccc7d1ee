# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role verify_report as Ansible runs it: files on the controller, exit status, sentences."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from rendered_report import FORMATS, render
from simulated_run import simulate

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAY = """
- name: Report
  hosts: node1,node2
  gather_facts: false
  tasks:
    - name: Report
      ansible.builtin.include_role:
        name: rdma.k8s.verify_report
        tasks_from: "{{ entry | default('main') }}"
  vars:
    # Read, not given with -e: what modules return is no template, and neither is this.
    run: "{{ lookup('ansible.builtin.file', playbook_dir ~ '/run.json') | from_json }}"
    verify_report_kind: "{{ run.kind }}"
    verify_report_attempts: "{{ run.attempts }}"
    verify_report_findings: "{{ run.findings }}"
    verify_report_plan: "{{ run.plan }}"
    verify_report_rails: "{{ run.rails }}"
    verify_report_facts: "{{ run.facts }}"
    verify_report_started: "{{ run.started }}"
"""
Run = dict[str, Any]


def play(folder: pathlib.Path, run: Run, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the role in ``folder`` with the variables of a verification."""
    (folder / "play").mkdir(exist_ok=True)
    (folder / "play/report.yml").write_text(PLAY, encoding="utf-8")
    (folder / "play/run.json").write_text(json.dumps(run), encoding="utf-8")
    (folder / "play/variables.json").write_text(json.dumps(variables), encoding="utf-8")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache"), "ANSIBLE_NOCOLOR": "1"}
    argv = ["play/report.yml", "-i", "node1,node2,localhost,", "-e", "@play/variables.json"]
    command = [sys.executable, "-m", "ansible", "playbook", *argv]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def with_hostile_output(run: Run) -> Run:
    """A run whose outputs try to be a template, markup and a terminal's commands."""
    for attempt in run["attempts"]:
        attempt["evidence"]["client"]["output"] = "{{ 7*7 }}<script>alert(1)</script>\x1b[31m"
    return run


def test_the_report_is_written_first_and_then_the_play_fails(tmp_path: pathlib.Path) -> None:
    run = with_hostile_output(simulate(3, 2, rate=0.16, strategy="mesh", senders=[("node2", "rail1")]))
    done = play(tmp_path, run)
    folder = tmp_path / "reports/20261130T021000Z-verify_hosts"
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"Fail: 1 of 6 rails: node2 · rail1 sends slowly. Report: {folder}/report.html" in done.stdout
    assert (tmp_path / "reports/latest").resolve() == folder
    assert {path.name for path in folder.iterdir()} == {f"report.{name}" for name in ("json", *FORMATS)}
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "reports", folder, *folder.iterdir())}
    assert set(modes.values()) == {0o600, 0o700}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())
    document = (folder / "report.json").read_text(encoding="utf-8")
    assert "hunter2" not in document
    for name in FORMATS:
        assert (folder / f"report.{name}").read_text(encoding="utf-8") == render(name, document), name
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "{{ 7*7 }}&lt;script&gt;" in page
    assert "<script" not in page


def test_a_verdict_that_is_not_to_fail_does_not(tmp_path: pathlib.Path) -> None:
    run = simulate(3, 2, senders=[("node2", "rail1")])
    done = play(tmp_path, run, verify_fail_on=["missing"], verify_report_formats=["json"], rdma_report_dir=str(tmp_path / "kept"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Fail: 1 of 6 rails." in done.stdout
    assert [path.name for path in (tmp_path / "kept/latest").iterdir()] == ["report.json"]


@pytest.mark.parametrize("entry", ["check", "main"])
def test_a_folder_that_cannot_be_is_refused_in_a_sentence(tmp_path: pathlib.Path, entry: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = play(tmp_path, simulate(3, 1), entry=entry, rdma_report_dir="./file/reports")
    assert done.returncode == 2
    assert f"No report can be written: verify_report_dir is {tmp_path}/file/reports, which is not a folder" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr


def test_json_text_serves_for_what_is_large(tmp_path: pathlib.Path) -> None:
    run = simulate(3, 2)
    large = {f"verify_report_{name}": f"{{{{ run.{name} | to_json }}}}" for name in ("attempts", "rails", "facts")}
    done = play(tmp_path, run, **large, verify_report_formats=["json"])
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "reports/latest/report.json").read_text(encoding="utf-8"))
    assert document["counts"]["pass"] == len(run["attempts"])
    assert document["hosts"][0]["tools"] == {"ib_write_bw": "6.06"}


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: pathlib.Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    done = play(tmp_path, simulate(3, 1), entry="check", rdma_report_dir="shared")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o755


def test_the_role_knows_the_version_of_the_collection() -> None:
    known = yaml.safe_load((ROOT / "roles/verify_report/vars/main.yml").read_text(encoding="utf-8"))["__verify_report_version"]
    assert known == yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
