"""Resolves orders that had no answer: reads the state later, and never sends them again."""

import asyncio
from collections.abc import Callable

from core.act.order_tracker import OrderTracker
from core.act.outcome import shows_applied
from core.act.ports import ActionDesk
from core.act.reader import FreshReader, Throttle
from core.act.refusals import fleet_refusal
from core.act.snapshot import TargetSnapshot
from core.errors import AnswerMalformed, RequestFailed
from core.ids import SampleKey, process_of
from core.model.action import Verb, offer_of, scope_of
from core.model.order import Order, OrderState, Outcome
from core.model.process import Process, ProcessState

ROUND_INTERVAL_S = 1.0
"""Seconds between two rounds over the open orders."""
KILL_FAILED_AFTER_S = 20.0
"""If the process is still alive this many seconds after SIGKILL, the kill failed."""
NOT_APPLIED_AFTER_S = 3.0
"""Seconds between two reads that must both not show an order until it counts as not applied.

A blocked eval handles what it had queued before it answers the second read.
"""

_DONE_AT_END = frozenset({Verb.INTERRUPT, Verb.KILL, Verb.RELEASE, Verb.CANCEL, Verb.DRAIN})
"""Verbs that count as done once the process has ended."""


class Resolver:
    """Settles the open orders of this evalroom.

    Args:
        desk: Knows the fleet and the time.
        orders: Knows which orders are open here, and settles them.
        new_reader: Makes the reader of one round.
    """

    def __init__(
        self, desk: ActionDesk, orders: OrderTracker, *, new_reader: Callable[[], FreshReader]
    ) -> None:
        self._desk = desk
        self._orders = orders
        self._new_reader = new_reader
        self._not_shown_at: dict[str, float] = {}
        """When a read first did not show an order applied, monotonic seconds, by its id."""
        self._unknowable: set[str] = set()
        """Orders whose outcome no read can show: they stay unknown."""

    async def run(self) -> None:
        """Resolve until cancelled."""
        while True:
            await asyncio.sleep(ROUND_INTERVAL_S)
            await self._orders.catch_up()
            for order in self._orders.to_resolve(self._desk.fleet.orders):
                if order.id in self._unknowable:
                    continue
                outcome = await self.resolved(order)
                if outcome is not None:
                    await self._orders.settle(order.id, outcome)

    async def resolved(  # noqa: PLR0911 - one case after the other
        self, order: Order
    ) -> Outcome | None:
        """Return the outcome of an open order, as the state shows it now; None: not known yet."""
        offer = offer_of(order.action, scope_of(order.target))
        process = self._desk.fleet.processes.get(process_of(order.target))
        if offer is None:
            return None
        if process is None:
            machine = self._desk.fleet.machines.get(process_of(order.target).machine)
            is_gone = machine is not None and machine.lists_all(self._desk.now())
            return self._at_its_end(order) if is_gone else None
        if process.is_gone:
            return self._at_its_end(order)
        refusal = fleet_refusal(offer, order.target, self._desk.fleet)
        if refusal is not None and refusal.kind == "unreachable":
            return None
        try:
            snapshot = await self._new_reader().read(order.action, order.target, Throttle())
        except (RequestFailed, AnswerMalformed):
            return None
        if order.action.verb in {Verb.INTERRUPT, Verb.KILL}:
            return self._after_signal(order, process, snapshot)
        applied = shows_applied(order.action, order.target, order.basis, snapshot)
        if applied is None:
            return self._unknown(
                order,
                "Outcome unknown: the eval's state does not show it. Check before you retry.",
            )
        return self._judged(order, is_applied=applied)

    def _after_signal(
        self, order: Order, process: Process, snapshot: TargetSnapshot
    ) -> Outcome | None:
        """Return the outcome of a signal. No answer proves nothing: the process may be busy."""
        if snapshot.answers:
            return self._judged(order, is_applied=False)
        if process.state is not ProcessState.HEADLESS:
            return None
        if order.action.verb is Verb.INTERRUPT:
            return self._judged(order, is_applied=True)
        return self._judged(order, is_applied=False, after=KILL_FAILED_AFTER_S)

    def _judged(
        self, order: Order, *, is_applied: bool, after: float = NOT_APPLIED_AFTER_S
    ) -> Outcome | None:
        if is_applied:
            self._not_shown_at.pop(order.id, None)
            return Outcome(
                state=OrderState.DONE,
                message="Applied. (Confirmed by reading the eval's state after the connection"
                " came back.)",
            )
        now = self._desk.monotonic()
        if now - self._not_shown_at.setdefault(order.id, now) < after:
            return None
        del self._not_shown_at[order.id]
        return Outcome(
            state=OrderState.FAILED,
            message="Not applied. (Confirmed by reading the state.) evalroom does not resend it.",
        )

    def _at_its_end(self, order: Order) -> Outcome:
        if order.action.verb in _DONE_AT_END and not isinstance(order.target, SampleKey):
            return Outcome(state=OrderState.DONE, message="the process has ended")
        return self._unknown(
            order, "Outcome unknown: the process has ended. Its log shows what it did."
        )

    def _unknown(self, order: Order, why: str) -> Outcome:
        self._unknowable.add(order.id)
        return Outcome(state=OrderState.UNKNOWN, message=why)
