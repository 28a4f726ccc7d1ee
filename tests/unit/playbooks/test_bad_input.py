# SPDX-License-Identifier: GPL-3.0-or-later
"""The real playbooks with mistakes in the inventory: one sentence, exit status 2, and no host is asked anything."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
RAIL = {"name": "rail0", "netdev": "fab0", "network": "192.0.2.0/26"}


def hosts(*names: str) -> dict[str, dict[str, Any]]:
    """Hosts that cannot be reached: nothing listens on the discard port."""
    return {
        name: {"ansible_host": "127.0.0.1", "ansible_port": 9, "rdma_rail_addresses": {"rail0": f"192.0.2.{number}/26"}}
        for number, name in enumerate(names, 11)
    }


def play(
    folder: pathlib.Path, playbook: str, members: dict[str, Any], variables: dict[str, Any], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a playbook of the checkout from another folder; the inventory holds what is given."""
    inventory = folder / "hosts.json"
    group_vars = {"rdma_report_dir": str(folder / "reports"), "rdma_rails": [RAIL], **variables}
    inventory.write_text(json.dumps({"rdma_hosts": {"hosts": members, "vars": group_vars}}), encoding="utf-8")
    command = [sys.executable, "-m", "ansible.cli.playbook", "-i", str(inventory), str(ROOT / "playbooks" / playbook), *arguments]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache"), "ANSIBLE_NOCOLOR": "1", "COLUMNS": "10000"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("playbook", ["verify_hosts.yml", "prepare_hosts.yml"])
@pytest.mark.parametrize(
    ("rails", "sentence"),
    [
        ([{**RAIL, "gatway": "192.0.2.1"}], "rdma_rails[0] (rail0) has the unknown key gatway; allowed are name, netdev,"),
        ([RAIL, {**RAIL, "name": "rail1", "netdev": "fab1"}], "the networks of rail0 (192.0.2.0/26) and rail1 (192.0.2.0/26) overlap"),
    ],
)
def test_mistakes_in_the_rails(tmp_path: pathlib.Path, playbook: str, rails: list[dict[str, Any]], sentence: str) -> None:
    done = play(tmp_path, playbook, hosts("gpu01", "gpu02"), {"rdma_rails": rails})
    assert done.returncode == 2
    assert f"all hosts: {sentence}" in done.stdout + done.stderr
    assert "UNREACHABLE" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("members", "variables", "sentence"),
    [
        (hosts("gpu01"), {}, "There is only the host gpu01 to verify; a fabric is measured between hosts"),
        (
            hosts("gpu01", "gpu02"),
            {"verify_thresholds": [{"metric": "ib_write_bw.average_gbps", "at_least": 1}]},
            "verify_thresholds[0]: the metric is 'ib_write_bw.average_gbps'; did you mean ib_write_bw.average_gbit_s?",
        ),
        (
            hosts("gpu01", "gpu02"),
            {"verify_thresholds": [{"metric": "ib_write_bw.average_gbit_s", "at_least": "180 Gb/s"}]},
            "verify_thresholds[0]: at_least is '180 Gb/s'; it must be a number without unit, in Gb/s.",
        ),
        (
            hosts("gpu01", "gpu02"),
            {"verify_perftest_message_bytes": "64K"},
            "verify_perftest_message_bytes is '64K'; it must be a whole number, without a unit.",
        ),
        (hosts("gpu01", "gpu02"), {"verify_fail_on": ["fail", "mising"]}, "Got no match for: mising"),
        (hosts("gpu01", "gpu02"), {"rdma_report_dir": "/proc/reports"}, "No report can be written: verify_report_dir is /proc/reports"),
    ],
)
def test_mistakes_in_a_verification(tmp_path: pathlib.Path, members: dict[str, Any], variables: dict[str, Any], sentence: str) -> None:
    done = play(tmp_path, "verify_hosts.yml", members, variables)
    assert done.returncode == 2
    assert sentence in done.stdout + done.stderr
    assert "UNREACHABLE" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_no_role_starts_when_an_option_of_a_later_one_is_wrong(tmp_path: pathlib.Path) -> None:
    done = play(tmp_path, "prepare_hosts.yml", hosts("gpu01"), {"host_rdma_stack": "ofed"}, "--tags", "host_memory")
    assert done.returncode == 2
    assert "value of host_rdma_stack must be one of: inbox, got: ofed" in done.stdout + done.stderr
    assert "UNREACHABLE" not in done.stdout


@pytest.mark.parametrize("playbook", ["verify_hosts.yml", "prepare_hosts.yml", "discover.yml"])
def test_an_inventory_without_hosts(tmp_path: pathlib.Path, playbook: str) -> None:
    done = play(tmp_path, playbook, {}, {})
    assert done.returncode == 2
    assert "The inventory has no host in rdma_hosts: give it with -i" in done.stdout + done.stderr


def test_check_mode_plans_and_measures_nothing(tmp_path: pathlib.Path) -> None:
    done = play(tmp_path, "verify_hosts.yml", hosts("gpu01", "gpu02"), {}, "--check")
    assert done.returncode == 0, done.stdout
    assert "Check mode measures nothing and writes no report" in done.stdout
    assert not (tmp_path / "reports" / "latest").exists()


def test_hosts_that_cannot_be_reached_are_missing_in_the_report(tmp_path: pathlib.Path) -> None:
    done = play(tmp_path, "verify_hosts.yml", hosts("gpu01", "gpu02"), {})
    report = json.loads((tmp_path / "reports" / "latest" / "report.json").read_text(encoding="utf-8"))
    assert done.returncode != 0
    assert report["verdict"] == "missing"
    assert [(finding["outcome"], finding["scope"], finding["host"]) for finding in report["findings"]] == [
        ("missing", "host", "gpu01"),
        ("missing", "host", "gpu02"),
    ]
    assert "It gave no facts: Failed to connect" in report["findings"][0]["cause"]
