"""The list of runs, with real keys: the way to tasks, a run's page and output, launched again."""

import pytest
from textual.pilot import Pilot

from core.errors import RequestFailed
from core.events import RunChanged
from core.model.run import Run, RunState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, NOW, process_key, task_key
from tests.support.hostile_fleets import HOSTILE
from tests.support.launching import ScriptedLaunching
from tests.support.rooms import (
    FakeRoom,
    MemoryStore,
    answerable,
    app_on,
    screen_text,
    services_on,
    shows,
)
from tests.support.runs import COMMAND, every_run, run, with_runs
from tui.app import RoomApp
from tui.controllers.attach import AttachController
from tui.screens.launch_form import LaunchFormScreen
from tui.screens.runs import RunsScreen
from tui.services import AttachSettings

SIZE = (140, 44)


def room_of_runs(*runs: Run) -> tuple[ScriptedLaunching, RoomApp]:
    room = FakeRoom(with_runs(busy_fleet(), runs or every_run()))
    launching = ScriptedLaunching(room)
    return launching, app_on(room, services=services_on(room, launching=launching))


def runs(app: RoomApp) -> RunsScreen:
    assert isinstance(app.screen, RunsScreen)
    return app.screen


async def opened(pilot: Pilot[None]) -> None:
    """Open the list of runs."""
    await pilot.press("N")
    await shows(pilot, "total")


async def test_a_key_or_the_palette_opens_it_and_it_is_found_again_after_a_restart() -> None:
    store = MemoryStore()
    room = FakeRoom(with_runs(busy_fleet(), every_run()))
    app = app_on(room, services=services_on(room, views=store))
    async with app.run_test(size=SIZE) as pilot:
        await shows(pilot, "4 runs 1 error 2 starting 1 running")
        await pilot.press(":", *"runs", "enter")
        await shows(pilot, "3 active · 7 total")
        await pilot.press("escape", "N")
        await shows(pilot, "3 active · 7 total")
        app.save_view()
    again = app_on(room, services=services_on(room, views=MemoryStore(store.view)))
    async with again.run_test(size=SIZE) as pilot:
        room.become(room.fleet)
        await shows(pilot, "3 active · 7 total")


async def test_enter_goes_to_the_task_of_a_run_and_of_one_without_to_its_page() -> None:
    _, app = room_of_runs()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert app.front is not None
        assert app.front.place == task_key("t1", H1, 100)
        await pilot.press("escape")
        await shows(pilot, "3 active · 7 total")
        await pilot.press("g", "enter")
        await pilot.pause()
        assert runs(app).current == 1


async def test_an_action_on_a_run_acts_on_its_process() -> None:
    _, app = room_of_runs()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("down", "down")
        await pilot.pause()
        assert runs(app).targets() == (process_key(H1, 100),)
        await pilot.press("g")
        await pilot.pause()
        assert runs(app).targets() == ()


async def test_it_filters_and_sorts_as_any_table() -> None:
    _, app = room_of_runs()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("/", *"error", "enter")
        await shows(pilot, "2 of 7")
        await pilot.press("escape", "s")
        await shows(pilot, "score or message")


async def test_the_output_of_the_run_under_the_cursor_is_fetched_and_harmless() -> None:
    launching, app = room_of_runs()
    second = run(6).id
    launching.printed = {
        run(5).id: b"\x1b[32mfirst\x1b[0m words\n",
        second: HOSTILE.encode("utf-8", "replace"),
    }
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("N")
        await shows(pilot, "first words")
        await pilot.press("down")
        await shows(pilot, "⟦202E⟧evil")
        assert "first words" not in screen_text(app)
        launching.fails = RequestFailed("the link to h100-1 is down")
        await pilot.press("down")
        await shows(pilot, "the link to h100-1 is down")
        assert launching.read[-1] == run(4).id


async def test_the_output_of_a_run_is_followed_while_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui.screens.runs._READ_EVERY_S", 0.05)
    launching, app = room_of_runs(run(4))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("N")
        await shows(pilot, "this run has printed nothing")
        launching.printed = {run(4).id: b"more came\n"}
        await shows(pilot, "more came")


async def test_in_little_room_nothing_is_fetched_until_its_pane_is_opened() -> None:
    launching, app = room_of_runs()
    launching.printed = {run(5).id: b"printed words\n"}
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("N")
        await shows(pilot, "7 total")
        await pilot.pause()
        assert launching.read == []
        await pilot.press("3")
        await shows(pilot, "printed words")


async def test_a_run_that_changes_is_seen_at_once_and_the_cursor_stays() -> None:
    _, app = room_of_runs(run(4), run(5, RunState.STARTING, ago=20))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("down")
        room = app.room
        assert isinstance(room, FakeRoom)
        changed = run(6, RunState.ERROR, ago=1, message="it went wrong", ended_at=NOW)
        room.happen(RunChanged(at=NOW, run=changed))
        await shows(pilot, "it went wrong")
        assert runs(app).run_here == run(4)


async def test_duplicate_keeps_what_is_left_blank_and_the_names_of_secrets() -> None:
    base = run(4)
    spec = {**base.spec, "secrets": {"K_KEY": "team"}, "max_samples": 4}
    launching, app = room_of_runs(run(4, spec=spec))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await shows(pilot, f"Launch · {base.id}")
        assert isinstance(app.screen, LaunchFormScreen)
        await shows(pilot, "K_KEY = team")
        await pilot.press("down", "end", "ctrl+u")
        await shows(pilot, "blank: keeps samples = 10")
        await pilot.press(*"samples = 3", "ctrl+r")
        await answerable(pilot, "Plan")
        asked = launching.asked[-1]
        assert dict(asked.args) == {"samples": 3}
        assert dict(asked.secrets) == {"K_KEY": "team"}
        assert (asked.max_samples, asked.on_error) == (4, "continue")


async def test_run_again_goes_straight_to_the_plan_and_back_to_the_list() -> None:
    launching, app = room_of_runs()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("down", "down", "R")
        await answerable(pilot, "Plan")
        assert launching.asked[-1].args == {"samples": 10, "pass_rate": 0.7}
        await pilot.press("escape")
        await pilot.pause()
        assert runs(app).is_current
        assert launching.launched == []
        await pilot.press("R")
        await answerable(pilot, "Plan")
        await pilot.press("enter")
        await answerable(pilot, "Launch · result")
        await pilot.press("enter")
        await shows(pilot, "8 total")
        [[checked]] = launching.launched
        assert runs(app).run_here is not None
        assert runs(app).table.cursor_key == checked.plan.run


async def test_a_run_with_a_missing_or_unknown_spec_says_so() -> None:
    _, app = room_of_runs(run(1, spec={}), run(2, ago=400, spec={"task": 3}))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("N")
        await shows(pilot, "2 total")
        await pilot.press("R")
        await shows(pilot, "The spec of this run is unknown")
        await pilot.press("down", "R")
        await shows(pilot, "The spec of this run is no longer valid")
        app.clear_notifications()  # they cover what the form says
        await pilot.press("d")
        await shows(pilot, "fields to fix")


async def test_a_run_that_may_live_on_another_host_is_not_started_again() -> None:
    launching, app = room_of_runs(
        run(1, RunState.ELSEWHERE, host="node1", message="it was started")
    )
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("N")
        await shows(pilot, "elsewhere")
        await pilot.press("R")
        await shows(pilot, "This run may still be running on node1")
        assert launching.asked == []


async def test_commands_are_copied_and_one_of_someone_else_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, app = room_of_runs(run(1), run(3, ago=400, operator="bob", is_ours=False))
    copied: list[tuple[str, str]] = []

    def copy(text: str, what: str) -> None:
        copied.append((text, what))

    monkeypatch.setattr(app, "copy", copy)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("N")
        await shows(pilot, "Y copy launch")
        await pilot.press("y", "Y")
        await pilot.pause()
        command, launch = copied
        assert command == (f"cd ~/.evalroom/runs/{run(1).id} && {COMMAND}", "command")
        assert launch[0].startswith("evalroom launch - <<'END'\n")
        assert launch[0].count("\n") > 5
        await pilot.press("down", "y")
        await shows(pilot, "bob wrote it, not you.")
        await pilot.press("enter")
        await pilot.pause()
        assert len(copied) == 2
        await pilot.press("y")
        await shows(pilot, "bob wrote it, not you.")
        await pilot.press("y")
        await pilot.pause()
        assert copied[2][1] == "command"


async def test_attaching_is_a_key_of_runs_that_have_a_display(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = FakeRoom(with_runs(busy_fleet(), every_run()))
    settings = AttachSettings(machines=(), way="window")
    launching = ScriptedLaunching(room)
    app = app_on(room, services=services_on(room, launching=launching, attach=settings))
    attached: list[str] = []

    def remember(_: AttachController, run: Run) -> None:
        attached.append(run.id)

    monkeypatch.setattr(AttachController, "attach", remember)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("N")
        await shows(pilot, "Y copy launch")
        assert "t attach" not in screen_text(app)
        await pilot.press("t")
        await shows(pilot, "This run has no terminal to attach to")
        await pilot.press("down", "down")
        await shows(pilot, "t attach")
        await pilot.press("t")
        await pilot.pause()
    assert attached == [run(4).id]


async def test_nothing_was_launched_yet() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("N")
        await shows(pilot, "no runs yet: press n to launch one")
        await pilot.press("enter", "y", "Y", "t", "d", "R")
        await pilot.pause()
        assert isinstance(app.screen, RunsScreen)
