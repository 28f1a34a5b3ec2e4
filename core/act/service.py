"""ActionService: plan, confirm, execute and undo actions; settle open orders."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from core.act.concurrency import ConcurrencyLimit
from core.act.executor import Executor, OrderReport
from core.act.order_query import OrderQuery
from core.act.order_tracker import OrderTracker
from core.act.plan import Plan, Step, unmet
from core.act.planner import Planner, PlanningProgress
from core.act.ports import ActionDesk, OrderStore
from core.act.reader import FreshReader, SurfaceCache
from core.act.resolver import Resolver
from core.act.sample_targets import Listings
from core.act.target_expansion import (
    ActionPlace,
    ActionRequest,
    list_samples,
    requests_for,
)
from core.act.undo import as_undo, newest_undoable, undo_title
from core.ctl.features import features
from core.errors import NotConfirmed, UsageWrong
from core.events import Event, SurfaceRead
from core.ids import ProcessKey, TaskKey
from core.model.action import Action
from core.model.order import Instance, Order
from core.model.process import Process

_FOLD_DELAY_S = 0.02
"""Seconds to wait until the desk has folded in an event that was just posted."""


class ActionService:
    """Plans, executes and undoes all actions on machines, and settles their orders.

    Args:
        desk: Reads and sends.
        instance: This evalroom.
        store: The journal of orders; None: it can't be written, and nothing is ever sent.
        runs: The ids of the runs that this operator's evalroom launched.
        post: Takes the events.
    """

    def __init__(
        self,
        desk: ActionDesk,
        *,
        instance: Instance,
        store: OrderStore | None,
        runs: Collection[str] = (),
        post: Callable[[Event], None],
    ) -> None:
        new_reader = partial(FreshReader, desk, SurfaceCache())
        limit = ConcurrencyLimit()
        self.instance = instance
        self._desk = desk
        self._post = post
        self._orders = OrderTracker(store, instance=instance, post=post, now=desk.now)
        self._planner = Planner(desk, self._orders, new_reader=new_reader, limit=limit, runs=runs)
        self._executor = Executor(
            desk, self._orders, planner=self._planner, new_reader=new_reader, limit=limit
        )
        self._resolver = Resolver(desk, self._orders, new_reader=new_reader)

    def is_ours(self, process: Process) -> bool:
        """Return whether this operator's evalroom launched a process."""
        return self._planner.is_ours(process)

    def answers_for(self, order: Order) -> bool:
        """Return whether this evalroom gave an order, or claimed it from a dead instance."""
        return self._orders.answers_for(order)

    async def run(self) -> None:
        """Claim the open orders of dead instances, then resolve open orders until cancelled."""
        await self.take_up()
        await self._resolver.run()

    async def take_up(self) -> tuple[Order, ...]:
        """Load the newest orders; claim and return the open orders of dead instances."""
        return await self._orders.take_up()

    async def select(self, query: OrderQuery) -> Sequence[Order]:
        """Return orders of the journal, newest first; an empty sequence without a journal.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self._orders.select(query)

    async def learn(self, processes: Iterable[ProcessKey], *, patience: float) -> None:
        """Read the routes of these processes, where they are not known yet.

        A menu can then name the features that an older Inspect lacks.

        Args:
            processes: The processes.
            patience: Maximum seconds to wait; later answers are used too.
        """
        known = self._desk.fleet.processes
        unknown = [
            key for key in processes if (found := known.get(key)) is not None and found.can is None
        ]
        if unknown:
            reading = asyncio.gather(*(self._learn(key) for key in unknown))
            await asyncio.wait({asyncio.ensure_future(reading)}, timeout=patience)
            await asyncio.sleep(_FOLD_DELAY_S)

    async def _learn(self, process: ProcessKey) -> None:
        surface = await self._planner.surface(process)
        if surface is not None:
            can = tuple(sorted(features(surface)))
            self._post(SurfaceRead(at=self._desk.now(), process=process, can=can))

    async def list_samples(self, tasks: Iterable[TaskKey]) -> Listings:
        """Return the ids of all samples of these tasks; a task that can't be listed is left out."""
        return await list_samples(self._desk, tasks)

    async def plan(
        self,
        title: str,
        action: Action,
        places: Sequence[ActionPlace],
        *,
        reason: str = "",
        on_progress: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan of one action on the selected places.

        Raises:
            UsageWrong: There is nothing to act on, or the action does not apply to such a place.
            RequestFailed: A task's errored samples can't be listed.
        """
        requests = await requests_for(self._desk, action, places)
        return await self.plan_of(
            title, requests, reason=reason, on_progress=on_progress, hurry=hurry
        )

    async def plan_of(
        self,
        title: str,
        requests: Sequence[ActionRequest],
        *,
        reason: str = "",
        on_progress: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan of concrete requests.

        Raises:
            UsageWrong: No request.
        """
        return await self._planner.plan(
            title, requests, reason=reason, on_progress=on_progress, hurry=hurry
        )

    async def undo(self) -> Plan:
        """Return the plan that undoes the last plan of this operator that can be undone.

        Raises:
            UsageWrong: No such plan.
        """
        skipped: list[str] = []
        while True:
            orders, operator = self._desk.fleet.orders, self.instance.operator
            undoable = newest_undoable(orders, operator, but=skipped)
            if not undoable.orders:
                break
            title = undo_title(undoable, self._desk.fleet)
            plan = await self.plan_of(title, undoable.requests, reason="undo")
            if plan.sent or any(_speaks_against(step) for step in plan.steps):
                return as_undo(plan, undoable)
            skipped.append(undoable.plan)  # it is undone already, or over
        raise UsageWrong("nothing is left to undo" if skipped else "nothing can be undone")

    async def carry_out(
        self,
        plan: Plan,
        *,
        words: str = "",
        yes: bool = False,
        on_report: Callable[[OrderReport], None] | None = None,
    ) -> tuple[OrderReport, ...]:
        """Execute a plan that was confirmed.

        Args:
            plan: The previewed plan.
            words: The words that the operator typed.
            yes: Whether the operator said yes to acting on runs that others launched.
            on_report: Called with each report as it comes.

        Raises:
            NotConfirmed: The plan was not confirmed as it requires; nothing was sent.
        """
        why = unmet(plan, words=words, yes=yes)
        if why is not None:
            raise NotConfirmed(why)
        return await self._executor.execute(plan, on_report=on_report)


def _speaks_against(step: Step) -> bool:
    return step.refusal is not None and step.refusal.kind != "no change"
