"""A room that a test holds in its hand.

As a program it opens the real app on a fleet of a kind: `python -m tests.support.rooms KIND`.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from cli.wiring.room import replay_services
from core.config.model import ScreenConfig
from core.errors import RequestFailed
from core.events import Event
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.task import ProgressPoint
from core.ports import FleetUpdate, Reply, Room, Show, SignIn
from core.signal import Signal
from core.views.changes import only_older
from tests.support.busy_fleets import busy_fleet
from tests.support.clocks import DIALOG_CLOCK
from tests.support.fleets import (
    NOW,
)
from tests.support.hostile_fleets import hostile_answers, hostile_fleet
from tests.support.waiting import WAIT_S, until
from tui.app import RoomApp
from tui.dialogs.guarded_dialog import REPEAT_S, GuardedDialog
from tui.services import RoomServices, Service
from tui.terminal.textual_internals import lines_of

COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
"""What the terminal of a test can show, whatever the test itself runs in."""


class FakeRoom:
    """A `Room` whose fleet a test sets, and that remembers what it was asked.

    Attributes:
        asked: What the screens wanted: ("focus", task), ("retry", machine) ...
        answers: What `read` answers, as (status, body), by the path's beginning; `... content`
            only where the content is asked for.
    """

    def __init__(self, fleet: Fleet | None = None) -> None:
        self._fleet = fleet if fleet is not None else Fleet()
        self._updates = Signal[FleetUpdate]()
        self._update = FleetUpdate(self._fleet, 0)
        self.at = NOW
        self.asked: list[tuple[str, Any]] = []
        self.given_way = 0
        """How often it left the loop to the screen."""
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.fails: Exception | None = None
        self.is_replay = False
        self.has_polled = True
        self.signs_in: SignIn | None = None

    @property
    def fleet(self) -> Fleet:
        return self._fleet

    def now(self) -> float:
        return self.at

    async def run(self) -> None:
        if self.fails is not None:
            raise self.fails
        await asyncio.Event().wait()

    def post(self, event: Event) -> None:
        self.asked.append(("post", event))
        self.happen(event)

    def happen(self, *events: Event) -> None:
        """Fold these events in and show what came of them."""
        for event in events:
            self._fleet = fold(self._fleet, event)
        self.become(self._fleet)

    def become(self, fleet: Fleet) -> None:
        """Show this fleet."""
        self._fleet = fleet
        before = self._update
        is_same = only_older(before.fleet, fleet)
        self._update = FleetUpdate(fleet, before.revision + (not is_same))
        self._updates.emit(self._update)

    def subscribe(self, show: Show) -> Callable[[], None]:
        return self._updates.connect(show)

    def focus(self, task: TaskKey | None) -> None:
        if self.asked[-1:] != [("focus", task)]:
            self.asked.append(("focus", task))

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        del process, deadline
        self.asked.append(("read", path))
        for known, (status, body) in self.answers.items():
            start, _, content = known.partition(" ")
            if path.startswith(start) and (not content or f"{content}=true" in path):
                return Reply(at=self.at, took=0.001, status=status, error=None, body=body)
        raise RequestFailed("the process does not answer")

    def retry(self, machine: MachineName) -> None:
        self.asked.append(("retry", machine))

    def read_log(self, task: TaskKey) -> None:
        self.asked.append(("read log", task))

    def poll_now(self, process: ProcessKey) -> None:
        self.asked.append(("poll", process))

    def give_way(self) -> None:
        self.given_way += 1

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        self.asked.append(("accept", (machine, fingerprint)))

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        self.asked.append(("sign in", machine))
        return self.signs_in

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        return self._fleet.tasks[task].trail if task in self._fleet.tasks else ()


class MemoryStore:
    """A view store in memory."""

    def __init__(self, view: Mapping[str, Any] | None = None) -> None:
        self.view: Mapping[str, Any] = view or {}

    def load(self) -> Mapping[str, Any]:
        return self.view

    def save(self, view: Mapping[str, Any]) -> bool:
        self.view = view
        return True


def services_on(
    room: Room,
    *,
    acting: Any = None,
    guiding: Any = None,
    launching: Any = None,
    why_no_launch: str = "",
    sessions: Any = None,
    **more: Any,
) -> RoomServices:
    """Return the services of an app on a room; those that are given are there.

    Args:
        room: A replay has none of them.
        acting: Also what a test tells in its place; so the others.
        launching: Follows the runs, and starts them.
        why_no_launch: Runs are followed only.
    """
    services = replay_services(room) if room.is_replay else RoomServices(room=room)
    given = {"acting": acting, "guiding": guiding, "runs": launching, "sessions": sessions}
    if why_no_launch:
        more["launching"] = Service[Any](missing=why_no_launch)
    else:
        given["launching"] = launching
    for name, service in given.items():
        if service is not None:
            more[name] = _made(service)
    return replace(services, **more)


def _made(service: object) -> Service[Any]:
    return Service(lambda: service)


def app_on(room: Room, *, services: RoomServices | None = None, **more: Any) -> RoomApp:
    """Return the app on a room, in a terminal that shows everything.

    Args:
        room: What it shows.
        services: What it uses; None: nothing but the room.
        more: As `RoomApp` takes it.
    """
    more.setdefault("environ", COLOURS)
    return RoomApp(services or services_on(room), **more)


def screen_lines(app: App[Any]) -> list[str]:
    """Return what is on screen, line by line, as text."""
    return [strip.text for strip in lines_of(app.screen)]


def screen_text(app: App[Any]) -> str:
    """Return what is on screen, as text."""
    return "\n".join(line.rstrip() for line in screen_lines(app))


async def shows(pilot: Pilot[None], words: str, seconds: float = WAIT_S) -> None:
    """Wait until these words are on screen."""
    await until(
        lambda: words in screen_text(pilot.app),
        f"{words!r} is on screen",
        seconds,
        before=pilot.pause,
        every=0.02,
        seen=lambda: f"\n{screen_text(pilot.app)}",
    )


async def answerable(pilot: Pilot[None], words: str = "") -> None:
    """Wait until a dialog with these words is on screen; from then on it takes an answer."""
    await shows(pilot, words)
    dialog = pilot.app.screen
    assert isinstance(dialog, GuardedDialog), screen_text(pilot.app)
    DIALOG_CLOCK.advance()
    assert dialog.was_seen
    entered_at = dialog._entered_at  # pyright: ignore[reportPrivateUsage] - an Enter would answer
    assert DIALOG_CLOCK.monotonic() - entered_at >= REPEAT_S


class _Failing(FakeRoom):
    def now(self) -> float:
        password = "sk-" + "CANARY-" + str(self.at)  # a value that a traceback must not show
        if Path(os.environ["FAIL_WHEN"]).exists():
            raise ValueError(f"broken by the test, {len(password)} long")
        return self.at


class _Blocking(FakeRoom):
    """A room whose loop never comes back, once the test says so."""

    def now(self) -> float:
        blocked = Path(os.environ["BLOCK_WHEN"])
        if blocked.exists():
            blocked.write_text("blocked")
            while True:
                if os.environ["BLOCKED_BY"] == "a call":
                    time.sleep(3600)
        return self.at


def _main(kind: str) -> int:
    if os.environ.get("IGNORE_HANGUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fleets = {"hostile": hostile_fleet, "empty": Fleet}
    kinds = {"failing": _Failing, "blocked": _Blocking}
    room = kinds.get(kind, FakeRoom)(fleets.get(kind, busy_fleet)())
    if kind == "hostile":
        room.answers = hostile_answers()
    crash = os.environ.get("CRASH_FILE")

    def keep_crash(report: str) -> str | None:
        if crash is not None:
            Path(crash).write_text(report)
        return crash

    app = RoomApp(services_on(room), screen=ScreenConfig(), keep_crash=keep_crash)
    return asyncio.run(app.run_in_terminal())


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
