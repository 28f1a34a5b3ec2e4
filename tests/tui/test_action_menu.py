"""The ways to an action: its menu, its name, the bar below the panes."""

from dataclasses import replace

import pytest

from tests.support.fleets import H1, named
from tests.support.previews import opened, seen
from tests.support.rooms import screen_text, shows

WIDE = (160, 46)


async def test_the_menu_acts_by_letter_on_the_selection_and_on_every_row_shown() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("a")
        await shows(pilot, "Actions on gdm_intercode_ctf")
        assert "for all 7 tasks shown" in screen_text(app)
        await pilot.press("A")
        await shows(pilot, "Actions on 7 tasks")
        await seen(pilot, "d", words="type drain 5")
        assert acting.carried == []


async def test_the_titles_name_the_sample_and_one_that_ended_says_why_nothing_ends() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("3", "x")
        await shows(pilot, "End sample 44/1 of gdm_intercode_ctf on h100-1")
        await pilot.press("escape", "G", "x")
        await shows(pilot, "Nothing to end: the sample has ended (done).")
        assert "press its letter" not in screen_text(app)
        assert acting.carried == []


async def test_every_action_is_found_by_its_name() -> None:
    _, _, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("colon", *"pause-now", "enter")
        await shows(pilot, "Pause now: gdm_intercode_ctf")
        await pilot.press("escape", "1", "j", "j", "colon", *"interrupt", "enter")
        await shows(pilot, "Interrupt 2 processes of h100-1")


async def test_the_action_bar_comes_after_the_panes_and_is_pressed() -> None:
    _, _, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await shows(pilot, "requeue errored")
        await pilot.press("4", "j", "tab")
        assert getattr(app.focused, "id", "") == "action-bar"
        await pilot.press("tab", "enter")
        await pilot.pause()
        await pilot.press("escape", "escape")
        assert getattr(app.focused, "id", "") == "findings"
        await pilot.press("1", "j", "j", "shift+tab")
        assert getattr(app.focused, "id", "") == "action-bar"


@pytest.mark.parametrize("size", [(80, 24), (99, 40), (160, 23)])
async def test_where_there_is_little_room_there_is_no_action_bar(size: tuple[int, int]) -> None:
    _, _, app = opened()
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "gdm_intercode_ctf")
        assert "requeue errored" not in screen_text(app)
        await pilot.press("a")
        await shows(pilot, "requeue errored")


async def test_a_read_only_machine_says_so_and_offers_nothing() -> None:
    room, acting, app = opened()
    room.happen(replace(named(H1), read_only=True))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await shows(pilot, "⊘ h100-1")
        await shows(pilot, "up read-only")
        await pilot.press("a")
        await shows(pilot, "h100-1 is read-only: evalroom changes nothing there")
        await pilot.press(*"pxds", "enter", "escape", "p")
        await shows(pilot, "h100-1 is read-only")
        assert acting.carried == []
