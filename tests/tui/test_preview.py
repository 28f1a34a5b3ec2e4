"""The preview: what it shows, what confirms it and what does not."""

import asyncio
from dataclasses import replace

import pytest
from textual import events

from core.act.preview import Preview, Withheld
from core.act.refusals import Refusal
from core.ids import TaskKey
from tests.support.clocks import DIALOG_CLOCK
from tests.support.fleets import H1, task_key
from tests.support.previews import opened, seen
from tests.support.rooms import answerable, screen_text, shows
from tests.support.waiting import until
from tui.dialogs.guarded_dialog import REPEAT_S
from tui.dialogs.preview import PreviewDialog

WIDE = (160, 46)
CTF = task_key("t1", H1, 100)


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
