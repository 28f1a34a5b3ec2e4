import json
import os
import signal
import subprocess
import sys

import pytest

import cli.main
from cli.event_loop import GRACE_S
from cli.main import main
from core.errors import LinkRefused, UsageWrong, first_error
from core.ids import MachineName
from tests.support.commands import EVALROOM, Home
from tests.support.processes import children_of, lives
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until


def crash_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str]) -> int:
        _secret = "sk-CANARY-1234"
        del argv
        raise error

    monkeypatch.setattr(cli.main, "_run", run)


def test_a_crash_is_one_sentence_and_a_private_file(
    here: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crash_with(RuntimeError("what \x1b[2J happened"), monkeypatch)
    assert main(["status"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert "\x1b" not in printed.err
    assert "evalroom crashed: RuntimeError: what" in printed.err
    [file] = (here.folder / ".local" / "state" / "evalroom" / "crashes").iterdir()
    assert str(file) in printed.err
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert "RuntimeError" in text
    assert "CANARY" not in text


def test_a_crash_is_json_where_json_was_asked_for(
    here: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crash_with(ValueError("no"), monkeypatch)
    assert main(["status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "crash"
    assert here.folder.exists()


def test_a_crash_without_a_place_for_its_file_is_still_a_sentence(
    here: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here.folder / ".local").touch()
    crash_with(ValueError("no"), monkeypatch)
    assert main([]) == 1
    assert "the crash report could not be written" in capsys.readouterr().err


def test_an_error_inside_groups_is_the_one_that_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = LinkRefused(MachineName("m"), "no shell there", "look")
    group = ExceptionGroup("a", [ExceptionGroup("b", [inner])])
    assert first_error(group) is inner
    crash_with(group, monkeypatch)
    assert main(["status", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "error": {"kind": "link_refused", "message": "no shell there", "advice": "look"}
    }
    crash_with(UsageWrong("which?"), monkeypatch)
    assert main(["status"]) == 2


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_watch_at_once_and_leaves_nothing(
    home: Home, number: signal.Signals, status: int
) -> None:
    home.watch_here(home.folder / "d")
    child = home.start("watch", "--json", err=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    while b"ProbeAnswered" not in (line := child.stdout.readline()):
        assert line
    [probe] = wait_until(lambda: children_of(child.pid), "the probe runs")
    child.send_signal(number)
    assert child.wait(GRACE_S) == status
    assert child.stderr.read() == b""
    wait_until(lambda: not lives(probe), "the probe is gone")
    child.stdout.close()
    child.stderr.close()


_BLOCKED = """
import time
from cli.event_loop import run_loop

async def work():
    print("blocked", flush=True)
    while True:
        time.sleep(0.001)

run_loop(work(), grace_s={grace_s})
"""


@pytest.mark.parametrize(
    ("number", "grace_s"), [(signal.SIGTERM, 0.2), (signal.SIGHUP, 0.2), (signal.SIGINT, 3600)]
)
def test_signals_end_a_command_whose_loop_never_comes_back(
    home: Home, number: signal.Signals, grace_s: float
) -> None:
    words = [sys.executable, "-c", _BLOCKED.format(grace_s=grace_s)]
    child = subprocess.Popen(words, env=home.env, cwd=ROOT, stdout=subprocess.PIPE)

    def has_ended() -> bool:
        child.send_signal(number)  # SIGINT is sent at least twice
        return child.poll() is not None

    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"blocked\n"
        wait_until(has_ended, "it ends")
        assert child.returncode == 128 + number
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize(
    "words",
    ["status", "status --json", "config show", "probe", "--version", "--help", "act --help"],
)
def test_a_pipe_whose_reader_went_away_is_not_an_error(home: Home, words: str) -> None:
    home.watch_here(home.folder / "d")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*EVALROOM, *words.split()], env=home.env, stdin=subprocess.DEVNULL, stdout=writer,
            stderr=subprocess.PIPE, check=False, timeout=WAIT_S,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_watch_ends_when_its_reader_goes_away(home: Home) -> None:
    home.watch_here(home.folder / "d")
    child = home.start("watch", "--json", err=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(WAIT_S) == 141
    assert child.stderr.read() == b""
    child.stderr.close()


@pytest.mark.parametrize(
    "words",
    ["status", "status --json", "config show", "probe", "--version", "--help", "act --help"],
)
def test_output_that_can_not_be_written_is_a_sentence_and_no_crash(home: Home, words: str) -> None:
    home.watch_here(home.folder / "d")
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [*EVALROOM, *words.split()], env=home.env, stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, check=False, timeout=WAIT_S, text=True,
        )  # fmt: skip
    assert done.stderr == (
        "evalroom: can't write the output: No space left on device\n  write it to another place\n"
    )
    assert done.returncode == 1
