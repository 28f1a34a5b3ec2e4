"""Runs guides: starts them, brings their steps up to date, skips, stops and takes over.

A guide never sends an order by itself. Its step makes a plan; after the operator confirms it,
`ActionService` executes it like any other plan. After a restart, the guide finds its orders in the
journal.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from core.act.executor import OrderReport
from core.act.order_query import OrderQuery, joined
from core.act.plan import Plan
from core.act.planner import PlanningProgress
from core.act.ports import ActionDesk
from core.act.service import ActionService
from core.ctl import routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view
from core.errors import AnswerMalformed, RequestFailed, StorageError, UsageWrong
from core.guide.context import GuideContext, of_guide
from core.guide.factories import cleanup_guide, finish_guide, incident_guide, interrupt_guide
from core.guide.guide import Guide, GuideStep, StepKind, StepState
from core.guide.guide_store import GuideStore
from core.guide.leftover_removal import Removal, removal_of, remove, with_result
from core.guide.progress import advanced, skipped, stopped
from core.guide.resume_command import resume_command
from core.guide.step_actions import fitted, guide_label, requests_of, settled_by, title_of
from core.ids import ProcessKey, TaskKey
from core.model.job import Worker
from core.model.order import Instance, Order
from core.model.process import Process
from core.signal import Signal
from core.text import shown

UPDATE_INTERVAL_S = 0.5
"""Seconds between two updates of the open guides."""
_READ = 10_000
"""Orders of the journal that are searched when a guide is taken over."""


class GuideRunner:
    """Runs the guides of this evalroom.

    Args:
        asker: The desk: the fleet, the clock, and reads of processes.
        acting: Makes and executes plans.
        store: The store of guides; None: no guide can be started.
        worker: Runs the jobs that remove containers; None: nothing can be removed.
        spec_command: Returns the command that resumes a process from its spec; None: no spec.
    """

    def __init__(
        self,
        asker: ActionDesk,
        acting: ActionService,
        *,
        store: GuideStore | None,
        worker: Worker | None = None,
        spec_command: Callable[[Process], str | None] = lambda _: None,
    ) -> None:
        self._asker = asker
        self._acting = acting
        self._store = store
        self._worker = worker
        self._spec_command = spec_command
        self._guides: dict[str, Guide] = {}
        self._orders: dict[str, tuple[Order, ...]] = {}
        self._unsaved: set[str] = set()
        self._changed = Signal[Guide]()
        self._woken = asyncio.Event()

    @property
    def instance(self) -> Instance:
        """This evalroom."""
        return self._acting.instance

    @property
    def guides(self) -> tuple[Guide, ...]:
        """The guides that this evalroom runs or has run, newest first."""
        return tuple(sorted(self._guides.values(), key=lambda each: -each.made_at))

    def guide(self, guide: str) -> Guide | None:
        """Return a guide of this evalroom by its id; None: it has no such guide."""
        return self._guides.get(guide)

    def listen(self, on_change: Callable[[Guide], None]) -> Callable[[], None]:
        """Call `on_change` with each guide that changed; return the function that ends that."""
        return self._changed.connect(on_change)

    async def recent(self, limit: int = 50) -> tuple[Guide, ...]:
        """Return the open and recent guides of all evalrooms of this user, newest first.

        Raises:
            StorageError: They can't be read.
        """
        kept = () if self._store is None else await self._store.recent(limit)
        known = {guide.id: guide for guide in kept} | self._guides
        return tuple(sorted(known.values(), key=lambda each: -each.made_at))

    # Starting

    async def interrupt(self, key: ProcessKey) -> Guide:
        """Start a guide that interrupts a process safely; first build the command that resumes it.

        Raises:
            UsageWrong: The process is no longer known.
            StorageError: The guide can't be stored.
        """
        process = self._asker.fleet.processes.get(key)
        if process is None:
            raise UsageWrong("this process is no longer known")
        unstarted = await self._unstarted(key)
        fleet = self._asker.fleet
        process = fleet.processes.get(key, process)
        spec = self._spec_command(process) if self._acting.is_ours(process) else None
        tasks = [fleet.tasks[each] for each in process.tasks]
        built = resume_command(process, tasks, unstarted=unstarted, from_spec=spec)
        return await self._begin(interrupt_guide(fleet, key, built, self._now(), self.instance))

    async def incident(
        self, model: str, among: Sequence[ProcessKey] | None = None, *, now: bool = False
    ) -> Guide:
        """Start a guide that pauses a model, everywhere (None) or in some processes.

        Raises:
            UsageWrong: None of these processes uses the model.
            StorageError: The guide can't be stored.
        """
        fleet = self._asker.fleet
        return await self._begin(
            incident_guide(fleet, model, among, self._now(), self.instance, is_now=now)
        )

    async def finish(self, key: TaskKey) -> Guide:
        """Start a guide that ends a task early.

        Raises:
            UsageWrong: The task is finished, or no longer known.
            StorageError: The guide can't be stored.
        """
        if key not in self._asker.fleet.tasks:
            raise UsageWrong("this task is no longer known")
        return await self._begin(finish_guide(self._asker.fleet, key, self._now(), self.instance))

    async def cleanup(
        self, among: Sequence[ProcessKey] | None = None, *, others: bool = False
    ) -> Guide:
        """Start a guide that asks for each parked process whether it may exit.

        Args:
            among: The processes to consider; None: all.
            others: Whether to include processes that this operator did not launch.

        Raises:
            UsageWrong: None of the processes is parked, or may be included.
            StorageError: The guide can't be stored.
        """
        fleet = self._asker.fleet
        ours = frozenset(
            key for key, process in fleet.processes.items() if self._acting.is_ours(process)
        )
        return await self._begin(
            cleanup_guide(fleet, among, ours, self._now(), self.instance, others=others)
        )

    async def _unstarted(self, key: ProcessKey) -> int | None:
        try:
            reply = await self._asker.read(key, routes.PROCESS_CONFIG)
            view = config_view(good_body(reply, "the process's config"))
        except (RequestFailed, AnswerMalformed):
            return None
        return 0 if view.max_tasks is None else view.max_tasks.pending or 0

    async def _begin(self, guide: Guide) -> Guide:
        if self._store is None:
            raise StorageError("the guide can't be started: evalroom has no history to store it in")
        await self._store.save(guide)
        return await self._hold(guide)

    async def _hold(self, guide: Guide) -> Guide:
        self._guides[guide.id] = guide
        self._woken.set()
        return await self.refresh(guide.id)

    async def take_over(self, guide: str) -> Guide:
        """Take over a guide of an evalroom that ended, and continue it here.

        Raises:
            UsageWrong: No such guide, it has ended, or its evalroom may still run.
            StorageError: It can't be read or written.
        """
        if guide in self._guides:
            return await self.refresh(guide)
        if self._store is None:
            why = "evalroom has no history to read it from"
            raise StorageError(f"the guide can't be taken over: {why}")
        taken = await self._store.claim(guide, self.instance)
        kept = await self._acting.select(OrderQuery(since=taken.made_at, limit=_READ))
        self._orders[taken.id] = of_guide(taken, kept)
        return await self._hold(taken)

    # Continuing

    async def plan(
        self,
        guide: str,
        *,
        on_progress: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Make the plan of the step that waits; its orders will belong to that step.

        Raises:
            UsageWrong: No step waits, or there is nothing to send.
            StorageError: The guide can't be stored.
        """
        known = await self.refresh(guide)
        step, at = known.step, known.current
        if step is None or at is None or not known.waits:
            why = "the guide has ended" if step is None else step.sentence or step.title
            raise UsageWrong(f"no step waits for you: {why}")
        wishes = requests_of(known, step, self._world(known))
        plan = await self._acting.plan_of(
            title_of(known, step),
            wishes,
            reason=guide_label(known.kind),
            on_progress=on_progress,
            hurry=hurry,
        )
        world = self._world(known)
        plan = fitted(known, step, plan, world)
        known = self._guides[guide]
        settled = tuple(dict.fromkeys((*known.steps[at].settled, *settled_by(plan, world))))
        marked = replace(known.steps[at], plans=(*known.steps[at].plans, plan.id), settled=settled)
        await self._keep(known.with_step(at, _unable(marked, plan)))
        await self.refresh(guide)
        return plan

    async def carry_out(
        self,
        guide: str,
        plan: Plan,
        *,
        words: str = "",
        yes: bool = False,
        on_report: Callable[[OrderReport], None] | None = None,
    ) -> tuple[OrderReport, ...]:
        """Execute the plan of a step with `ActionService.carry_out`, then update the guide.

        Raises:
            NotConfirmed: The plan was not confirmed as it requires; nothing was sent.
        """
        reports = await self._acting.carry_out(plan, words=words, yes=yes, on_report=on_report)
        await asyncio.sleep(0)
        await self.refresh(guide)
        return reports

    async def removal(self, guide: str) -> Removal:
        """Return what the step that waits would remove now, for its preview.

        Raises:
            UsageWrong: No such step waits, or there is nothing to remove.
        """
        return removal_of(self._asker.fleet, (await self.refresh(guide)).step)

    async def remove_containers(self, guide: str, previewed: Removal, *, words: str) -> str:
        """Remove exactly the previewed containers, and return the outcome (see `remove`)."""
        now = await self.removal(guide)
        removed = await remove(previewed, now, words=words, worker=self._worker)
        known = self._mine(guide)
        message = f"{removed} removed by {shown(self.instance.operator, 60)}"
        await self._keep(with_result(known, message))
        await self.refresh(guide)
        return message

    async def skip(self, guide: str) -> Guide:
        """Skip the step that waits.

        Raises:
            UsageWrong: No step waits, or this one can't be skipped.
            StorageError: The guide can't be stored.
        """
        known = self._mine(guide)
        step = known.step
        if step is None or not known.waits or step.kind not in CAN_BE_SKIPPED:
            raise UsageWrong("this step can't be skipped", "press x to stop the whole guide")
        await self._keep(skipped(known, f"skipped by {shown(self.instance.operator, 60)}"))
        return await self.refresh(guide)

    async def stop(self, guide: str) -> Guide:
        """Stop a guide; orders already sent stay in effect.

        Raises:
            UsageWrong: This evalroom does not run the guide.
            StorageError: The guide can't be stored.
        """
        known = self._mine(guide)
        why = f"stopped by {shown(self.instance.operator, 60)}; orders already sent stay in effect"
        await self._keep(stopped(known, self._now(), why))
        return self._guides[guide]

    # Updating

    async def run(self) -> None:
        """Update the open guides until cancelled; sleep while none is open."""
        while True:
            if not any(guide.is_open for guide in self._guides.values()):
                self._woken.clear()
                await self._woken.wait()
            for guide in tuple(self._guides.values()):
                if guide.is_open or guide.id in self._unsaved:
                    await self.refresh(guide.id)
            await asyncio.sleep(UPDATE_INTERVAL_S)

    async def refresh(self, guide: str) -> Guide:
        """Bring a guide up to date and return it.

        Raises:
            UsageWrong: This evalroom does not run the guide.
        """
        known = self._mine(guide)
        now = advanced(known, self._world(known)) if known.is_open else known
        if now != known or guide in self._unsaved:
            try:
                await self._keep(now, only_if=_mark(now) != _mark(known))
            except StorageError:
                self._unsaved.add(guide)  # retried with the next update
        return self._guides[guide]

    def _mine(self, guide: str) -> Guide:
        known = self._guides.get(guide)
        if known is None:
            raise UsageWrong(
                f"this evalroom does not run guide {shown(guide, 40)}", "take it over first"
            )
        return known

    def _world(self, guide: Guide) -> GuideContext:
        fleet = self._asker.fleet
        now = of_guide(guide, fleet.orders)
        orders = joined(now, self._orders.get(guide.id, ()))
        self._orders[guide.id] = orders
        return GuideContext(fleet=fleet, orders=orders, now=self._now())

    async def _keep(self, guide: Guide, *, only_if: bool = True) -> None:
        self._guides[guide.id] = guide
        self._changed.emit(guide)
        if self._store is not None and (only_if or guide.id in self._unsaved):
            await self._store.save(guide)
            self._unsaved.discard(guide.id)

    def _now(self) -> float:
        return self._asker.now()


CAN_BE_SKIPPED = frozenset(
    {StepKind.FLUSH, StepKind.DRAIN, StepKind.SCORE, StepKind.RELEASE, StepKind.CONTAINERS}
)
"""Steps that the operator may skip; the others are mandatory."""


def _unable(step: GuideStep, plan: Plan) -> GuideStep:
    """Return a flush step as skipped if this Inspect can't flush: it wrote the logs itself."""
    kinds = {each.refusal.kind for each in plan.steps if each.refusal is not None}
    if step.kind is StepKind.FLUSH and not plan.sent and kinds == {"unsupported"}:
        why = "this Inspect has no log flush; it wrote the logs when the last sample ended"
        return replace(step, state=StepState.SKIPPED, sentence=why)
    return step


def _mark(guide: Guide) -> tuple[object, ...]:
    """Return the parts of a guide whose change is written to disk; sentences are not."""
    steps = ((step.state, step.plans, step.settled) for step in guide.steps)
    return (guide.ended_at, tuple(steps))


def open_first(guides: Iterable[Guide]) -> tuple[Guide, ...]:
    """Return guides with the open ones first, newest first within."""
    return tuple(sorted(guides, key=lambda each: (not each.is_open, -each.made_at)))
