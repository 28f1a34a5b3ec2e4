"""A real eval that has ended, on screen: its numbers, why samples errored, and a sample's text."""

import asyncio
from pathlib import Path
from typing import Any, cast

from core.ports import Room
from tests.support.desk_on_evals import ended, watching_eval
from tests.support.evals import Evals
from tests.support.rooms import app_on, screen_text, shows

SIZE = (160, 46)


class Running:
    """A room that runs already: the app only looks at it."""

    def __init__(self, room: object) -> None:
        self._room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._room, name)

    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_an_ended_task_and_its_sample_are_read_from_the_log_on_the_same_screens(
    evals: Evals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = evals.start(
        "errors",
        args={"samples": 3, "first": 0, "sleep": 0.05, "gate": str(gate)},
        options=("--no-fail-on-error",),
    )
    async with watching_eval(one) as watched:
        await ended(watched, one, 1, gate=gate)
        app = app_on(cast("Room", Running(watched.desk)))
        async with app.run_test(size=SIZE) as pilot:
            await shows(pilot, "success")
            assert "2/3" in screen_text(app)
            await pilot.press("2", "enter")
            await shows(pilot, "1 x ValueError: sample N can never")
            assert "(such as" in screen_text(app)
            assert "over 2 of 3" in screen_text(app)
            await pilot.press("3", "enter")
            await shows(pilot, "withheld; ! shows it")
            assert "Traceback" not in screen_text(app)
            await pilot.press("exclamation_mark")
            await shows(pilot, "sample 3 can never be read")
            await pilot.press("2")
            await shows(pilot, "complete")
