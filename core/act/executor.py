"""Executes a confirmed plan: re-check each target, journal the order, send it, report."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from core.act.concurrency import ConcurrencyLimit
from core.act.order_tracker import OrderTracker
from core.act.outcome import NOT_SENT, failed, outcome_of
from core.act.plan import Plan, Step
from core.act.planner import Planner, by_process
from core.act.ports import ActionDesk
from core.act.preconditions import changed
from core.act.reader import FreshReader, Throttle, unthrottled
from core.act.refusals import INTERRUPT_INTERVAL_S, last_interrupt
from core.act.requests import Request
from core.errors import RequestFailed, StorageError
from core.ids import ProcessKey, address_of, process_of
from core.model.action import Verb
from core.model.order import Order, OrderState, Outcome
from core.model.timeouts import REQUEST_TIMEOUT_S

ORDER_TIMEOUT_S = REQUEST_TIMEOUT_S
"""Seconds that an order may take."""
SLOW_ORDER_TIMEOUT_S = 120.0
"""Seconds that a config change, a flush or a recovery may take: they write logs."""
_SLOW = frozenset({Verb.CONFIG, Verb.FLUSH, Verb.RECOVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderReport:
    """The result of one step of a plan.

    Attributes:
        index: The index of the step in its plan.
        step: The step as it is now; one that changed since its preview has a new preview.
        outcome: None: the step changed, so nothing was sent; the operator must confirm it again.
        order: The order's id; None: nothing was sent.
    """

    index: int
    step: Step
    outcome: Outcome | None
    order: str | None = None


class Executor:
    """Sends the orders of confirmed plans.

    Args:
        desk: Sends.
        orders: Writes each order before it is sent, and its outcome after.
        planner: Previews each target once more.
        new_reader: Makes the reader of one process.
        limit: How many processes of one machine are asked at once.
    """

    def __init__(
        self,
        desk: ActionDesk,
        orders: OrderTracker,
        *,
        planner: Planner,
        new_reader: Callable[[], FreshReader],
        limit: ConcurrencyLimit,
    ) -> None:
        self._desk = desk
        self._orders = orders
        self._planner = planner
        self._new_reader = new_reader
        self._limit = limit

    async def execute(
        self, plan: Plan, *, on_report: Callable[[OrderReport], None] | None = None
    ) -> tuple[OrderReport, ...]:
        """Execute a confirmed plan: processes at the same time, one order at a time for each.

        A target that changed since its preview is previewed again; nothing is sent to it.

        Args:
            plan: The confirmed plan.
            on_report: Called with each report as it comes.

        Returns:
            One report for each step, in the plan's order.
        """
        reports: dict[int, OrderReport] = {}

        def take(report: OrderReport) -> None:
            reports[report.index] = report
            if on_report is not None:
                on_report(report)

        async with asyncio.TaskGroup() as tasks:
            for process, indexes in by_process(step.target for step in plan.steps).items():
                tasks.create_task(self._one_process(plan, process, indexes, take))
        return tuple(reports[index] for index in range(len(plan.steps)))

    async def _one_process(
        self,
        plan: Plan,
        process: ProcessKey,
        indexes: Iterable[int],
        take: Callable[[OrderReport], None],
    ) -> None:
        reader, throttle = self._new_reader(), unthrottled()
        async with self._limit.on(process.machine):
            for index in indexes:
                step = plan.steps[index]
                if not step.is_sent:
                    take(OrderReport(index=index, step=step, outcome=_outcome_of_unsent(step)))
                    continue
                take(await self._one(plan, index, reader, throttle))

    async def _one(
        self, plan: Plan, index: int, reader: FreshReader, throttle: Throttle
    ) -> OrderReport:
        step = plan.steps[index]
        now = await self._planner.again(step, reader, throttle, reason=plan.reason)
        if now.refusal is not None:
            return OrderReport(index=index, step=now, outcome=_outcome_of_unsent(now))
        moved = changed(step.basis, now.basis)
        if moved:
            return OrderReport(index=index, step=replace(now, moved=moved), outcome=None)
        if now.request is None:
            return OrderReport(index=index, step=now, outcome=_refused("nothing to send"))
        order = self._order(plan, now)
        with self._orders.in_flight(order):
            return await self._give(order, index, now, now.request, reader)

    async def _give(
        self, order: Order, index: int, now: Step, request: Request, reader: FreshReader
    ) -> OrderReport:
        """Write an order, send it once, and write its outcome."""
        if not self._orders.can_write:
            why = "Not sent: evalroom can't write to the journal."
            return OrderReport(index=index, step=now, outcome=_refused(why))
        try:
            await self._orders.intend(order)
        except StorageError as error:
            why = f"Not sent: evalroom can't write to the journal: {error.message}"
            return OrderReport(index=index, step=now, outcome=_refused(why))
        outcome = await self._second_interrupt(order) or await self._send(order, request)
        await self._orders.settle(order.id, outcome)
        reader.forget(process_of(now.target))
        return OrderReport(index=index, step=now, outcome=outcome, order=order.id)

    async def _second_interrupt(self, order: Order) -> Outcome | None:
        """Return why a journalled interrupt must not be sent; None: send it.

        Two instances that interrupt a process at the same time find each other's order in the
        journal; then neither sends its own.
        """
        if order.action.verb is not Verb.INTERRUPT:
            return None
        try:
            sent = await self._orders.interrupts()
        except StorageError as error:
            return Outcome(state=OrderState.FAILED, message=f"Not sent: {error.message}")
        other = last_interrupt(
            process_of(order.target), [each for each in sent if each.id != order.id]
        )
        if other is None or abs(order.at - other.at) >= INTERRUPT_INTERVAL_S:
            return None
        return Outcome(
            state=OrderState.FAILED,
            message="Not sent: someone else is interrupting this process right now.",
        )

    async def _send(self, order: Order, request: Request) -> Outcome:
        is_slow = order.action.verb in _SLOW
        try:
            reply = await self._desk.send(
                process_of(order.target),
                request,
                deadline=SLOW_ORDER_TIMEOUT_S if is_slow else ORDER_TIMEOUT_S,
            )
        except RequestFailed as error:
            return failed(error)
        return outcome_of(order.action, reply)

    def _order(self, plan: Plan, step: Step) -> Order:
        return Order(
            id=secrets.token_hex(8),
            plan=plan.id,
            at=self._desk.now(),
            instance=self._orders.instance,
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
    "no change": OrderState.NO_CHANGE,
    "refused": OrderState.REFUSED,
    "unsupported": OrderState.REFUSED,
    "unreachable": OrderState.FAILED,
}


def _outcome_of_unsent(step: Step) -> Outcome:
    """Return the outcome of a step without an order."""
    refusal = step.refusal
    if refusal is None:
        return _refused("nothing to send")
    state, why = _STATES[refusal.kind], refusal.sentence
    if state is OrderState.FAILED and not why.lower().startswith(NOT_SENT):
        why = f"{NOT_SENT}: {why}"
    return Outcome(state=state, message=why)


def _refused(why: str) -> Outcome:
    return Outcome(state=OrderState.REFUSED, message=why)
