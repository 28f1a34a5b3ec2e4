"""Actions whose dry runs and outcomes a test sets: for pictures, and for tests of dialogs."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.act.equivalent_command import equivalent
from core.act.executor import OrderReport
from core.act.plan import Plan, Step, unmet
from core.act.planner import PlanningProgress
from core.act.preview import Preview
from core.act.refusals import Refusal, fleet_refusal
from core.act.requests import request_of
from core.act.service import ActionService
from core.act.target_expansion import ActionPlace
from core.act.target_labels import target_label, target_location
from core.ids import Target, TaskKey, process_of
from core.model.action import Action, Verb, offer_of, scope_of
from core.model.order import OrderState, Outcome
from core.views.actions.action_menu import targets_of
from tests.support.orders import HERE, Book
from tests.support.rooms import FakeRoom

OnProgress = Callable[[PlanningProgress], None]


class ScriptedActing(ActionService):
    """An `ActionService` over a `FakeRoom`: the test sets previews and outcomes of plans.

    Attributes:
        ours: Whether this operator launched the runs.
        previews: The dry run's answer by target; for all other targets, one sentence.
        outcomes: The outcome by target; all other orders are done.
        changing: Targets that changed when the plan was confirmed.
        gate: Orders wait for it.
        carried: The plans that were carried out: plan, words, yes.
    """

    def __init__(self, room: FakeRoom) -> None:
        super().__init__(room, instance=HERE, store=Book(), post=room.post)  # type: ignore[arg-type]
        self.room = room
        self.ours = True
        self.previews: dict[Target, Preview | Refusal] = {}
        self.outcomes: dict[Target, Outcome] = {}
        self.changing: set[Target] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.asking = asyncio.Event()
        self.asking.set()
        self.carried: list[tuple[Plan, str, bool]] = []

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def plan(
        self,
        title: str,
        action: Action,
        places: Sequence[ActionPlace],
        *,
        reason: str = "",
        on_progress: OnProgress | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        del hurry
        targets = targets_of(self.room.fleet, places)
        if on_progress is not None:
            on_progress(PlanningProgress(len(targets) // 2, len(targets)))
        await self.asking.wait()
        steps = tuple(self._step(action, each, reason) for each in targets)
        return Plan(id="p", title=title, action=action, steps=steps, reason=reason)

    def _step(self, action: Action, target: Target, reason: str) -> Step:
        fleet = self.room.fleet
        offer = offer_of(action, scope_of(target))
        assert offer is not None, action
        machine = fleet.machines[process_of(target).machine]
        step = Step(
            target=target,
            action=action,
            offer=offer,
            name=target_label(target, fleet),
            where=target_location(target, fleet),
            command=equivalent(action, target, fleet, reason=reason),
            basis={},
            is_ours=self.ours,
            is_production=machine.production,
            undo=Action(verb=Verb.RESUME) if action.verb is Verb.PAUSE else None,
        )
        refusal = fleet_refusal(offer, target, fleet)
        answer = self.previews.get(target, refusal or self._usual(action, target))
        if isinstance(answer, Refusal):
            return replace(step, refusal=answer)
        return replace(step, preview=answer, request=request_of(action, target, dry_run=False))

    def _usual(self, action: Action, target: Target) -> Preview:
        task = self.room.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
        flying = task.row.samples.in_flight if task is not None else 3
        if action.verb is Verb.CANCEL and action.manner == "score":
            return Preview(
                sentence=f"{flying} samples in flight are scored as they are,"
                " 21 queued samples are abandoned; then the task ends"
            )
        if action.verb is Verb.PAUSE and action.now:
            return Preview(sentence=f"{flying} samples in flight are held; 21 queued wait")
        return Preview(sentence=f"{flying} samples in flight finish; 21 queued wait")

    async def carry_out(
        self,
        plan: Plan,
        *,
        words: str = "",
        yes: bool = False,
        on_report: Callable[[OrderReport], None] | None = None,
    ) -> tuple[OrderReport, ...]:
        assert unmet(plan, words=words, yes=yes) is None
        self.carried.append((plan, words, yes))
        await self.gate.wait()
        reports: list[OrderReport] = []
        for index, step in enumerate(plan.steps):
            outcome = self.outcomes.get(step.target, Outcome(state=OrderState.DONE, message="done"))
            if step.refusal is not None:
                outcome = Outcome(state=OrderState.NO_CHANGE, message=step.refusal.sentence)
            report = OrderReport(index=index, step=step, outcome=outcome)
            if step.target in self.changing:
                self.changing.remove(step.target)
                report = OrderReport(
                    index=index, step=replace(step, moved=("pause",)), outcome=None
                )
            reports.append(report)
            if on_report is not None:
                on_report(report)
        return tuple(reports)
