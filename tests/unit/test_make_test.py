# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The closing line of tools/test: it says what happened, and a failed check fails the run without hiding the later ones."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> ModuleType:
    """tools/test as a module, with a folder of its own for results."""
    loader = importlib.machinery.SourceFileLoader("make_test", str(TOOL))
    spec = importlib.util.spec_from_loader("make_test", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "make_test", module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    return module


def close(tool: ModuleType, capfd: pytest.CaptureFixture[str], parts: dict[str, list[str]], *names: str) -> tuple[int, str]:
    """Exit status and closing line of a run of these parts."""
    tool.__dict__["PARTS"] = parts
    status = tool.main(list(names))
    return status, capfd.readouterr().out.splitlines()[-1]


def pytest_run(folder: pathlib.Path, attributes: str, exit_status: int) -> str:
    """A command that leaves these counts in its junit file and ends with this status, as pytest does."""
    script = folder / "run.sh"
    script.write_text(f"echo '<testsuites><testsuite {attributes}/></testsuites>' > $1; exit {exit_status}", encoding="utf-8")
    return f"sh {script} JUNIT"


def test_checks_that_pass(tool: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert close(tool, capfd, {"lint": ["true", "true"], "unit": ["true"]}) == (0, "3 passed, 0 failed, 0 skipped")


def test_a_failed_check_fails_the_run_and_the_rest_still_runs(tool: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert close(tool, capfd, {"lint": ["false", "true"], "unit": ["true"]}) == (1, "2 passed, 1 failed, 0 skipped")


def test_only_the_named_part_runs(tool: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert close(tool, capfd, {"lint": ["true"], "unit": ["false"]}, "lint") == (0, "1 passed, 0 failed, 0 skipped")


def test_an_unknown_part_is_refused(tool: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["unti"]) == 2
    assert "No such part: unti; there are lint, sanity, unit" in capfd.readouterr().err


def test_a_check_that_cannot_run_here_is_skipped(tool: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert close(tool, capfd, {"sanity": ["sh -c 'exit 77'"]}) == (0, "0 passed, 0 failed, 1 skipped")


def test_tests_are_counted_one_by_one(tool: ModuleType, capfd: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    command = pytest_run(tmp_path, 'tests="9" failures="2" errors="1" skipped="1"', 1)
    assert close(tool, capfd, {"unit": [command]}) == (1, "5 passed, 3 failed, 1 skipped")


def test_a_run_that_broke_off_has_failed_whatever_it_counted(
    tool: ModuleType, capfd: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    command = pytest_run(tmp_path, 'tests="4" failures="0" errors="0" skipped="0"', 2)
    assert close(tool, capfd, {"unit": [command]}) == (1, "4 passed, 1 failed, 0 skipped")
