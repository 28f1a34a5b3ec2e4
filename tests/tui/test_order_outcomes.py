"""What became of orders, on screen: sent, changed, unknown, dismissed."""

from core.model.order import OrderState, Outcome
from tests.support.fleets import H1, H2, task_key
from tests.support.previews import opened, seen
from tests.support.rooms import answerable, screen_text, shows
from tui.dialogs.preview import PreviewDialog

WIDE = (160, 46)
CTF = task_key("t1", H1, 100)


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
