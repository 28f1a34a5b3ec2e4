"""Kills for lack of memory: by the kernel's record, and by the count of a real control group."""
# pyright: standard
# The shipped programs have no types.

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common import cgroup
from ssh.shipped.common.cgroup import group_kills
from ssh.shipped.probe import oom_kills
from ssh.shipped.probe.oom_kills import kills_near, oom_kill_of, pids_in
from tests.support.direct_probe import direct_probe
from tests.support.memory_groups import memory_group
from tests.support.waiting import WAIT_S, wait_until

LIMIT = 48 * 1024 * 1024
EATER = "import sys\nsys.stdin.readline()\nblock = bytearray(400 * 1024 * 1024)\n"


@pytest.fixture
def group() -> Iterator[Path]:
    """A real control group of 48 MiB, below the one of this process."""
    with memory_group(LIMIT) as made:
        yield made


def in_group(group: Path, *argv: str, data: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start a program in a control group; it waits for a line of input."""
    script = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    env = {**os.environ, "XDG_DATA_HOME": str(data)} if data is not None else None
    argv = ("sh", "-c", script, str(group), *argv)
    return subprocess.Popen(argv, stdin=subprocess.PIPE, env=env)


def is_in(group: Path, pid: int) -> bool:
    return str(pid) in (group / "cgroup.procs").read_text().split()


def test_a_kill_in_a_real_control_group_is_counted(
    group: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oom_kills, "killed_lately", set)
    with in_group(group, sys.executable, "-c", EATER) as eater:
        wait_until(lambda: is_in(group, eater.pid), "it is in its group")
        before = kills_near(eater.pid)
        assert before == (str(group), 0)
        assert oom_kill_of(eater.pid, before) == ""
        assert eater.stdin is not None
        eater.stdin.write(b"\n")
        eater.stdin.flush()
        assert eater.wait(WAIT_S) == -signal.SIGKILL
    wait_until(lambda: (group_kills(str(group)) or 0) > 0, "the kill is counted")
    assert oom_kill_of(eater.pid, before) == "group"


def test_another_end_in_the_group_is_no_kill(group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oom_kills, "killed_lately", set)
    with in_group(group, "cat") as child:
        wait_until(lambda: is_in(group, child.pid), "it is in its group")
        before = kills_near(child.pid)
        child.kill()
        child.wait(WAIT_S)
    assert before is not None
    assert oom_kill_of(child.pid, before) == ""


RECORD = (
    b"3,1190,%d,-;Out of memory: Killed process 4242 (inspect) total-vm:9kB, anon-rss:8kB\n",
    b"6,1191,%d,-;Memory cgroup out of memory: Killed process 4243 (python3) total-vm:9kB\n",
    b"6,1192,%d,-;Killed process 9 by hand: Out of memory\n",
)


def test_the_kernels_record_names_the_process() -> None:
    assert pids_in(RECORD) == {4242, 4243}
    assert pids_in([b"\xff\x00", b""]) == set()


def test_the_kernels_record_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oom_kills, "killed_lately", lambda: {4242})
    assert oom_kill_of(4242, None) == "kernel"
    assert oom_kill_of(4244, None) == ""


def test_the_record_of_this_machine_is_read_or_is_nothing() -> None:
    assert isinstance(oom_kills.killed_lately(), set)


def test_a_group_without_a_count_proves_nothing(tmp_path: Path) -> None:
    assert group_kills(str(tmp_path)) is None
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 3\n")
    assert group_kills(str(tmp_path)) == 3
    assert cgroup.kills_in("oom_kill x") is None


def test_the_probe_reports_how_a_process_ended(group: Path, tmp_path: Path) -> None:
    runner = tmp_path / "inspect"
    runner.write_text(EATER)
    with (
        in_group(group, sys.executable, str(runner), "eval", "t.py", data=tmp_path) as eater,
        direct_probe(tmp_path, discover_every=0.2) as probe,
    ):

        def row() -> dict[str, Any]:
            rows: list[dict[str, Any]] = probe.processes()
            return next((each for each in rows if each["pid"] == eater.pid), {})

        wait_until(lambda: row().get("alive"), "it is listed")
        assert row()["killed"] == ""
        assert eater.stdin is not None
        eater.stdin.write(b"\n")
        eater.stdin.flush()
        eater.wait(WAIT_S)
        wait_until(lambda: row().get("alive") is False, "its end is reported")
        assert row()["killed"] in {"kernel", "group"}
