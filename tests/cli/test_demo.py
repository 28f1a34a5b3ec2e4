import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands.demo import report, tasks_of
from cli.commands.demo_eval import remove_forgotten, size_for, start
from cli.event_loop import GRACE_S
from tests.support.commands import EVALROOM, Home
from tests.support.evals import short_folder
from tests.support.fleets import NOW, fleet_after, named, tasks_seen
from tests.support.processes import environ_of, working_in
from tests.support.terminal import Terminal
from tests.support.waiting import EVAL_S, WAIT_S, wait_until


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, empty at first, with a short path."""
    with short_folder() as folder:
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


def the_eval_in(place: Path) -> int:
    """Return the pid of the one eval-set of a demo, once it is there alone."""

    def alone() -> int | None:
        found = working_in(place)
        return found[0] if len(found) == 1 else None

    return wait_until(alone, "one process works there", seen=lambda: working_in(place))


def until_it_runs(demo: subprocess.Popen[bytes]) -> None:
    """Read what a demo prints until it has seen samples of its eval."""
    assert demo.stdout is not None
    while not re.search(rb"sums: \d+/", line := demo.stdout.readline()):
        assert line


def nothing_is_left(place: Path) -> None:
    """Wait until neither a folder nor a process of a demo is left; the test saw them before."""

    def left() -> list[object]:
        return [*place.glob("evalroom-demo-*"), *working_in(place)]

    wait_until(lambda: not left(), "all is cleaned up", seen=left)


def test_without_a_terminal_it_runs_to_its_end_and_reports_the_scores(
    home: Home, place: Path
) -> None:
    child = home.start("demo", "--seconds", "12", err=subprocess.PIPE)
    the_eval_in(place)
    out, err = child.communicate(timeout=EVAL_S)
    assert child.returncode == 0, err
    lines = out.decode().splitlines()
    [sums] = [line for line in lines if line.startswith("evalroom/sums ")]
    [archive] = [line for line in lines if line.startswith("evalroom/archive ")]
    assert sums.split()[1:4] == ["success", "17/18", "1"]
    assert "match/accuracy ." in sums
    assert archive.split()[1:3] == ["success", "6/6"]
    assert "includes/accuracy ." in archive
    assert any("retried" in line for line in lines)
    nothing_is_left(place)
    assert not list(home.folder.rglob("history*"))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_an_interrupt_ends_the_eval_and_leaves_nothing(
    home: Home, place: Path, number: signal.Signals
) -> None:
    child = home.start("demo", "--seconds", "1000", err=subprocess.PIPE)
    assert child.stderr is not None
    until_it_runs(child)
    the_eval_in(place)
    child.send_signal(number)
    assert child.wait(GRACE_S) == 128 + number
    assert child.stderr.read() == b""
    nothing_is_left(place)
    assert child.stdout is not None
    child.stdout.close()
    child.stderr.close()


@pytest.mark.slow
def test_an_eval_that_is_killed_is_not_a_success(home: Home, place: Path) -> None:
    child = home.start("demo", "--seconds", "1000", err=subprocess.PIPE)
    assert child.stderr is not None
    until_it_runs(child)
    with child:  # its pipes are closed also where an assertion fails
        os.kill(the_eval_in(place), signal.SIGKILL)
        assert child.wait(WAIT_S) == 1
        failed = child.stderr.read()
        assert b"did not succeed (" in failed
        assert b"evalroom/sums lost" in failed  # the other task may have run still, too
    nothing_is_left(place)


def test_the_room_opens_on_it_and_a_terminal_that_goes_away_takes_all_with_it(
    home: Home, place: Path
) -> None:
    terminal = Terminal([*EVALROOM, "demo", "--seconds", "1000"], env=home.env, cwd=home.folder)
    try:
        terminal.until("generating")
        terminal.type(b"2p")
        terminal.shows("launched by  you")
        assert terminal.process.poll() is None
        the_eval_in(place)
    finally:
        terminal.close()
    nothing_is_left(place)
    assert not list(home.folder.rglob("view.json"))


def test_folders_of_killed_demos_go_and_those_that_live_stay(place: Path) -> None:
    def forgotten(name: str, pid: int, of_eval: int) -> Path:
        folder = place / f"evalroom-demo-{name}"
        folder.mkdir()
        (folder / "pid").write_text(str(pid))
        (folder / "eval").write_text(str(of_eval))
        return folder

    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = forgotten("dead", ended.pid, ended.pid)
    runs = forgotten("runs", ended.pid, os.getpid())
    (place / "evalroom-demo-other").mkdir()
    remove_forgotten(place)
    assert not dead.exists()
    assert runs.exists()
    assert (place / "evalroom-demo-other").exists()


def test_its_environment_is_free_of_the_operators_inspect_settings(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_LOG_DIR", "/operators/logs")
    demo = start(20)
    try:
        environ = environ_of(demo.pid)
        assert not [name for name in environ if name.startswith("INSPECT_")]
        assert environ["XDG_DATA_HOME"] == f"{demo.folder}/data"
        assert demo.folder.stat().st_mode & 0o777 == 0o700
        assert os.getsid(demo.pid) == demo.pid
        status = Path(f"/proc/{demo.pid}/status").read_text()
        [umask] = [line for line in status.splitlines() if line.startswith("Umask")]
        assert umask.split()[1] == "0077"
    finally:
        demo.stop()
    nothing_is_left(place)


def test_its_size_follows_the_seconds() -> None:
    assert size_for(120)[0] > size_for(20)[0]
    assert size_for(240)[1] > size_for(120)[1] > size_for(60)[1]
    assert size_for(1)[1] > 0


def test_a_task_without_a_header_is_reported_as_unreadable(place: Path) -> None:
    demo = start(20)
    try:
        seen = tasks_seen(pid=demo.pid)
        fleet = fleet_after(named(), replace(seen, rows=()))
        assert not tasks_of(fleet, demo.pid)
        assert report(fleet, demo, 3.0)[-1] == "watched for 3 s"
        assert fleet.at <= NOW
    finally:
        demo.stop()
    assert not list(place.iterdir())
