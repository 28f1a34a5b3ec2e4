"""Between the preview and its confirmation, and while an order is out, the world goes on."""

import asyncio
import os
import signal

import pytest

import core.act.executor
from core.act.service import ActionService
from core.errors import NotConfirmed
from core.ids import SampleKey
from core.model.action import Action, Change, Verb
from core.model.machine import LinkState
from core.model.order import Instance, OrderState
from tests.support.acting import Acted, acting_on_eval
from tests.support.evals import Eval
from tests.support.waiting import until

pytestmark = pytest.mark.xdist_group("busy_eval")

_PAUSE, _RESUME = Action(verb=Verb.PAUSE), Action(verb=Verb.RESUME)


async def test_a_target_that_changed_since_the_preview_is_previewed_again_and_nothing_is_sent(
    busy_eval: Eval,
) -> None:
    """Someone else pauses hard while our soft pause waits for its Enter."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        plan = await acted.plan(_PAUSE, task)
        busy_eval.post(f"/tasks/{task.task_id}/pause?now=true")
        [report] = await acted.acting.carry_out(plan, yes=True)
        assert report.outcome is None
        assert report.step.moved == ("pause",)
        assert not acted.sent
        assert not acted.book.orders
        again = plan.with_step(0, report.step)
        [report] = await acted.acting.carry_out(again, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        assert busy_eval.task()["paused_now"] is None
        assert (await acted.one(_RESUME, task))[0] is OrderState.DONE


async def test_counts_that_move_each_second_never_ask_again(busy_eval: Eval) -> None:
    """Pause, config and drain of a busy task confirm at the first Enter."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        knobs = Action(verb=Verb.CONFIG, changes=(Change("max_samples", 11),))
        back = Action(verb=Verb.CONFIG, changes=(Change("max_samples", 12),))
        for action in (_PAUSE, _RESUME, knobs, back):
            plan = await acted.plan(action, task)
            tokens = busy_eval.task()["total_tokens"]
            await until(lambda: busy_eval.task()["total_tokens"] > tokens, "it moves on")  # noqa: B023
            [report] = await acted.acting.carry_out(plan, yes=True)
            assert report.outcome is not None, report.step.moved
            assert report.outcome.state is OrderState.DONE
        drain = await acted.plan(Action(verb=Verb.DRAIN), task)
        assert drain.words == "turns"


async def test_a_plan_without_the_right_confirmation_sends_nothing(busy_eval: Eval) -> None:
    """No yes for someone else's run; wrong words for a drain."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        pause = await acted.plan(_PAUSE, task)
        drain = await acted.plan(Action(verb=Verb.DRAIN), task)
        with pytest.raises(NotConfirmed, match="someone else"):
            await acted.acting.carry_out(pause)
        for words in ("", "turn", "drain", "yes"):
            with pytest.raises(NotConfirmed, match="turns"):
                await acted.acting.carry_out(drain, words=words, yes=True)
        assert not acted.sent
        assert busy_eval.task()["resolving"] is None


async def test_without_a_journal_nothing_leaves(busy_eval: Eval) -> None:
    """The intent stands in the journal before the order; where it can't, there is no order."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        acted.book.is_broken = True
        state, message = await acted.one(_PAUSE, task)
        assert state is OrderState.REFUSED
        assert "the disk is full" in message
        assert not acted.sent
        assert busy_eval.task()["paused"] is None


async def test_an_order_into_a_stopped_eval_is_unknown_and_found_out_later(
    busy_eval: Eval, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is applied when the eval goes on: no second one is sent."""
    monkeypatch.setattr(core.act.executor, "ORDER_TIMEOUT_S", 1.0)
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        plan = await acted.plan(_PAUSE, task)
        stop = asyncio.create_task(_stop_at_the_order(acted, busy_eval))
        try:
            [report] = await acted.acting.carry_out(plan, yes=True)
            stop.cancel()
            assert report.outcome is not None
            assert report.outcome.state is OrderState.UNKNOWN, report.outcome
            assert "may have been applied" in report.outcome.message
            assert [order.state for order in acted.book.orders] == [OrderState.UNKNOWN]
        finally:
            os.kill(busy_eval.pid, signal.SIGCONT)
        settled = await until(
            lambda: None if acted.book.orders[0].is_open else acted.book.orders[0], "settled"
        )
        assert settled.state is OrderState.DONE
        assert busy_eval.task()["paused"] == ["task"]
        assert len(acted.sent) == 1


async def _stop_at_the_order(acted: Acted, one: Eval) -> None:
    """Stop the eval's process in the moment in which the order is in the journal."""
    while not acted.book.orders:  # noqa: ASYNC110 - each turn of the loop counts
        await asyncio.sleep(0)
    os.kill(one.pid, signal.SIGSTOP)


async def test_orders_of_a_dead_evalroom_are_taken_over_reported_and_resolved(
    busy_eval: Eval,
) -> None:
    """One order had been applied when it died, one had never left."""
    async with acting_on_eval(busy_eval) as first:
        task = await first.task(busy_eval)
        assert (await first.one(_PAUSE, task))[0] is OrderState.DONE
        [applied] = first.book.orders
        assert (await first.one(Action(verb=Verb.KEEP), task.process))[0] is OrderState.DONE
        [never, _] = first.book.orders
    busy_eval.post("/release")
    for order in (applied, never):
        object.__setattr__(order, "state", OrderState.SENDING)
    other = Instance(host="here", boot="boot", pid=2, start="2", operator="Ada")
    async with acting_on_eval(busy_eval) as second:
        await second.task(busy_eval)
        second.book.orders = [never, applied]
        desk = second.watched.desk
        acting = ActionService(desk, instance=other, store=second.book, post=desk.post)
        running = asyncio.create_task(acting.run())
        try:
            await until(lambda: not any(order.is_open for order in second.book.orders), "resolved")
        finally:
            running.cancel()
        states = {order.action.verb: order.state for order in second.book.orders}
        assert states == {Verb.PAUSE: OrderState.DONE, Verb.KEEP: OrderState.FAILED}
        assert not second.sent


async def test_a_probe_that_is_read_only_lets_no_mutation_and_no_dry_run_pass(
    busy_eval: Eval,
) -> None:
    """Even if the desk forgot that a machine is read-only."""
    async with acting_on_eval(busy_eval, read_only=True) as acted:
        task = await acted.task(busy_eval)
        plan = await acted.plan(_PAUSE, task)
        [step] = plan.steps
        assert step.refusal is not None
        assert "read-only" in step.refusal.sentence
        keep = await acted.one(Action(verb=Verb.KEEP), task.process)
        assert keep[0] is OrderState.FAILED
        assert "read-only" in keep[1]
        assert busy_eval.task()["keep_alive"] is False


async def test_a_link_that_is_down_makes_a_target_unreachable_and_says_so(busy_eval: Eval) -> None:
    """Nothing is queued for later."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        plan = await acted.plan(_PAUSE, task)
        machine = acted.watched.fleet.machines[task.machine]
        assert machine.probe is not None
        os.kill(machine.probe.pid, signal.SIGKILL)
        await acted.watched.until(
            lambda: acted.watched.fleet.machines[task.machine].link.state is not LinkState.UP,
            "the link is lost",
        )
        [report] = await acted.acting.carry_out(plan, yes=True)
        if report.outcome is not None and report.outcome.state is OrderState.DONE:
            pytest.fail("it was sent although the link was down")
        assert report.step.refusal is not None
        assert report.step.refusal.kind == "unreachable"
        assert not acted.sent
        assert busy_eval.task()["paused"] is None


async def test_a_wrong_target_is_refused_in_a_sentence_and_nothing_is_sent(busy_eval: Eval) -> None:
    """A sample that is not there, a model that does not run."""
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        for action in (Action(verb=Verb.CANCEL, manner="cancel"), Action(verb=Verb.REQUEUE)):
            state, message = await acted.one(action, SampleKey(task, "no such", 1))
            assert state is OrderState.REFUSED
            assert message
        assert not acted.sent
