"""Two evalrooms that want the same of one process at the same moment."""

import asyncio
from pathlib import Path

import pytest

from core.model.action import Action, Verb
from core.model.order import Instance, OrderState
from tests.support.acting import acting_on, acting_on_eval
from tests.support.desk_on_evals import this_computer
from tests.support.evals import Eval, Evals
from tests.support.orders import HERE, Book, order

_INTERRUPT = Action(verb=Verb.INTERRUPT)
OTHER = Instance(host="here", boot="boot", pid=2, start="2", operator="Bob")


async def test_two_interrupts_at_once_are_at_most_one(evals: Evals) -> None:
    """Both were previewed and confirmed before either was in the journal."""
    one = evals.start("turns", args={"samples": 20, "turns": 400, "sleep": 1.0}).wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 1)
    machine, known, book = this_computer(one.data_dir), one.folder / "known", Book()
    async with (
        acting_on([machine], known, book=book) as ada,
        acting_on([machine], Path(f"{known}2"), book=book, instance=OTHER) as bob,
    ):
        keys = [await each.process(one) for each in (ada, bob)]
        plans = [
            await each.plan(_INTERRUPT, key) for each, key in zip((ada, bob), keys, strict=True)
        ]
        assert all(plan.sent for plan in plans)
        await asyncio.gather(
            *(
                each.acting.carry_out(plan, words=plan.words)
                for each, plan in zip((ada, bob), plans, strict=True)
            )
        )
        assert len(ada.sent) + len(bob.sent) <= 1


@pytest.mark.xdist_group("busy_eval")
async def test_an_interrupt_is_found_behind_hundreds_of_newer_orders(busy_eval: Eval) -> None:
    async with acting_on_eval(busy_eval) as acted:
        process = await acted.process(busy_eval)
        now = acted.watched.desk.now()
        sent = order("i", target=process, action=_INTERRUPT, at=now, state=OrderState.DONE)
        newer = [order(str(at), at=now, state=OrderState.DONE) for at in range(300)]
        acted.book.orders = [*newer, sent]
        state, message = await acted.one(_INTERRUPT, process)
        assert state is OrderState.REFUSED
        assert "a second interrupt" in message
        assert not acted.sent
        assert acted.acting.instance == HERE
