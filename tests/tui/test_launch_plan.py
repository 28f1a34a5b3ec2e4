"""The plan of a launch, with real keys: what keeps a run from starting, and how one starts."""

from dataclasses import replace

from core.errors import SpecWrong
from core.launch.preflight.checks import Check, CheckLevel
from core.model.run import RunState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, H2
from tests.support.launch_forms import SIZE, planned, ready, room_to_launch
from tests.support.launching import PYTHON
from tests.support.rooms import (
    answerable,
    screen_text,
    shows,
)
from tui.dialogs.launch_plan import LaunchPlanDialog
from tui.screens.launch_form import LaunchFormScreen

STOP = Check(name="docker", level=CheckLevel.STOP, message="it does not answer", advice="start it")


async def test_a_check_that_says_stop_keeps_enter_from_launching() -> None:
    launching, app = room_to_launch()
    launching.checks = {H1: (PYTHON, STOP)}
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot)
        assert "a check stops this run, so nothing starts" in screen_text(app)
        await pilot.press("enter")
        await shows(pilot, "Not started: the check docker failed")
        launching.checks = {}
        await pilot.press("g")
        await answerable(pilot, "✓ disk")
        assert launching.launched == []
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        assert len(launching.launched) == 1


async def test_a_key_skips_the_stopped_runs_of_a_matrix() -> None:
    launching, app = room_to_launch()
    launching.checks = {H2: (STOP,)}
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot, machine="h100-1, h100-2")
        text = screen_text(app)
        assert "on h100-1, h100-2 · at worst 220 sample runs" in text
        await pilot.press("x")
        await answerable(pilot, "Skipped 1 run")
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        [[checked]] = launching.launched
        assert checked.plan.machine == H1


async def test_a_production_machine_takes_its_name_typed() -> None:
    fleet = busy_fleet()
    marked = replace(fleet.machines[H1], production=True)
    launching, app = room_to_launch(replace(fleet, machines={**fleet.machines, H1: marked}))
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot)
        await pilot.press(*"h100", "enter")
        await answerable(pilot, "h100 does not match")
        assert launching.launched == []
        await pilot.press(*"h100-1", "enter")
        await answerable(pilot, "Launch · result")
        assert len(launching.launched) == 1


async def test_nothing_is_launched_by_an_enter_before_the_plan_was_seen_or_by_another_key() -> None:
    launching, app = room_to_launch()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+r", "enter", "enter", "enter")
        await answerable(pilot, "Plan")
        for key in "abcdefhijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 /:?!":
            await pilot.press(key)
        await pilot.press("tab", "shift+tab", "f1", "ctrl+r", "ctrl+s")
        assert isinstance(app.screen, LaunchPlanDialog)
        assert launching.launched == []
        await pilot.press("escape")
        await shows(pilot, "Launch · smoke")


async def test_a_plan_that_can_not_be_made_says_why_and_leads_back_to_the_form() -> None:
    launching, app = room_to_launch()
    launching.fails = SpecWrong("the matrix has 2000 runs", "at most 1000")
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+r")
        await shows(pilot, "the matrix has 2000 runs. At most 1000")
        await pilot.press("enter", "escape")
        await shows(pilot, "Launch · smoke")
        assert launching.launched == []


async def test_the_preflight_is_left_with_esc_while_it_looks() -> None:
    launching, app = room_to_launch()
    launching.gate.clear()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+r")
        await shows(pilot, "looked at 0 of 1")
        await pilot.press("escape")
        await shows(pilot, "Launch · smoke")
        launching.gate.set()
        await pilot.pause()
        assert isinstance(app.screen, LaunchFormScreen)


async def test_a_launch_goes_on_when_its_dialog_is_left() -> None:
    launching, app = room_to_launch()
    launching.starting.clear()
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot)
        await pilot.press("enter")
        await shows(pilot, "Launch · starting")
        await pilot.press("escape")
        await shows(pilot, "no runs yet: press n")
        launching.starting.set()
        await shows(pilot, "running")
        assert [run.state for run in app.room.fleet.runs.values()] == [RunState.RUNNING]
