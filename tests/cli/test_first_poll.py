"""Commands wait equally long for machines, and name those that they wait for."""

import json
import socket
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from cli.commands.first_poll import NOTE_AFTER_S
from cli.commands.silence import silence_named
from cli.parser.command_line import parse
from core.errors import NoMachineReached, TargetUnknown
from core.events import ReadFailed
from core.model.process import ProcessState
from core.model.timeouts import REQUEST_TIMEOUT_S
from tests.core.act.test_lying_evals import GOOD, ROW, routes
from tests.support.commands import Home
from tests.support.fake_eval import Serve, fake_eval, http
from tests.support.fleets import (
    NOW,
    fleet_after,
    probe_answered,
    process_key,
    process_seen,
    running_fleet,
)
from tests.support.waiting import WAIT_S

NOTED = {"NOTE_AFTER_S": str(NOTE_AFTER_S)}
"""The note comes when it comes to a person; other tests' commands wait longer."""
COMMANDS = (
    "status", "samples t", "sample t 1", "machines", "machines check m", "act pause t",
    "undo --yes", "config-set t --max-samples 2", "guide interrupt t", "launch s.toml",
    "runs", "run r", "doctor",
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_waits_equally_long_for_machines(words: str) -> None:
    command: Any = parse(words.split()).command
    assert command.timeout == REQUEST_TIMEOUT_S


def held_back() -> tuple[Event, Serve]:
    """Return an event, and an eval that answers nothing before the event is set."""
    answers = Event()

    def serve(connection: socket.socket, line: str) -> bool:
        method, path, _ = line.split()
        answers.wait(WAIT_S)
        known: dict[str, Any] = {"/tasks": [ROW], "/openapi.json": routes()}
        value = known.get(path, {}) if method == "GET" else {**GOOD, "dry_run": True}
        connection.sendall(http(json.dumps(value).encode()))
        return True

    return answers, serve


def test_a_command_names_what_it_waits_for_and_goes_on_once_it_answers(home: Home) -> None:
    answers, serve = held_back()
    data_dir = Path(home.folder) / "data"
    with fake_eval(data_dir, serve) as fake:
        home.watch_here(data_dir)
        waits = f"evalroom: waiting for process {fake.pid} on here, for at most"
        child = home.start(
            "act", "pause", f"here:{ROW['task_id']}", "--dry-run", err=-1,
            env=NOTED,
        )  # fmt: skip
        assert child.stderr is not None
        assert waits in child.stderr.readline().decode()
        answers.set()
        out, err = child.communicate(timeout=WAIT_S)
        assert child.returncode == 0, (out, err)
        answers.clear()
        given_up = home.run(
            "act", "pause", "nothing", "--timeout", str(NOTE_AFTER_S + 1), env=NOTED
        )  # fmt: skip
        assert f"{waits} 1s more" in given_up.err
        assert "here did not answer in time" in given_up.err


def test_a_command_waits_for_an_eval_that_is_blocked_as_long_as_its_timeout(home: Home) -> None:
    answers, serve = held_back()
    data_dir = Path(home.folder) / "data"
    blocked_soon = {**NOTED, "STARVED_AFTER_S": "2"}
    with fake_eval(data_dir, serve) as fake:
        home.watch_here(data_dir)
        words = ("act", "pause", f"here:{ROW['task_id']}", "--dry-run")
        child = home.start(*words, err=-1, env=blocked_soon)
        assert child.stderr is not None
        waits = (
            f"evalroom: waiting for process {fake.pid} on here, which may be blocked, for at most"
        )
        notes = iter(child.stderr.readline, b"")
        assert any(waits in note.decode() for note in notes)
        answers.set()
        out, err = child.communicate(timeout=WAIT_S)
        assert child.returncode == 0, (out, err)


def test_a_process_that_was_not_read_is_named_where_a_target_is_missing() -> None:
    fleet = fleet_after(probe_answered(), fleet=running_fleet())
    failed = ReadFailed(at=NOW, process=process_key(), what="tasks", reason="not read now")
    with (
        pytest.raises(NoMachineReached, match=r"process 100 on h100-1 could not be read: tasks: "),
        silence_named(fleet_after(failed, fleet=fleet), polled=True),
    ):
        raise TargetUnknown("no task matches x")
    starved = process_seen(pid=101, state=ProcessState.STARVED)
    with (
        pytest.raises(NoMachineReached, match="process 101 on h100-1 has not answered yet"),
        silence_named(fleet_after(starved, fleet=fleet), polled=True),
    ):
        raise TargetUnknown("no task matches x")
    with pytest.raises(TargetUnknown), silence_named(fleet, polled=True):
        raise TargetUnknown("no task matches x")
