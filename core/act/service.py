"""The operator's hands as one thing: plan, confirm, carry out, undo; and what was left open."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from core.act.executor import Executor, OrderReport
from core.act.order_query import OrderQuery
from core.act.plan import Plan, Step, unmet
from core.act.planner import Planner, PlanningProgress
from core.act.ports import ActionDesk, OrderStore
from core.act.resolver import Resolver
from core.act.target_expansion import ActionPlace, ActionRequest, requests_for
from core.act.undo import as_undo, newest_undoable, undo_title
from core.ctl.features import features
from core.errors import NotConfirmed, StorageError, UsageWrong
from core.events import Event, OrderGiven, SurfaceRead
from core.ids import ProcessKey
from core.model.action import Action, Verb
from core.model.order import Instance, Order, OrderState, Outcome
from core.model.process import Process

REMEMBERED = 200
"""Orders of before this start that are loaded: for undo, and for what was sent to whom."""

INTERRUPTS = 1_000
"""Newest interrupts that are looked through before another one, or an end."""

_FOLDED = 0.02
"""Seconds in which the desk has folded in what was just told."""


class ActionService:
    """Everything that changes something on a machine goes through here.

    Args:
        asker: The desk.
        instance: This evalroom.
        book: The journal of orders; None: it can't be written, and nothing is ever sent.
        runs: The ids of the runs that this operator's evalroom launched.
        post: Takes the events.
    """

    def __init__(
        self,
        asker: ActionDesk,
        *,
        instance: Instance,
        book: OrderStore | None,
        runs: Collection[str] = (),
        post: Callable[[Event], None],
    ) -> None:
        self._asker = asker
        self._book = book
        self._runs = runs
        self.instance = instance
        self._post = post
        self._planner = Planner(
            asker, is_ours=self.is_ours, author=instance.operator, interrupts=self._interrupts
        )
        self._hands = Executor(asker, self._planner, book=book, instance=instance, post=post)
        self._mine: set[str] = set()
        self._resolver = Resolver(
            asker,
            looks=self._planner.looks,
            settle=self._hands.settle,
            is_mine=self.answers_for,
            is_out=self._hands.is_out,
            each_round=self._each_round,
        )
        self._has_taken_up = False

    def is_ours(self, process: Process) -> bool:
        """Whether this operator's evalroom launched a process."""
        if process.run is None:
            return False
        run = self._asker.fleet.runs.get(process.run)
        return process.run in self._runs or (run is not None and run.is_ours)

    async def run(self) -> None:
        """Take up what dead evalrooms left open, then resolve what is open, until cancelled."""
        await self.take_up()
        await self._resolver.run()

    async def take_up(self) -> tuple[Order, ...]:
        """Load the newest orders; claim and return what evalrooms that died left open."""
        if self._book is None:
            return ()
        try:
            left = await self._book.take_up(self.instance)
            recent = await self._book.recent(REMEMBERED)
        except StorageError:
            return ()  # tried again
        self._has_taken_up = True
        newest = {order.id for order in recent}
        older = (order for order in left if order.id not in newest)
        for order in (*older, *reversed(recent)):
            self._post(OrderGiven(at=self._asker.now(), order=order))
        self._mine.update(order.id for order in left)
        for order in left:
            if order.state is OrderState.INTENT:  # what is unknown already has its reason
                why = "its evalroom ended before it knew what became of it"
                outcome = Outcome(state=OrderState.UNKNOWN, message=why)
                await self._hands.settle(order.id, outcome)
        return tuple(left)

    async def learn(self, processes: Iterable[ProcessKey], *, patience: float) -> None:
        """Have the routes of these processes read, where they are not known yet.

        A menu then tells what an older Inspect lacks before anything is asked.

        Args:
            processes: Whose.
            patience: Seconds after which it returns all the same; what comes later counts too.
        """
        known = self._asker.fleet.processes
        unknown = [
            key for key in processes if (found := known.get(key)) is not None and found.can is None
        ]
        if unknown:
            reading = asyncio.gather(*(self._learn(key) for key in unknown))
            await asyncio.wait({asyncio.ensure_future(reading)}, timeout=patience)
            await asyncio.sleep(_FOLDED)

    async def _learn(self, process: ProcessKey) -> None:
        surface = await self._planner.surface(process)
        if surface is not None:
            can = tuple(sorted(features(surface)))
            self._post(SurfaceRead(at=self._asker.now(), process=process, can=can))

    async def plan(
        self,
        title: str,
        action: Action,
        places: Sequence[ActionPlace],
        *,
        reason: str = "",
        tell: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan of one action on the selected places.

        Raises:
            UsageWrong: There is nothing to act on, or the action is none of such a place.
            RequestFailed: A task's errored samples can't be listed.
        """
        wishes = await requests_for(self._asker, action, places)
        return await self.plan_of(title, wishes, reason=reason, tell=tell, hurry=hurry)

    async def plan_of(
        self,
        title: str,
        wishes: Sequence[ActionRequest],
        *,
        reason: str = "",
        tell: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan of concrete wishes.

        Raises:
            UsageWrong: There are none.
        """
        return await self._planner.plan(title, wishes, reason=reason, tell=tell, hurry=hurry)

    async def undo(self) -> Plan:
        """Return the plan that takes back the last plan of this operator that can be.

        Raises:
            UsageWrong: There is none.
        """
        passed: list[str] = []
        while True:
            orders, operator = self._asker.fleet.orders, self.instance.operator
            undoing = newest_undoable(orders, operator, but=passed)
            if not undoing.orders:
                break
            title = undo_title(undoing, self._asker.fleet)
            plan = await self.plan_of(title, undoing.wishes, reason="undo")
            if plan.sent or any(_speaks_against(step) for step in plan.steps):
                return as_undo(plan, undoing)
            passed.append(undoing.plan)  # it is as before already, or over
        raise UsageWrong("there is nothing to undo" + (" any more" if passed else ""))

    async def carry_out(
        self,
        plan: Plan,
        *,
        words: str = "",
        yes: bool = False,
        tell: Callable[[OrderReport], None] | None = None,
    ) -> tuple[OrderReport, ...]:
        """Carry out a plan that was confirmed.

        Args:
            plan: As previewed.
            words: What was typed.
            yes: Whether a yes was given to acting on runs that others launched.
            tell: Hears each outcome as it comes.

        Raises:
            NotConfirmed: It asks for more than was given; nothing was sent.
        """
        why = unmet(plan, words=words, yes=yes)
        if why is not None:
            raise NotConfirmed(why)
        return await self._hands.carry_out(plan, tell=tell)

    async def select(self, wanted: OrderQuery) -> Sequence[Order]:
        """Return orders of the journal, newest first; none where there is no journal.

        Raises:
            StorageError: It can't be read.
        """
        return () if self._book is None else await self._book.select(wanted)

    async def _each_round(self) -> None:
        """Do what could not be done while the journal was held or the disk was full."""
        if not self._has_taken_up:
            await self.take_up()
        await self._hands.write_again()

    def answers_for(self, order: Order) -> bool:
        """Whether this evalroom gave an order, or claimed it of one that died."""
        return order.instance == self.instance or order.id in self._mine

    async def _interrupts(self) -> Sequence[Order]:
        """Return the newest interrupts by any evalroom of this user, newest first.

        They are looked for by themselves: an action on hundreds of targets is as many orders.

        Raises:
            StorageError: The journal can't be read.
        """
        if self._book is None:
            return ()  # nothing is ever sent
        return await self._book.select(OrderQuery(verb=Verb.INTERRUPT, limit=INTERRUPTS))


def _speaks_against(step: Step) -> bool:
    return step.refusal is not None and step.refusal.kind != "noop"
