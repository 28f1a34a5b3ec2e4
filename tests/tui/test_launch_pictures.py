"""Pictures of launching: the chooser, the form, its plan, the runs."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from core.launch.preflight.checks import Check, CheckLevel
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, H2
from tests.support.launching import PYTHON, ScriptedLaunching
from tests.support.rooms import FakeRoom, answerable, app_on, services_on, shows
from tests.support.runs import EU, every_run, run, with_runs
from tui.app import RoomApp

Picture = Callable[[RoomApp], None]
SMALL, USUAL, LARGE = (80, 24), (120, 40), (200, 50)
TO_MACHINE = ("n", "enter", "up", "up", "up", "end", "ctrl+u")
FORM = (*TO_MACHINE, *"h100-2")
ON_ERROR = ("ctrl+r", "enter", "down", "enter")
MODEL = ("pageup", "pageup", "pageup", "ctrl+u", *"openai-api/acme/x", "down", "enter")
PRINTED = b"\x1b[1mLoading\x1b[0m tasks ...\nNo inspect tasks were found at the specified paths.\n"


def room() -> tuple[ScriptedLaunching, RoomApp]:
    fleet = with_runs(busy_fleet(), every_run())
    marked = replace(fleet.machines[H1], production=True, tags=("gpu",))
    held = FakeRoom(replace(fleet, machines={**fleet.machines, H1: marked}))
    launching = ScriptedLaunching(held)
    stop = Check(
        name="docker",
        level=CheckLevel.STOP,
        message="the daemon does not answer: permission denied",
        advice="add the user to the group docker, then log in again",
    )  # fmt: skip
    memory = Check(
        name="containers", level=CheckLevel.WARNING, message="8 x 4G are asked for, 20G are free",
        advice="max_samples = 5",
    )  # fmt: skip
    launching.checks = {EU: (PYTHON, stop, memory)}
    launching.printed = {run(2).id: PRINTED, run(5).id: PRINTED}
    return launching, app_on(held, services=services_on(held, launching=launching))


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)


@pytest.mark.parametrize("size", [SMALL, USUAL, LARGE], ids=lambda size: str(size[0]))
async def test_the_form(picture: Picture, size: tuple[int, int]) -> None:
    _, app = room()
    async with app.run_test(size=size) as pilot:
        await press(pilot, *FORM, *ON_ERROR, *MODEL)
        await shows(pilot, "ACME_BASE_URL")
        picture(app)


async def test_what_happens_on_an_error_is_chosen(picture: Picture) -> None:
    _, app = room()
    async with app.run_test(size=SMALL) as pilot:
        await press(pilot, *FORM, "ctrl+r", "enter")
        await shows(pilot, "tolerate 0.1  stop once")
        picture(app)


@pytest.mark.parametrize(
    ("machines", "size"),
    [("h100-2", SMALL), ("h100-1", USUAL), ("h100-1,h100-2,a100-eu", USUAL), ("any", LARGE)],
    ids=["small", "production", "matrix", "large"],
)
async def test_the_plan(picture: Picture, machines: str, size: tuple[int, int]) -> None:
    launching, app = room()
    launching.passed_over = ((H2, "its link is down"),) if machines == "any" else ()
    async with app.run_test(size=size) as pilot:
        await press(pilot, *TO_MACHINE, *machines, *ON_ERROR, "ctrl+r")
        await answerable(pilot, "Plan")
        picture(app)


@pytest.mark.parametrize("size", [SMALL, USUAL, LARGE], ids=lambda size: str(size[0]))
async def test_the_runs(picture: Picture, size: tuple[int, int]) -> None:
    _, app = room()
    async with app.run_test(size=size) as pilot:
        await pilot.press("N")
        await shows(pilot, "3 active · 7 total")
        await press(pilot, "G", "up", "up")
        if size != SMALL:
            await shows(pilot, "No inspect tasks were found")
        picture(app)
