# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job on the lab: hosts are prepared once, a healthy fabric passes, and each fault is named with its host and rail."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from running_lab import Lab

HOST, RAIL = "node2", "rail1"


def verify(lab: Lab, folder: pathlib.Path) -> tuple[int, dict[str, Any]]:
    """Exit status and report of a verification of all hosts."""
    done = lab.play("verify_hosts", "-e", f"rdma_report_dir={folder}")
    path = folder / "latest" / "report.json"
    assert path.exists(), done.output
    report: dict[str, Any] = json.loads(path.read_text())
    return done.exit_status, report


def failed(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["outcome"] == "fail"]


@pytest.fixture(scope="module")
def prepared_lab(lab: Lab) -> Lab:
    done = lab.play("prepare_hosts")
    assert done.exit_status == 0, done.output
    return lab


def test_check_mode_predicts_the_change_and_makes_none(lab: Lab) -> None:
    predicted = lab.play("prepare_hosts", "--check", "--diff")
    assert predicted.exit_status == 0, predicted.output
    assert predicted.changed
    assert "perftest" in predicted.output
    assert lab.run(HOST, "command -v ib_write_bw").returncode != 0
    assert lab.run(HOST, "test -e /var/lib/rdma-k8s").returncode != 0


def test_a_second_run_changes_nothing(prepared_lab: Lab) -> None:
    again = prepared_lab.play("prepare_hosts")
    assert again.exit_status == 0, again.output
    assert not again.changed
    assert prepared_lab.output(HOST, "swapon --show") == ""


def test_each_change_has_its_undo_record(prepared_lab: Lab) -> None:
    for role in ("host_memory", "host_rdma"):
        record = json.loads(prepared_lab.output(HOST, f"cat /var/lib/rdma-k8s/changes/{role}.json"))
        assert record
        assert all({"what", "before", "after", "when", "version"} <= entry.keys() for entry in record)


def test_discover_proposes_the_rails_of_the_lab(prepared_lab: Lab) -> None:
    done = prepared_lab.play("discover")
    assert done.exit_status == 0, done.output
    for netdev in ("fab0", "fab1"):
        assert f"netdev: {netdev}" in done.output
    assert "192.0.2.12/26" in done.output


def test_a_healthy_fabric_passes(prepared_lab: Lab, tmp_path: pathlib.Path) -> None:
    status, report = verify(prepared_lab, tmp_path)
    assert report["verdict"] == "pass", report["findings"]
    assert status == 0
    tested = {(row["labels"]["host"], row["labels"]["rail"]) for row in report["measurements"]}
    assert tested == {(host, rail) for host in prepared_lab.hosts for rail in prepared_lab.rails}


# What the finding must say beside host and rail. A limit shows in what the host sends alone.
FAULTS: dict[str, dict[str, Any]] = {
    "rate_limit": {"direction": "send", "metric": "ib_write_bw.average_gbit_s"},
    "roce_blocked_in": {"scope": "rail"},
    "rail_down": {"scope": "rail"},
    "rdma_device_removed": {"scope": "rail"},
    "wrong_address": {"scope": "rail"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_verdict_names_host_and_rail(prepared_lab: Lab, tmp_path: pathlib.Path, fault: str) -> None:
    injected = prepared_lab.fault(fault, "present", HOST, RAIL)
    assert injected.exit_status == 0, injected.output
    try:
        status, report = verify(prepared_lab, tmp_path)
    finally:
        healed = prepared_lab.fault(fault, "absent", HOST, RAIL)
    assert healed.exit_status == 0, healed.output
    assert status == 2
    assert report["verdict"] == "fail"
    found = failed(report)
    assert {(finding["host"], finding["rail"]) for finding in found} == {(HOST, RAIL)}, found
    assert all(finding["remedy"] for finding in found)
    assert any(FAULTS[fault].items() <= finding.items() for finding in found), found


def test_the_healed_fabric_passes_again(prepared_lab: Lab, tmp_path: pathlib.Path) -> None:
    status, report = verify(prepared_lab, tmp_path)
    assert (status, report["verdict"]) == (0, "pass"), report["findings"]
