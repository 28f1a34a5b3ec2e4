"""Orders that had no answer: what became of them is read from the state, never sent again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.act.action import Verb, offer_of, scope_of
from core.act.look import Asker, Looks, Pace
from core.act.order import Order, OrderState, Outcome
from core.act.outcome import seen_applied
from core.act.refusals import at_sight
from core.errors import AnswerMalformed, RequestFailed
from core.ids import process_of
from core.model.process import ProcessState

EVERY = 1.0
"""Seconds between two rounds while something is open."""
SETTLED_AFTER = 3.0
"""Seconds between two looks that must both not show an order, until it counts as not applied:
what a blocked eval still had in its queue is done before it answers the second look."""

_ENDS = frozenset({Verb.INTERRUPT, Verb.END, Verb.RELEASE, Verb.CANCEL, Verb.DRAIN})
"""Verbs that a process's end speaks for."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A look at a target that did not show its order applied."""

    at: float


class Resolver:
    """Looks after the open orders of this evalroom.

    Args:
        asker: The desk.
        looks: Makes fresh looks.
        settle: Tells and writes what became of an order.
        is_mine: Whether this evalroom answers for an order.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        looks: Callable[[], Looks],
        settle: Callable[[str, Outcome], Awaitable[None]],
        is_mine: Callable[[Order], bool],
    ) -> None:
        self._asker = asker
        self._looks = looks
        self._settle = settle
        self._is_mine = is_mine
        self._doubts: dict[str, _Doubt] = {}
        self._told: set[str] = set()

    async def run(self) -> None:
        """Resolve until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            for order in self._open():
                outcome = await self.resolved(order)
                if outcome is not None:
                    await self._settle(order.id, outcome)

    def _open(self) -> tuple[Order, ...]:
        return tuple(
            order
            for order in self._asker.fleet.orders
            if order.state is OrderState.UNKNOWN
            and order.id not in self._told
            and self._is_mine(order)
        )

    async def resolved(  # noqa: PLR0911 - one case after the other
        self, order: Order
    ) -> Outcome | None:
        """Return what a look now shows of an open order; None: nothing yet."""
        offer = offer_of(order.action, scope_of(order.target))
        process = self._asker.fleet.processes.get(process_of(order.target))
        if offer is None or process is None:
            return None
        if process.state is ProcessState.GONE:
            return self._at_its_end(order)
        refusal = at_sight(offer, order.target, self._asker.fleet)
        if refusal is not None and refusal.kind == "unreachable":
            return None
        try:
            seen = await self._looks().seen(order.action, order.target, Pace())
        except (RequestFailed, AnswerMalformed):
            return None
        if order.action.verb in {Verb.INTERRUPT, Verb.END}:
            return self._judged(order, shows=not seen.answers)
        applied = seen_applied(order.action, order.target, order.basis, seen)
        if applied is None:
            self._told.add(order.id)
            return self._never(
                "no look can tell whether it was applied: look before doing it again"
            )
        return self._judged(order, shows=applied)

    def _judged(self, order: Order, *, shows: bool) -> Outcome | None:
        if shows:
            self._doubts.pop(order.id, None)
            return Outcome(
                state=OrderState.DONE, message="it was applied: seen once it could be read again"
            )
        doubt = self._doubts.setdefault(order.id, _Doubt(self._asker.now()))
        if self._asker.now() - doubt.at < SETTLED_AFTER:
            return None
        del self._doubts[order.id]
        return Outcome(
            state=OrderState.FAILED,
            message="it was not applied: seen once it could be read again; nothing is sent twice",
        )

    def _at_its_end(self, order: Order) -> Outcome:
        if order.action.verb in _ENDS:
            return Outcome(state=OrderState.DONE, message="its process has ended")
        self._told.add(order.id)
        return self._never("its process has ended: whether it was applied can't be told")

    @staticmethod
    def _never(why: str) -> Outcome:
        return Outcome(state=OrderState.UNKNOWN, message=why)
