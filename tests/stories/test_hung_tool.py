"""A tool that hangs in a real eval: suspect, alarm, cancelled, closed; on screen and headless."""

import os
import signal
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any

import pytest

from tests.support.commands import EVALROOM, NO_PRESSURE, Home, machine
from tests.support.evals import Eval, Evals, short_folder
from tests.support.tmux import Tmux, in_tmux
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
RULES = """
[watch.cadences]
spin-up = { tasks = 1, samples = 1 }
ramping = { tasks = 1, samples = 1 }
steady = { tasks = 1, samples = 1 }
near-the-end = { tasks = 1, samples = 1 }
trouble = { tasks = 1, samples = 1 }
[judge.stall]
tool = { suspect = 6, alarm = 18 }
"""


@pytest.fixture
def home() -> Iterator[Home]:
    """An operator's home, under a short path."""
    with short_folder() as folder:
        yield Home(folder)


def hung(evals: Evals) -> Eval:
    """An eval whose one sample calls a tool for ever, and after that another one for a moment."""
    options = ("--max-samples=1",)
    args = {"samples": 1, "naps": 1, "seconds": 10_000}
    return evals.start("tools", args=args, options=options)


def watched(home: Home, one: Eval) -> None:
    home.configure(machine("here", one.data_dir) + NO_PRESSURE + RULES)


def calls(one: Eval) -> bool:
    """Whether the tool is called; an eval that has ended calls none."""
    nothing: dict[str, Any] = {}
    try:
        doing: list[dict[str, Any]] = [row.get("activity") or nothing for row in one.samples()]
    except (OSError, HTTPException):
        return False
    return any(each.get("type") == "tool" for each in doing)


def test_headless(home: Home, evals: Evals) -> None:
    one = hung(evals)
    watched(home, one)
    room = home.start("watch", "--json")
    try:
        one.wait_ready().wait_rows(bool)
        wait_until(lambda: calls(one), "the tool is called")
        suspect = _stall(home, "suspect")
        assert "nap has run for over 6s" in suspect["evidence"]
        alarm = _stall(home, "alarm")
        assert alarm["id"] == suspect["id"]

        target = f"tools#{one.samples()[0]['sample_id']}/1"
        planned = home.run("act", "cancel-call", target, "--dry-run", "--json")
        assert planned.status == 0, planned.err
        [aim] = planned.json["targets"]
        assert "cancel-tool-call" in aim["command"]
        assert calls(one)

        done = home.run("act", "cancel-call", target, "--yes", "--json")
        assert done.status == 0, done.err
        wait_until(lambda: not _open(home), "the finding closes", seen=lambda: _open(home))
        listed = home.run("findings", "--closed", "--json").json["findings"]
        [closed] = [each for each in listed if each["id"] == alarm["id"]]
        assert closed["closed_at"] is not None
    finally:
        os.killpg(room.pid, signal.SIGKILL)
        room.communicate()


def _open(home: Home) -> list[dict[str, Any]]:
    ran = home.run("findings", "--json")
    found: list[dict[str, Any]] = ran.json.get("findings", []) if ran.status == 0 else []
    return [each for each in found if each["kind"] == "stall"]


def _stall(home: Home, severity: str) -> dict[str, Any]:
    def there() -> dict[str, Any] | None:
        return next((each for each in _open(home) if each["severity"] == severity), None)

    return wait_until(there, f"a stall is {severity}", seen=lambda: _open(home))


def _press(tmux: Tmux, key: str, has_worked: Callable[[], bool]) -> None:
    """Press a key until it has worked: a dialog takes none in its first moment."""

    def pressed() -> bool:
        if has_worked():
            return True
        tmux.keys(key)
        return False

    wait_until(pressed, f"{key} has worked", every=2.0, seen=tmux.screen)


def test_on_screen(home: Home, evals: Evals) -> None:
    one = hung(evals)
    watched(home, one)
    env = {**home.env, "TERM": "xterm-256color"}
    with in_tmux(home.folder, EVALROOM, columns=180, lines=50, env=env) as tmux:
        tmux.until("Machines")
        one.wait_ready().wait_rows(bool)
        wait_until(lambda: calls(one), "the tool is called")
        tmux.until("suspect from 6s")
        tmux.until("nap has run for over 18s")
        tmux.keys("3")
        tmux.until("nap")
        tmux.keys("x")
        tmux.until("cancel nap")
        tmux.keys("1")
        tmux.until("cancel-tool-call")
        assert calls(one), "a preview changes nothing"
        tmux.until("someone else launched it")
        _press(tmux, "y", lambda: "you agreed" in tmux.screen())
        _press(tmux, "Enter", lambda: not calls(one))
        wait_until(lambda: not _open(home), "the finding closes", seen=lambda: _open(home))
