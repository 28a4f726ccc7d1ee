# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible_collections.rdma.k8s.plugins.module_utils.changes import VERSION, add_change, parse_record

GALAXY = pathlib.Path(__file__).resolve().parents[4] / "galaxy.yml"


def test_the_version_is_the_collections() -> None:
    assert yaml.safe_load(GALAXY.read_text())["version"] == VERSION


def test_the_first_before_is_kept() -> None:
    entries = add_change([], {"what": {"path": "/a"}, "before": "1", "after": "2", "when": 1})
    entries = add_change(entries, {"what": {"path": "/b"}, "before": None, "after": "x", "when": 2})
    entries = add_change(entries, {"what": {"path": "/a"}, "before": "2", "after": "3", "when": 3})
    assert entries == [
        {"what": {"path": "/a"}, "before": "1", "after": "3", "when": 3},
        {"what": {"path": "/b"}, "before": None, "after": "x", "when": 2},
    ]


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"what": {}}]', "null"])
def test_a_damaged_record_is_not_overwritten(text: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        parse_record(text)


@pytest.mark.parametrize("text", [None, "", "[]"])
def test_no_record_is_an_empty_one(text: str | None) -> None:
    assert parse_record(text) == []
