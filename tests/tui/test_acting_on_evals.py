"""The room's hands on real evals: from a key to what the eval says of itself."""

import asyncio
import os
import re
import signal
import string
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from core.frames import Frame
from core.ids import SampleKey
from core.ports import MachineConnection, Reply, Room
from tests.support.acting import Acted, acting_on_eval
from tests.support.clocks import DIALOG_CLOCK
from tests.support.eval_turns import turn_at
from tests.support.evals import Eval, Evals
from tests.support.rooms import answerable, app_on, screen_text, services_on, shows
from tests.support.waiting import WAIT_S, wait_until
from tui.app import RoomApp

SIZE = (160, 46)
_NOBODY = {"pid": 1, "start": "none", "path": "/tasks"}
"""The head of a read that the probe answers by itself, at once."""


class Running:
    """A room that runs already: the app only looks at it."""

    def __init__(self, room: object) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._room, name)

    async def run(self) -> None:
        await asyncio.Event().wait()


@asynccontextmanager
async def room_on(
    one: Eval, *, read_only: bool = False
) -> AsyncGenerator[tuple[Pilot[None], RoomApp, Acted]]:
    """The room over one eval of this computer, with its tasks in it."""
    with pytest.MonkeyPatch.context() as monkey:
        async with acting_on_eval(one, read_only=read_only) as acted:
            await acted.task(one)
            monkey.setattr(acted.acting, "run", Running(None).run)  # it runs already
            room = cast("Room", Running(acted.watched.desk))
            app = app_on(room, services=services_on(room, acting=acted.acting))
            async with app.run_test(size=SIZE) as pilot:
                await shows(pilot, "turns")
                yield pilot, app, acted


def start(evals: Evals, **args: Any) -> Eval:
    """An eval whose samples take long."""
    given = {"samples": 6, "turns": 2_000, "sleep": 0.2, **args}
    options = ("--max-samples=2", "--no-fail-on-error")
    return evals.start("turns", args=given, options=options).wait_ready()


async def previewed(pilot: Pilot[None], words: str) -> None:
    """Wait for a preview, and until it takes a key."""
    await answerable(pilot, words)


def one_line(app: RoomApp) -> str:
    """What is on screen without its frames and line ends: a long command may break anywhere."""
    return " ".join(screen_text(app).replace("│", " ").split())


async def until(ask: Callable[[], Any], what: str) -> Any:
    """Return the first true answer of a look at the eval."""
    return await asyncio.to_thread(wait_until, ask, what)


def max_samples(one: Eval) -> object:
    row = one.task()
    return one.get(f"/tasks/{row['task_id']}/config")["max_samples"]["limit"]


async def test_from_a_key_to_what_the_eval_does(  # noqa: PLR0915 - one story
    evals: Evals,
) -> None:
    one = start(evals)
    async with room_on(one) as (pilot, app, acted):
        # Someone else's run is paused after a yes, and the row says so.
        await pilot.press("2", "p")
        await previewed(pilot, "someone else launched it")
        assert "ctl task pause" in one_line(app)
        await pilot.press("enter")
        await pilot.pause()
        assert acted.sent == []
        await pilot.press("y")
        await previewed(pilot, "you agreed")
        await pilot.press("enter")
        await shows(pilot, "1 done")
        await previewed(pilot, "dismiss")
        await pilot.press("enter")
        await shows(pilot, "1 paused")
        assert one.task()["paused"] == ["task"]

        # What was done is taken back.
        await pilot.press("u")
        await previewed(pilot, "Undo pause: turns on")
        assert "ctl task resume" in one_line(app)
        await pilot.press("y", "enter")
        await shows(pilot, "1 done")
        assert await until(lambda: not one.task()["paused"], "resumed")
        await previewed(pilot, "dismiss")
        await pilot.press("D")

        # A knob is read, edited, previewed and set, with the reason in the log.
        await pilot.press("c")
        await shows(pilot, "max samples")
        # The value now, and the one that it was launched with.
        assert re.search(r"max samples +task +2 +2 ", screen_text(app))
        await pilot.press("enter")
        await shows(pilot, "Enter set")
        await pilot.press("backspace", "0", "enter")
        await shows(pilot, "takes a whole number from 1")
        await pilot.press("backspace", "3", "enter")
        await shows(pilot, "2 → 3")
        await pilot.press("r", *"more", "enter", "s")
        await previewed(pilot, "max_samples  2 → 3")
        assert "--reason more" in one_line(app)
        await pilot.press("y", "enter")
        await shows(pilot, "1 done")
        assert max_samples(one) == 3
        assert "reason=more" in acted.sent[-1].head["path"]
        await previewed(pilot, "dismiss")
        await pilot.press("enter")

        # A sample is ended after its name was typed; another word sends nothing.
        await pilot.press("3")
        await shows(pilot, "running")
        await pilot.press("x")
        await shows(pilot, "cancel and score")
        await pilot.press("x")
        await previewed(pilot, "to confirm")
        before = len(acted.sent)
        key = app.front.selected() if app.front is not None else None
        assert isinstance(key, SampleKey)
        await pilot.press(*"s9", "enter")
        await shows(pilot, "type s")
        assert len(acted.sent) == before
        for char in f"{key.sample_id}/{key.epoch}":
            await pilot.press("slash" if char == "/" else char)
        await answerable(pilot)
        await pilot.press("enter")
        await shows(pilot, "1 done")
        ended = await until(
            lambda: [row for row in one.samples() if row["status"] == "cancelled"], "cancelled"
        )
        assert [row["sample_id"] for row in ended] == [key.sample_id]
        assert [order.state for order in acted.book.orders] == ["done"] * 4


KEYS = (
    *string.ascii_letters, *string.digits, "space", "exclamation_mark", "tab", "backspace",
    "delete", *(f"ctrl+{letter}" for letter in string.ascii_lowercase if letter not in "cz"),
)  # fmt: skip
"""Every letter, plain, with Shift and with Ctrl (but for the two that leave), and some more."""
DIALOGS = (
    ("2", "a"), ("2", "p"), ("2", "x", "s"), ("2", "x"), ("2", "c"), ("2", "u"), ("2", "P"),
    ("2", "colon"), ("1", "a"), ("1", "a", "i"), ("3", "a"), ("3", "x", "x"), ("3", "e"),
)  # fmt: skip


@pytest.mark.slow
async def test_no_key_sends_anything_unconfirmed(evals: Evals) -> None:
    one = start(evals)
    async with room_on(one) as (pilot, app, acted):
        for pane in "1234":
            for key in KEYS if pane == "2" else string.ascii_letters:
                await _home(pilot, app)
                await _typed(app, pane, key)
        for opening in DIALOGS:
            await _home(pilot, app)
            await _typed(app, *opening)
            await pilot.pause()
            DIALOG_CLOCK.advance()  # a dialog takes keys from now on
            await _typed(app, *KEYS)
        await acted.watched.goes_on()
        kinds = [frame.head["path"] for frame in acted.wire if frame.kind == "send"]
        assert kinds
        assert acted.sent == []
        assert acted.book.orders == []


async def _typed(app: RoomApp, *keys: str) -> None:
    """Type keys, and let each do all it does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))
    for _ in range(2_000):
        await asyncio.sleep(0.005)
        if not (app._typed or app._is_handing):  # pyright: ignore[reportPrivateUsage]
            return
    raise AssertionError("a key does not come to its end")


async def _home(pilot: Pilot[None], app: RoomApp) -> None:
    """Leave every dialog and place."""
    for _ in range(12):
        front = app.front
        if (
            front is not None
            and front is app.screen
            and front.place is None
            and not isinstance(app.focused, Input)
        ):
            return
        await _typed(app, "escape")
        await pilot.pause()
    raise AssertionError(app.screen_stack)


async def test_an_order_without_an_answer_stays_on_screen_until_a_look_tells(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.act.executor.ORDER_TIMEOUT_S", 1.5)
    one = start(evals)
    async with room_on(one) as (pilot, app, acted):
        [connection] = acted.watched.desk.connections
        _stop_at_the_order(connection, one)
        await pilot.press("2", "P")
        await previewed(pilot, "someone else launched it")
        await pilot.press("y", "enter")
        await shows(pilot, "1 sending")
        await pilot.press("escape")
        await shows(pilot, "orders 1 unknown")
        await pilot.press("j", "k")
        await acted.watched.goes_on(2)
        assert "orders 1 unknown" in screen_text(app)
        os.kill(one.pid, signal.SIGCONT)
        await shows(pilot, "orders 1 done")
        await pilot.press("o")
        await shows(pilot, "Confirmed by reading")
        assert len(acted.sent) == 1


def _stop_at_the_order(connection: MachineConnection, one: Eval) -> None:
    """Stop the eval before the order, with no request in flight: the order is the next to leave."""
    request = connection.request

    async def stopping(frame: Frame, *, deadline: float) -> Reply:
        if frame.kind != "send" or "dry_run" in frame.head["path"]:
            return await request(frame, deadline=deadline)
        with turn_at(one.pid):
            os.kill(one.pid, signal.SIGSTOP)
            order = asyncio.create_task(request(frame, deadline=deadline))
            later = await request(Frame("get", _NOBODY), deadline=WAIT_S)
            assert later.error == "not sent: no such process"  # so the order is in the probe
        return await order

    connection.request = stopping  # type: ignore[method-assign]
