"""Orders that had no answer: what became of them is read from the state, never sent again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.act.outcome import seen_applied
from core.act.ports import ActionDesk
from core.act.reader import FreshReader, Throttle
from core.act.refusals import at_sight
from core.act.snapshot import TargetSnapshot
from core.errors import AnswerMalformed, RequestFailed
from core.ids import SampleKey, process_of
from core.model.action import Verb, offer_of, scope_of
from core.model.order import Order, OrderState, Outcome
from core.model.process import Process, ProcessState

EVERY = 1.0
"""Seconds between two rounds while something is open."""
LINGERS = 20.0
"""Seconds after which a process that was to be killed, and is there, was not."""
SETTLED_AFTER = 3.0
"""Seconds between two looks that must both not show an order, until it counts as not applied:
what a blocked eval still had in its queue is done before it answers the second look."""

_ENDS = frozenset({Verb.INTERRUPT, Verb.END, Verb.RELEASE, Verb.CANCEL, Verb.DRAIN})
"""Verbs that a process's end speaks for."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A look at a target that did not show its order applied, by the monotonic clock."""

    at: float


class Resolver:
    """Looks after the open orders of this evalroom.

    Args:
        asker: The desk.
        looks: Makes fresh looks.
        settle: Tells and writes what became of an order.
        is_mine: Whether this evalroom answers for an order.
        is_out: Whether an order is on its way at this moment.
        each_round: Done once in each round, before it looks.
    """

    def __init__(
        self,
        asker: ActionDesk,
        *,
        looks: Callable[[], FreshReader],
        settle: Callable[[str, Outcome], Awaitable[None]],
        is_mine: Callable[[Order], bool],
        is_out: Callable[[str], bool],
        each_round: Callable[[], Awaitable[None]],
    ) -> None:
        self._asker = asker
        self._looks = looks
        self._settle = settle
        self._is_mine = is_mine
        self._is_out = is_out
        self._each_round = each_round
        self._doubts: dict[str, _Doubt] = {}
        self._told: set[str] = set()

    async def run(self) -> None:
        """Resolve until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self._each_round()
            for order in self._open():
                outcome = await self.resolved(order)
                if outcome is not None:
                    await self._settle(order.id, outcome)

    def _open(self) -> tuple[Order, ...]:
        return tuple(
            order
            for order in self._asker.fleet.orders
            if order.is_open
            and not self._is_out(order.id)  # an intent that is not: carrying it out broke off
            and order.id not in self._told
            and self._is_mine(order)
        )

    async def resolved(  # noqa: PLR0911 - one case after the other
        self, order: Order
    ) -> Outcome | None:
        """Return what a look now shows of an open order; None: nothing yet."""
        offer = offer_of(order.action, scope_of(order.target))
        process = self._asker.fleet.processes.get(process_of(order.target))
        if offer is None:
            return None
        if process is None:
            is_gone = self._is_listed_without(order)
            return self._at_its_end(order) if is_gone else None
        if process.is_gone:
            return self._at_its_end(order)
        refusal = at_sight(offer, order.target, self._asker.fleet)
        if refusal is not None and refusal.kind == "unreachable":
            return None
        try:
            seen = await self._looks().seen(order.action, order.target, Throttle())
        except (RequestFailed, AnswerMalformed):
            return None
        if order.action.verb in {Verb.INTERRUPT, Verb.END}:
            return self._signalled(order, process, seen)
        applied = seen_applied(order.action, order.target, order.basis, seen)
        if applied is None:
            self._told.add(order.id)
            return self._never(
                "no look can tell whether it was applied: look before doing it again"
            )
        return self._judged(order, shows=applied)

    def _is_listed_without(self, order: Order) -> bool:
        """Whether a process that was never seen here would have been, were it still there."""
        machine = self._asker.fleet.machines.get(process_of(order.target).machine)
        return machine is not None and machine.lists_all(self._asker.now())

    def _signalled(self, order: Order, process: Process, seen: TargetSnapshot) -> Outcome | None:
        """What a look tells of a signal. That nothing answers tells nothing: it may be busy."""
        if seen.answers:
            return self._judged(order, shows=False)
        if process.state is not ProcessState.HEADLESS:
            return None
        if order.action.verb is Verb.INTERRUPT:
            return self._judged(order, shows=True)
        return self._judged(order, shows=False, after=LINGERS)

    def _judged(self, order: Order, *, shows: bool, after: float = SETTLED_AFTER) -> Outcome | None:
        if shows:
            self._doubts.pop(order.id, None)
            return Outcome(
                state=OrderState.DONE, message="it is so: seen once it could be read again"
            )
        doubt = self._doubts.setdefault(order.id, _Doubt(time.monotonic()))
        if time.monotonic() - doubt.at < after:
            return None
        del self._doubts[order.id]
        return Outcome(
            state=OrderState.FAILED,
            message="it was not applied: seen once it could be read again; nothing is sent twice",
        )

    def _at_its_end(self, order: Order) -> Outcome:
        if order.action.verb in _ENDS and not isinstance(order.target, SampleKey):
            return Outcome(state=OrderState.DONE, message="its process has ended")
        self._told.add(order.id)
        return self._never("its process has ended: whether it was applied can't be told")

    @staticmethod
    def _never(why: str) -> Outcome:
        return Outcome(state=OrderState.UNKNOWN, message=why)
