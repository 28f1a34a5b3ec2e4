"""Keys typed faster than the room draws belong to what the earlier ones opened."""

from textual import events
from textual.pilot import Pilot

from core.text import Shown
from tests.support.busy_fleets import busy_fleet
from tests.support.rooms import FakeRoom, app_on, screen_text, shows
from tui.app import RoomApp
from tui.dialogs.prompts import LeaveDialog


def burst(app: RoomApp, text: str) -> None:
    """Type all of it at once, as a paste or a fast hand does."""
    names = {"/": "slash", ":": "colon", "\r": "enter"}
    for char in text:
        app.post_message(events.Key(names.get(char, char), char))


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(5):
        await pilot.pause()


async def test_a_filter_takes_all_that_is_typed_behind_its_key() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(160, 46)) as pilot:
        await pilot.press("2")
        burst(app, "/gpqa\r")
        await settled(pilot)
        assert not any(isinstance(screen, LeaveDialog) for screen in app.screen_stack)
        await shows(pilot, "gpqa_diamond")
        assert "swe_bench_verified" not in screen_text(app)


async def test_a_pane_is_there_for_the_key_behind_its_digit() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(160, 46)) as pilot:
        burst(app, "1\r")
        await shows(pilot, "a100-us")
        await settled(pilot)
        assert type(app.front).__name__ == "MachineScreen"


async def test_the_palette_takes_what_is_typed_while_it_opens() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(160, 46)) as pilot:
        burst(app, ":columnsq")
        await settled(pilot)
        assert not any(isinstance(screen, LeaveDialog) for screen in app.screen_stack)
        [typed] = app.screen.query("Input").results()
        assert getattr(typed, "value", Shown("")) == "columnsq"


async def test_a_paste_that_goes_astray_is_dropped_and_the_next_key_counts() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(160, 46), notifications=True) as pilot:
        await pilot.press("2")
        burst(app, "j" * 5_000)
        await shows(pilot, "Too many keys at once")
        await settled(pilot)
        burst(app, "/gpqa\r")
        await shows(pilot, "gpqa_diamond")
