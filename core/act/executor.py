"""Carrying a confirmed plan out: each target once more looked at, journalled, sent, told."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from core.act.outcome import failed, outcome_of
from core.act.plan import Plan, Step
from core.act.planner import Planner, by_process
from core.act.ports import ActionDesk, OrderStore
from core.act.preconditions import changed
from core.act.reader import FreshReader, Throttle, unthrottled
from core.act.refusals import INTERRUPT_AGAIN, last_interrupt
from core.errors import RequestFailed, StorageError
from core.events import Event, OrderEnded, OrderGiven
from core.ids import ProcessKey, address_of, process_of
from core.model.action import Verb
from core.model.order import Instance, Order, OrderState, Outcome

SOON, LATE = 15.0, 120.0
"""Seconds that an order may take; config and flush write logs, maybe far away."""
_SLOW = frozenset({Verb.CONFIG, Verb.FLUSH})


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderReport:
    """What became of one step.

    Attributes:
        index: Of the step in its plan.
        step: As it stands now: one that changed was previewed again.
        outcome: None: nothing was sent, since it has to be confirmed again.
        order: The order's id; None where none was given.
    """

    index: int
    step: Step
    outcome: Outcome | None
    order: str | None = None


class Executor:
    """Gives the orders of plans that were confirmed.

    Args:
        asker: The desk.
        planner: Previews again what changed.
        book: Where orders are written; None: nowhere, and so nothing is ever sent.
        instance: This evalroom.
        post: Takes the events.
    """

    def __init__(
        self,
        asker: ActionDesk,
        planner: Planner,
        *,
        book: OrderStore | None,
        instance: Instance,
        post: Callable[[Event], None],
    ) -> None:
        self._asker = asker
        self._planner = planner
        self._book = book
        self._instance = instance
        self._post = post
        self._out: set[str] = set()
        self._unwritten: dict[str, tuple[Outcome, float]] = {}

    def is_out(self, order: str) -> bool:
        """Whether an order is on its way, or its outcome is just being written."""
        return order in self._out

    async def carry_out(
        self, plan: Plan, *, tell: Callable[[OrderReport], None] | None = None
    ) -> tuple[OrderReport, ...]:
        """Carry a confirmed plan out: machines side by side, one order at a time per process.

        A target that changed since its preview is previewed again and nothing is sent to it.

        Returns:
            One entry for each step, in the plan's order.
        """
        told: dict[int, OrderReport] = {}

        def say(each: OrderReport) -> None:
            told[each.index] = each
            if tell is not None:
                tell(each)

        wishes = [(step.action, step.target) for step in plan.steps]
        async with asyncio.TaskGroup() as tasks:
            for process, indexes in by_process(wishes).items():
                tasks.create_task(self._one_process(plan, process, indexes, say))
        return tuple(told[index] for index in range(len(plan.steps)))

    async def _one_process(
        self,
        plan: Plan,
        process: ProcessKey,
        indexes: Iterable[int],
        say: Callable[[OrderReport], None],
    ) -> None:
        looks, pace = self._planner.looks(), unthrottled()
        async with self._planner.lanes.to(process.machine):
            for index in indexes:
                step = plan.steps[index]
                if not step.is_sent:
                    say(OrderReport(index=index, step=step, outcome=_not_for(step)))
                    continue
                say(await self._one(plan, index, step, looks, pace))

    async def _one(
        self, plan: Plan, index: int, step: Step, looks: FreshReader, pace: Throttle
    ) -> OrderReport:
        now = await self._planner.again(step, looks, pace, reason=plan.reason)
        if now.refusal is not None:
            return OrderReport(index=index, step=now, outcome=_not_for(now))
        moved = changed(step.basis, now.basis)
        if moved:
            return OrderReport(index=index, step=replace(now, moved=moved), outcome=None)
        order = self._order(plan, now)
        self._out.add(order.id)
        try:
            return await self._give(order, index, now, looks)
        finally:
            self._out.discard(order.id)

    async def _give(self, order: Order, index: int, now: Step, looks: FreshReader) -> OrderReport:
        """Write an order down, send it once, and write what became of it."""
        if self._book is None:
            why = "the journal can't be written, so nothing is sent"
            return OrderReport(index=index, step=now, outcome=_refused(why))
        try:
            await self._book.intend([order])
        except StorageError as error:
            why = f"not sent: the journal can't be written: {error.message}"
            return OrderReport(index=index, step=now, outcome=_refused(why))
        self._post(OrderGiven(at=order.at, order=order))
        outcome = await self._not_again(order) or await self._send(order, now)
        await self.settle(order.id, outcome)
        looks.forget(process_of(now.target))
        return OrderReport(index=index, step=now, outcome=outcome, order=order.id)

    async def _not_again(self, order: Order) -> Outcome | None:
        """Return why an interrupt that is in the journal does not leave; None: it does.

        Two evalrooms that give one at once see each other's there; then neither is sent.
        """
        if order.action.verb is not Verb.INTERRUPT:
            return None
        try:
            sent = await self._planner.interrupts()
        except StorageError as error:
            return Outcome(state=OrderState.FAILED, message=f"not sent: {error.message}")
        other = last_interrupt(
            process_of(order.target), [each for each in sent if each.id != order.id]
        )
        if other is None or abs(order.at - other.at) >= INTERRUPT_AGAIN:
            return None
        return Outcome(
            state=OrderState.FAILED, message="not sent: somebody else interrupts it just now"
        )

    async def _send(self, order: Order, step: Step) -> Outcome:
        assert step.request is not None  # noqa: S101 - `is_sent` says so
        deadline = LATE if step.action.verb in _SLOW else SOON
        try:
            reply = await self._asker.send(
                process_of(order.target), step.request, deadline=deadline
            )
        except RequestFailed as error:
            return failed(error)
        return outcome_of(step.action, reply)

    async def settle(self, order: str, outcome: Outcome) -> None:
        """Tell and write what became of an order."""
        at = self._asker.now()
        message = outcome.message
        if self._book is not None:
            try:
                await self._book.end(order, outcome, at)
                self._unwritten.pop(order, None)
            except StorageError as error:
                self._unwritten[order] = outcome, at
                message = f"{message} (not in the journal yet: {error.message})"
        self._post(OrderEnded(at=at, order=order, state=outcome.state, message=message))

    async def write_again(self) -> None:
        """Write the outcomes that could not be written when they came."""
        if self._book is None:
            return
        for order, (outcome, at) in tuple(self._unwritten.items()):
            try:
                await self._book.end(order, outcome, at)
            except StorageError:
                return  # tried again
            self._unwritten.pop(order, None)

    def _order(self, plan: Plan, step: Step) -> Order:
        return Order(
            id=secrets.token_hex(8),
            plan=plan.id,
            at=self._asker.now(),
            instance=self._instance,
            address=address_of(step.target),
            action=step.action,
            name=f"{step.where} {step.name}".strip(),
            request=str(step.request),
            command=step.command,
            preview=step.preview.sentence if step.preview is not None else "",
            basis=step.basis,
            undo=step.undo,
            reason=plan.reason,
            is_ours=step.is_ours,
        )


_STATES = {
    "noop": OrderState.NOOP,
    "refused": OrderState.REFUSED,
    "unsupported": OrderState.REFUSED,
    "unreachable": OrderState.FAILED,
}


def _not_for(step: Step) -> Outcome:
    """Return the outcome of a step that nothing is sent for."""
    refusal = step.refusal
    if refusal is None:
        return _refused("nothing to send")
    return Outcome(state=_STATES[refusal.kind], message=refusal.sentence)


def _refused(why: str) -> Outcome:
    return Outcome(state=OrderState.REFUSED, message=why)
