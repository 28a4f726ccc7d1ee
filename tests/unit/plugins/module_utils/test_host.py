# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge on this machine's real files and processes, below a temporary folder."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError

CACHE = pathlib.Path(__file__).resolve().parents[4] / ".cache"


@pytest.fixture
def host(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(Host, "STATE", str(tmp_path / "state"))
    return Host("test")


def record(tmp_path: pathlib.Path) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = json.loads((tmp_path / "state/changes/test.json").read_text())
    return entries


def test_a_write_keeps_mode_and_its_first_text(host: Host, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc/fstab"
    path.parent.mkdir()
    path.write_text("one\n")
    path.chmod(0o640)
    host.write(str(path), "two\n")
    host.write(str(path), "three\n")
    assert path.read_text() == "three\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [(entry["what"], entry["before"], entry["after"], entry["version"]) for entry in record(tmp_path)] == [
        ({"kind": "file", "path": str(path)}, "one\n", "three\n", "0.1.0")
    ]
    assert sorted(os.listdir(path.parent)) == ["fstab"]


def test_a_new_file_gets_the_mode_asked_for_and_is_removed_again(host: Host, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc/new/file.conf"
    host.write(str(path), "text", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    host.remove(str(path))
    assert not path.exists()
    assert [(entry["before"], entry["after"]) for entry in record(tmp_path)] == [(None, None)]


def test_a_link_is_followed_and_stays(host: Host, tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").write_text("one")
    (tmp_path / "link").symlink_to("real")
    host.write(str(tmp_path / "link"), "two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "two"


def test_bytes_that_are_no_utf8_survive(host: Host, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fstab"
    path.write_bytes(b"caf\xe9 /mnt\n")
    host.write(str(path), host.read(str(path)) + "new\n")
    assert path.read_bytes() == b"caf\xe9 /mnt\nnew\n"


def test_a_file_that_does_not_validate_is_not_put_in_place(host: Host, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "config"
    path.write_text("good")
    with pytest.raises(HostError, match="grep"):
        host.write(str(path), "bad", validate=("grep", "-q", "good"))
    assert path.read_text() == "good"
    host.write(str(path), "good too", validate=("grep", "-q", "good"))
    assert sorted(os.listdir(tmp_path)) == ["config", "state"]


def test_the_record_is_private(host: Host, tmp_path: pathlib.Path) -> None:
    host.write(str(tmp_path / "a"), "secret")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("state", "state/changes", "state/changes/test.json")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_damaged_record_stops_the_change(host: Host, tmp_path: pathlib.Path) -> None:
    host.write(str(tmp_path / "a"), "one")
    (tmp_path / "state/changes/test.json").write_text('{"half"')
    with pytest.raises(ValueError, match="damaged"):
        host.write(str(tmp_path / "a"), "two")
    assert (tmp_path / "a").read_text() == "one"


def test_an_attribute_is_written_in_place(host: Host, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nr_hugepages"
    path.write_text("0\n")
    number = path.stat().st_ino
    host.set_attribute(str(path), "64")
    assert (path.read_text(), path.stat().st_ino) == ("64", number)
    assert record(tmp_path)[0]["before"] == "0"


def test_a_command_that_changes_is_recorded_even_when_it_fails(host: Host, tmp_path: pathlib.Path) -> None:
    with pytest.raises(HostError, match="`false` ended with 1"):
        host.change(["false"], {"kind": "swap", "name": "/swapfile"}, "on", "off")
    assert record(tmp_path)[0]["what"] == {"kind": "swap", "name": "/swapfile"}


def test_commands_speak_english(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """FC-73: a translated or comma-decimal output must not reach a parser."""
    for name, value in {"LANG": "de_DE.UTF-8", "LANGUAGE": "de", "LC_ALL": "ja_JP.UTF-8", "LC_NUMERIC": "de_DE"}.items():
        monkeypatch.setenv(name, value)
    seen = dict(line.split("=", 1) for line in host.run("env").splitlines() if "=" in line)
    assert {name: value for name, value in seen.items() if name.startswith(("LANG", "LC_"))} == {"LC_ALL": "C"}


def test_sbin_is_found_without_it_in_the_path(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert host.which("true") is not None
    assert host.which("no-such-program") is None


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (("sh", "-c", "echo first >&2; echo last >&2; exit 3"), "ended with 3: last"),
        (("no-such-program",), "cannot run `no-such-program`"),
        (("sleep", "60"), "longer than 0.1 s"),
    ],
)
def test_a_command_that_fails_says_why(host: Host, argv: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(HostError, match=sentence):
        host.run(*argv, timeout_s=0.1 if argv[0] == "sleep" else 60)


def test_what_is_absent_is_a_state(host: Host, tmp_path: pathlib.Path) -> None:
    missing = str(tmp_path / "missing")
    assert host.read_if_there(missing) is None
    assert host.list_names(missing) == []
    assert host.link_target(missing) is None
    assert not host.exists(missing)
    with pytest.raises(HostError, match=r"cannot read .*missing"):
        host.read(missing)


def test_a_folder_is_not_mistaken_for_an_absent_file(host: Host, tmp_path: pathlib.Path) -> None:
    with pytest.raises(HostError, match="directory"):
        host.read_if_there(str(tmp_path))


def test_an_attribute_without_value_is_none(host: Host) -> None:
    """FC-30: the kernel answers EINVAL, here for the speed of the loopback; any other trouble is told."""
    assert host.read_if_there("/sys/class/net/lo/speed") is None
    with pytest.raises(HostError, match="Input/output error"):
        host.read_if_there("/proc/self/mem")


def test_run_files_are_replaced_at_once(host: Host, tmp_path: pathlib.Path) -> None:
    assert host.read_run_file("one", "heartbeat.json") is None
    assert host.run_file_stamp("one", "heartbeat.json") is None
    host.write_run_file("one", "heartbeat.json", {"absent": []})
    stamp = host.run_file_stamp("one", "heartbeat.json")
    host.write_run_file("one", "heartbeat.json", {"absent": ["b"]})
    assert host.read_run_file("one", "heartbeat.json") == {"absent": ["b"]}
    assert host.run_file_stamp("one", "heartbeat.json") != stamp
    assert host.run_names() == ["one"]
    host.remove_run("one")
    assert host.run_names() == []
    assert not (tmp_path / "state/changes").exists()


@pytest.mark.parametrize("name", ["", "..", "../etc", "a/b", ".hidden", "a" * 101])
def test_a_run_cannot_lead_elsewhere(host: Host, name: str) -> None:
    with pytest.raises(ValueError, match="run_id"):
        host.run_folder(name)


def wait(child: object) -> int:
    """Exit status of a child, waited for as long as the test may run."""
    return child._process.wait(60)  # type: ignore[attr-defined,no-any-return]


def test_a_child_writes_its_output_and_ends(host: Host, tmp_path: pathlib.Path) -> None:
    output = str(tmp_path / "output")
    child = host.start(["sh", "-c", "echo out; echo err >&2; exit 7"], output, deadline_s=60)
    assert wait(child) == 7
    assert child.poll() == 7
    assert host.read(output) == "out\nerr\n"
    assert host.read(output, limit=3) == "out"


def test_a_child_ends_at_its_deadline(host: Host, tmp_path: pathlib.Path) -> None:
    assert wait(host.start(["sleep", "600"], str(tmp_path / "output"), deadline_s=0.05)) == 124


def test_stop_ends_the_whole_group(host: Host, tmp_path: pathlib.Path) -> None:
    output = tmp_path / "output"
    os.mkfifo(output)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(output.read_text().splitlines()))
    reader.start()
    child = host.start(["sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait; sleep 600"], str(output), deadline_s=600)
    assert child.poll() is None
    child.stop(grace_s=0.1)
    reader.join(60)  # the pipe closes when the last process of the group is gone
    assert not reader.is_alive()


def test_a_child_dies_with_the_module(tmp_path: pathlib.Path) -> None:
    """The module is killed, so it cannot tidy up: the kernel tells the child."""
    output = tmp_path / "output"
    os.mkfifo(output)
    script = (
        "import sys, time; from ansible_collections.rdma.k8s.plugins.module_utils.host import Host;"
        f"Host('t').start(['sh', '-c', 'echo ready; sleep 600'], {str(output)!r}, 600); time.sleep(600)"
    )
    module = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(CACHE)})
    with output.open() as pipe:
        assert pipe.readline() == "ready\n"
        module.kill()
        module.wait(60)
        assert pipe.read() == ""  # end of file: no process of the group holds the pipe any more


MODULE = """
import sys
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host
root = sys.argv[1]
Host.STATE = root + "/state"
host = Host("test")
if host.read_if_there(root + "/a") != "new":
    host.write(root + "/a", "new")
if host.read(root + "/attribute") != "1":
    host.set_attribute(root + "/attribute", "1")
if host.exists(root + "/marker"):
    host.change(["rm", root + "/marker"], {"kind": "marker", "name": "m"}, "there", "gone")
"""


@pytest.mark.parametrize("failpoint", range(1, 8))
def test_killed_at_each_point_the_next_run_converges(tmp_path: pathlib.Path, failpoint: int) -> None:
    """Real processes, real SIGKILL: three changes, so six points; the seventh is never reached."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "attribute").write_text("0")
    (tmp_path / "marker").touch()
    script = tmp_path / "module.py"
    script.write_text(MODULE)
    environment = {**os.environ, "PYTHONPATH": str(CACHE)}
    argv = [sys.executable, str(script), str(tmp_path)]
    killed = subprocess.run(argv, env={**environment, "RDMA_K8S_FAILPOINT": str(failpoint)}, check=False)
    assert killed.returncode == (-signal.SIGKILL if failpoint <= 6 else 0)
    subprocess.run(argv, env=environment, check=True)
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "attribute").read_text() == "1"
    assert not (tmp_path / "marker").exists()
    assert [entry["before"] for entry in record(tmp_path)] == ["old", "0", "there"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "attribute", "module.py", "state"]
