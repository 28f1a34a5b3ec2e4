"""The preview: what it shows, what confirms it, what does not, and what became of it."""

import asyncio
from dataclasses import replace

import pytest
from textual import events
from textual.pilot import Pilot

from core.act.preview import Preview, Withheld
from core.act.refusals import Refusal
from core.ids import TaskKey
from core.model.order import OrderState, Outcome
from tests.support.busy_fleets import busy_fleet
from tests.support.clocks import DIALOG_CLOCK
from tests.support.fleets import H1, H2, named, task_key
from tests.support.rooms import FakeRoom, answerable, app_on, screen_text, services_on, shows
from tests.support.scripted_acting import ScriptedActing
from tests.support.waiting import until
from tui.app import RoomApp
from tui.dialogs.guarded_dialog import REPEAT_S
from tui.dialogs.preview import PreviewDialog

WIDE = (160, 46)
CTF = task_key("t1", H1, 100)


def opened() -> tuple[FakeRoom, ScriptedActing, RoomApp]:
    room = FakeRoom(busy_fleet())
    acting = ScriptedActing(room)
    return room, acting, app_on(room, services=services_on(room, acting=acting))


async def seen(pilot: Pilot[None], *keys: str, words: str = "nothing has been sent") -> None:
    """Press keys, wait for the preview, and let the moment pass in which nothing confirms."""
    await pilot.press(*keys)
    await answerable(pilot, words)


async def test_a_preview_says_what_it_takes_and_enter_confirms_it() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        text = screen_text(app)
        for words in (
            "Pause gdm_intercode_ctf on h100-1",
            "affects 1 machine, 1 process, 1 task",
            "38 samples in flight finish",
            "$ inspect ctl task pause t1",
            "launched by  you",
            "press u to undo this plan",
        ):
            assert words in text
        await pilot.press("enter")
        await shows(pilot, "1 done")
        [(plan, _, _)] = acting.carried
        assert [step.target for step in plan.sent] == [CTF]


@pytest.mark.parametrize(("key", "words"), [("p", "Pause"), ("P", "Pause now:")])
async def test_the_pause_keys_on_samples_pause_their_task(key: str, words: str) -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "3", "space", "space", key)
        assert f"{words} gdm_intercode_ctf on h100-1" in screen_text(app)
        await pilot.press("enter")
        await shows(pilot, "1 done")
        [(plan, _, _)] = acting.carried
        assert [step.target for step in plan.sent] == [CTF]


async def test_a_last_drawing_while_the_app_ends_does_no_harm() -> None:
    _, _, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
    assert not app.screen_stack
    app.controllers.refresh_orders()


async def test_escape_sends_nothing() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        await pilot.press("escape", "enter")
        await pilot.pause()
        assert acting.carried == []


async def test_keys_typed_before_the_preview_was_seen_are_dropped() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        for key in ("p", "enter", "enter"):
            app.post_message(events.Key(key, None if key == "enter" else key))
        await shows(pilot, "nothing has been sent")
        await pilot.press("enter")
        await answerable(pilot)
        assert acting.carried == []
        assert isinstance(app.screen, PreviewDialog)
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert len(acting.carried) == 1


async def test_a_plan_that_takes_long_says_how_far_it_is_and_can_be_stopped() -> None:
    _, acting, app = opened()
    acting.asking.clear()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("A", "p", "enter")
        await shows(pilot, "dry run 3 of 7")
        assert "hurry" in screen_text(app)
        await pilot.press("h", "enter", "escape")
        await pilot.pause()
        acting.asking.set()
        await pilot.pause()
        assert not isinstance(app.screen, PreviewDialog)
        assert acting.carried == []


async def test_someone_elses_run_takes_a_yes() -> None:
    _, acting, app = opened()
    acting.ours = False
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        assert "someone else launched it" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert acting.carried == []
        await pilot.press("y")
        await answerable(pilot, "you agreed")
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert acting.carried[0][2] is True


@pytest.mark.parametrize("typed", ["", "gdm", "cancel 1"])
async def test_a_cancel_takes_the_name_and_another_word_sends_nothing(typed: str) -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "x", "s", words="type gdm_intercode_ctf to confirm")
        await pilot.press(*(" " if each == " " else each for each in typed), "enter")
        await pilot.pause()
        assert acting.carried == []
        await pilot.press(*"gdm_intercode_ctf".replace("_", "‗"))
        app.screen.query_one("#words").value = ""  # type: ignore[attr-defined]
        await pilot.press(*"gdm_intercode_ctf")
        await answerable(pilot)
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert acting.carried[0][1] == "gdm_intercode_ctf"


async def test_production_takes_words_for_everything_and_is_marked_everywhere() -> None:
    room, acting, app = opened()
    room.become(
        replace(
            room.fleet,
            machines={
                **room.fleet.machines,
                H1: replace(room.fleet.machines[H1], production=True),
            },
        )
    )
    async with app.run_test(size=WIDE) as pilot:
        await shows(pilot, "◈ h100-1")
        await shows(pilot, "up prod")
        await seen(pilot, "p", words="type gdm_intercode_ctf")
        assert "on production" in screen_text(app)
        await pilot.press("enter", "escape", "enter")  # wrong words, leave, open the task
        await shows(pilot, "◈ h100-1 prod")
        assert acting.carried == []


async def test_many_marked_tasks_are_one_preview_with_what_is_left_out() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "A", "P")
        text = screen_text(app)
        assert "affects 3 machines, 5 processes, 5 tasks" in text
        assert "not sent to 2 targets" in text
        assert "a100-us is not reachable now (down)" in text
        assert "and 4 more, d shows them" in text
        await pilot.press("d")
        await shows(pilot, "task pause --now t5")
        await pilot.press("enter")
        await shows(pilot, "5 done")
        await pilot.press("escape")
        await shows(pilot, "orders 5 done")
        assert acting.carried


async def test_free_text_is_withheld_until_it_is_asked_for() -> None:
    _, acting, app = opened()
    secret = Withheld("prior_error", "ValueError: the \x1b[31mflag\nis here")
    acting.previews[CTF] = Preview(sentence="it was error", withheld=(secret,))
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        assert f"{secret.size}, withheld" in screen_text(app)
        assert "flag" not in screen_text(app)
        await pilot.press("exclamation_mark")
        await shows(pilot, "the ␛[31mflag")
        await pilot.press("exclamation_mark")
        await pilot.pause()
        assert "flag" not in screen_text(app)


async def test_a_reason_is_typed_and_goes_along() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        await pilot.press("r", *"busy", "space", *"provider", "enter")
        await answerable(pilot, "busy provider")
        assert acting.carried == []
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert acting.carried[0][0].reason == "busy provider"


async def test_where_words_confirm_tab_leads_to_the_reason_and_to_the_other_keys() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "x", "x", words="type gdm_intercode_ctf")
        await pilot.press("tab", *"why", "enter")
        await shows(pilot, "reason       why")
        await pilot.press(*"gr")
        assert app.screen.query_one("#words").value == "gr"  # type: ignore[attr-defined]
        await pilot.press("tab", "tab", "g")
        await shows(pilot, "type gdm_intercode_ctf")
        assert acting.carried == []


async def test_a_plan_with_nothing_to_send_takes_escape_alone() -> None:
    _, acting, app = opened()
    acting.previews[CTF] = Refusal("no change", "task already paused")
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        text = screen_text(app)
        assert "nothing will be sent" in text
        assert "task already paused" in text
        await pilot.press("enter", "y", "enter")
        await pilot.pause()
        assert acting.carried == []


async def test_a_changed_target_is_previewed_again_and_confirmed_alone() -> None:
    _, acting, app = opened()
    other = task_key("t3", H2, 200)
    acting.changing = {other}
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "A", "p")
        await pilot.press("enter")
        await shows(pilot, "1 changed")
        text = screen_text(app)
        assert "not sent: changed since the preview" in text
        assert "changed since the preview: pause" in text
        assert isinstance(app.screen, PreviewDialog)
        app.screen.guard_keys()
        await pilot.press("enter")  # not seen long enough
        assert len(acting.carried) == 1
        await answerable(pilot)
        await pilot.press("enter")
        await shows(pilot, "5 done")
        assert [step.target for step in acting.carried[1][0].steps] == [other]
        assert "changed since" not in screen_text(app)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
@pytest.mark.parametrize("opens", ["p", "question_mark", "colon", "s", "C", "a", "x"])
async def test_escape_and_ctrl_c_close_every_dialog(opens: str, key: str) -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(opens)
        await until(lambda: len(app.screen_stack) == 2, "a dialog is open")
        await pilot.press(key)
        await until(lambda: len(app.screen_stack) == 1, "no dialog is open")
        assert not acting.carried


async def test_the_dialog_is_left_while_orders_are_on_their_way() -> None:
    _, acting, app = opened()
    acting.gate.clear()
    acting.outcomes[CTF] = Outcome(state=OrderState.UNKNOWN, message="no answer in 15 s")
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        await pilot.press("enter")
        await shows(pilot, "1 sending")
        await pilot.press("escape", "j")
        await shows(pilot, "3 Samples of cybench")  # the keys are the room's again
        assert "orders 1 sending" in screen_text(app)
        acting.gate.set()
        await shows(pilot, "orders 1 unknown")
        await pilot.press("o")
        await shows(pilot, "no answer in 15 s")
        await pilot.press("escape")
        await shows(pilot, "orders 1 unknown")
        await pilot.press("o")
        await shows(pilot, "no answer in 15 s")
        await answerable(pilot)
        await pilot.press("D")
        await pilot.pause()
        assert "orders" not in screen_text(app)


async def test_of_several_plans_each_outcome_stays_until_it_is_dismissed() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        for keys in (("p",), ("j", "p")):
            await seen(pilot, *keys)
            await pilot.press("enter")
            await shows(pilot, "1 done")
            await pilot.press("escape")
        await shows(pilot, "orders 2 done")
        await pilot.press("o")
        await shows(pilot, "Resume cybench")
        await pilot.press("o")
        await shows(pilot, "Pause gdm_intercode_ctf")
        await answerable(pilot)
        await pilot.press("D")
        await shows(pilot, "Resume cybench")
        await answerable(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert not isinstance(app.screen, PreviewDialog)
        assert len(acting.carried) == 2


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


async def test_a_preview_of_hundreds_scrolls_and_fits_a_small_terminal() -> None:
    room, acting, app = opened()
    for number in range(8):
        task = task_key(f"t{number}", H1, 100)
        acting.previews[task] = Preview(sentence=f"{number} of them", notes=("mind this",) * 12)
    assert isinstance(CTF, TaskKey)
    async with app.run_test(size=(80, 24)) as pilot:
        await seen(pilot, "p")
        assert "1 of them" in screen_text(app)
        await pilot.press("pagedown", "pagedown")
        await shows(pilot, "inspect ctl task pause")
        assert "Esc close" in screen_text(app)
        await pilot.resize_terminal(60, 16)
        await shows(pilot, "Esc close")
        await asyncio.sleep(0)
        assert room.asked


async def test_an_enter_that_is_held_down_confirms_nothing_until_it_was_let_go() -> None:
    """A terminal repeats it some thirty times a second."""
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("p")
        for _ in range(30):
            await pilot.press("enter")
            DIALOG_CLOCK.advance(0.03)
        assert acting.carried == []
        assert isinstance(app.screen, PreviewDialog)
        DIALOG_CLOCK.advance(REPEAT_S)
        await pilot.press("enter")
        await shows(pilot, "1 done")
        assert len(acting.carried) == 1


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (60, 15), (50, 12), (40, 10)])
async def test_the_keys_stay_in_view_on_a_low_terminal(size: tuple[int, int]) -> None:
    _, _, app = opened()
    async with app.run_test(size=size) as pilot:
        await seen(pilot, "p", words="Esc close")
        assert "Enter pause" in screen_text(app)
        texts = [screen_text(app)]
        for _ in range(12):
            await pilot.press("pagedown")
            texts.append(screen_text(app))
        for words in ("Pause gdm_intercode_ctf", "38 samples in flight", "launched by"):
            assert any(words in text for text in texts), words


async def test_on_a_terminal_that_is_too_small_no_key_sends_a_plan() -> None:
    _, acting, app = opened()
    async with app.run_test(size=WIDE) as pilot:
        await seen(pilot, "p")
        await pilot.resize_terminal(30, 8)
        await pilot.press("enter")
        await pilot.pause()
        assert acting.carried == []
        await pilot.resize_terminal(*WIDE)
        await answerable(pilot, "Enter pause")
        await pilot.press("enter")
        await shows(pilot, "1 done")
