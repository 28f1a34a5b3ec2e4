"""Guides on screen, with real keys, on a real eval."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from core.guide.guide import Guide
from core.model.order import Instance
from core.ports import Room
from tests.support.evals import Eval, Evals
from tests.support.guiding import LATER, Guided, guided
from tests.support.orders import HERE, Book
from tests.support.rooms import answerable, app_on, screen_text, services_on, shows
from tests.support.waiting import until
from tui.app import RoomApp
from tui.screens.guides import GuidesScreen

pytestmark = pytest.mark.xdist_group("guides")
SIZE = (160, 46)


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
    one: Eval, database: Path, book: Book, instance: Instance = HERE
) -> AsyncGenerator[tuple[Pilot[None], RoomApp, Guided]]:
    """The room with guides over one eval of this computer."""
    with pytest.MonkeyPatch.context() as monkey:
        async with guided(database, one, book=book, instance=instance) as here:
            await here.acted.task(one)
            monkey.setattr(here.acted.acting, "run", Running(None).run)
            monkey.setattr(here.guiding, "run", Running(None).run)
            room = cast("Room", Running(here.acted.watched.desk))
            services = services_on(room, acting=here.acted.acting, guiding=here.guiding)
            app = app_on(room, services=services)
            async with app.run_test(size=SIZE) as pilot:
                await shows(pilot, "quiet")
                yield pilot, app, here


async def confirmed(pilot: Pilot[None], step: str, words: str, *keys: str) -> None:
    """Open the preview of the step that waits, and confirm it."""
    await shows(pilot, f"your turn  {step}")
    await pilot.press("enter")
    await shows(pilot, words)
    await answerable(pilot, "affects")  # the guide itself shows some of the words
    await pilot.press(*keys)
    await shows(pilot, "1 done")
    await answerable(pilot)
    await pilot.press("enter")


def guide_of(app: RoomApp) -> Guide:
    assert isinstance(app.screen, GuidesScreen)
    assert app.screen.guide is not None
    return app.screen.guide


@pytest.mark.slow
async def test_a_run_is_parked_from_the_palette_with_a_restart_in_between(
    evals: Evals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = evals.start(
        "quiet", eval_set=True, args={"samples": 3_000, "seconds": 0.5},
        options=("--model", "mockllm/model", "--max-samples=2"),
    ).wait_ready()  # fmt: skip
    book, database = Book(), tmp_path / "h.sqlite3"
    async with room_on(one, database, book) as (pilot, app, here):
        await pilot.press("2", ":", *"guide-interrupt", "enter")
        await shows(pilot, "command that resumes the run")
        assert "inspect_ai eval-set" in screen_text(app)
        copied: list[str] = []

        def copy(text: str, what: str) -> None:
            del what
            copied.append(text)

        monkeypatch.setattr(app, "copy", copy)
        await pilot.press("y")
        await shows(pilot, "Someone else wrote this command")
        await shows(pilot, "Whoever started this eval wrote it, not you.")
        assert not copied, "the command is someone else's: a second key copies it"
        await pilot.press("y")
        await until(lambda: copied, "it is copied", before=pilot.pause)
        assert copied == [guide_of(app).command]
        await pilot.press("p", "e", "c", "P", "n")
        assert not here.acted.sent, "other keys send nothing here"
        await confirmed(pilot, "pause the process", "no new samples start", "y", "enter")
        assert one.task()["process_paused"]
    async with room_on(one, database, book, LATER) as (pilot, app, here):
        await pilot.press("W")
        await shows(pilot, "Enter takes it over")
        await pilot.press("enter")
        await here.acted.watched.until(lambda: here.guiding.guides, "it is taken up")
        await shows(pilot, "your turn  write the log of each task")
        assert not here.acted.sent
        await pilot.press("enter")
        await shows(pilot, "are written to the log")
        await answerable(pilot, "affects")
        await pilot.press("y", "enter")
        await shows(pilot, "no change")
        await answerable(pilot)
        await pilot.press("enter")
        await confirmed(pilot, "interrupt", "never run", *str(one.pid), "enter")
        await shows(pilot, "the process is gone; 1 log: 1 cancelled")
        assert not guide_of(app).is_open
        assert await asyncio.to_thread(one.popen.wait, 10) == 0


async def test_leaving_a_guide_takes_its_key_twice_and_sends_nothing(
    evals: Evals, tmp_path: Path
) -> None:
    one = evals.start(
        "quiet", args={"samples": 4, "seconds": 3_600},
        options=("--model", "mockllm/model", "--max-samples=2"),
    ).wait_ready()  # fmt: skip
    async with room_on(one, tmp_path / "h.sqlite3", Book()) as (pilot, app, here):
        await pilot.press("2", ":", *"guide-finish", "enter")
        await shows(pilot, "drain: start no new samples")
        await shows(pilot, "your turn")
        for pane in ("1", "2"):  # Enter comes first among the keys, in both panes
            await pilot.press(pane)
            await shows(pilot, "Enter continue   x stop guide")
        await pilot.press("x")
        await pilot.pause()
        assert guide_of(app).is_open
        await pilot.press("x")
        await shows(pilot, "stopped by Ada")
        assert not guide_of(app).is_open
        assert not here.acted.sent
