"""From what is wanted to a plan: each target is looked at, and asked what it would do."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.act.concurrency import ConcurrencyLimit
from core.act.equivalent_command import equivalent
from core.act.local_preview import HUSK_AFTER, computed_preview, end_preview, interrupt_preview
from core.act.pause_cost import Limits
from core.act.plan import Plan, Step
from core.act.ports import ActionDesk
from core.act.preconditions import basis_of
from core.act.preview import Preview, config_preview, preview_of
from core.act.reader import FreshReader, Throttle
from core.act.refusals import (
    Refusal,
    against_end,
    against_signal,
    at_sight,
    last_interrupt,
    on_reading,
)
from core.act.replies import body_of, why_odd
from core.act.requests import request_of
from core.act.snapshot import TargetSnapshot
from core.act.target_expansion import ActionRequest, no_action_on
from core.act.target_labels import target_label, target_location
from core.act.undo import undo_action
from core.ctl.decode import parse_object
from core.ctl.features import Surface
from core.errors import AnswerMalformed, RequestFailed, StorageError, Unsupported, UsageWrong
from core.ids import ProcessKey, Target, TaskKey, process_of
from core.model.action import Action, Verb, offer_of, scope_of
from core.model.order import Order
from core.model.process import Process, ProcessState
from core.watch.log_headers import read_header

DEADLINE = 15.0
"""Seconds that one dry run may take."""


@dataclass(frozen=True, slots=True)
class PlanningProgress:
    """How far the making of a plan is."""

    done: int
    of: int


class Planner:
    """Makes plans; sends nothing but reads and dry runs.

    Args:
        asker: The desk.
        is_ours: Whether this operator's evalroom launched a process.
        author: Who; it stands in what is sent, where the channel takes it.
        interrupts: Returns the interrupts that were ordered, newest first; raises StorageError.
    """

    def __init__(
        self,
        asker: ActionDesk,
        *,
        is_ours: Callable[[Process], bool],
        author: str,
        interrupts: Callable[[], Awaitable[Sequence[Order]]],
    ) -> None:
        self._asker = asker
        self._is_ours = is_ours
        self._author = author
        self.interrupts = interrupts
        self._surfaces: dict[ProcessKey, Surface] = {}
        self._limits = Limits(asker)
        self.lanes = ConcurrencyLimit()

    async def plan(
        self,
        title: str,
        wishes: Sequence[ActionRequest],
        *,
        reason: str = "",
        tell: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan that carries the wishes out.

        Args:
            title: What it is, in a few words.
            wishes: Each an action that is offered on its target's scope.
            reason: Why, in the operator's words.
            tell: Hears how far it is.
            hurry: Set, the asking goes on without pauses.

        Raises:
            UsageWrong: Nothing is wanted, or an action is none of its target's.
        """
        if not wishes:
            raise UsageWrong("there is nothing to act on", "select a row, or name a target")
        steps: dict[int, Step] = {}

        async def one_after_another(indexes: Iterable[int]) -> None:
            looks, pace = FreshReader(self._asker, self._surfaces), Throttle(hurry)
            for index in indexes:
                steps[index] = await self.step(*wishes[index], looks, pace, reason=reason)
                if tell is not None:
                    tell(PlanningProgress(len(steps), len(wishes)))

        async def in_its_lane(process: ProcessKey, indexes: Iterable[int]) -> None:
            async with self.lanes.to(process.machine):
                await one_after_another(indexes)

        async with asyncio.TaskGroup() as tasks:
            for process, indexes in by_process(wishes).items():
                tasks.create_task(in_its_lane(process, indexes))
        return Plan(
            id=secrets.token_hex(6),
            title=title,
            action=wishes[0][0],
            steps=tuple(steps[index] for index in range(len(wishes))),
            made_at=self._asker.now(),
            reason=reason,
        )

    async def surface(self, process: ProcessKey) -> Surface | None:
        """Return a process's routes, read once; None: it does not tell them."""
        try:
            return await self.looks().surface(process, Throttle())
        except (RequestFailed, AnswerMalformed):
            return None

    def looks(self) -> FreshReader:
        """Return fresh looks that share what is known of the processes' routes."""
        return FreshReader(self._asker, self._surfaces)

    async def step(
        self,
        action: Action,
        target: Target,
        looks: FreshReader,
        pace: Throttle,
        *,
        reason: str,
        notes: bool = True,
    ) -> Step:
        """Return one target's step, from a look of this moment.

        Args:
            action: What is wanted.
            target: Of what.
            looks: Gives the look.
            pace: Spaces what is asked.
            reason: Why, in the operator's words.
            notes: Whether the notes of a hard pause are wanted; they cost more reads.

        Raises:
            UsageWrong: The action is none of the target's.
        """
        blank = self._blank(action, target, reason)
        refusal = at_sight(blank.offer, target, self._asker.fleet)
        if refusal is not None:
            return replace(blank, refusal=refusal)
        process = self._asker.fleet.processes[process_of(target)]
        try:
            seen = await looks.seen(action, target, pace)
            blank = replace(blank, basis=basis_of(action, target, seen))
            refusal = on_reading(blank.offer, action, target, seen, process)
            if refusal is not None:
                return replace(blank, refusal=refusal)
            found = await self._preview(blank, seen, process, pace, notes=notes)
        except (RequestFailed, AnswerMalformed) as error:
            return replace(blank, refusal=_unanswered(error))
        if isinstance(found, Refusal):
            return replace(blank, refusal=found)
        if found.is_noop:
            return replace(blank, preview=found, refusal=Refusal("noop", found.sentence))
        row = seen.row(target)
        request = request_of(
            action,
            target,
            eval_id=row.eval_id if row is not None else "",
            dry_run=False,
            author=self._author,
            reason=reason,
        )
        is_over = bool(seen.rows) and not seen.running
        undo = undo_action(action, target, blank.basis, is_over=is_over)
        return replace(blank, preview=found, request=request, undo=undo)

    async def again(self, step: Step, looks: FreshReader, pace: Throttle, *, reason: str) -> Step:
        """Return a step as it stands at this moment, to compare with what was confirmed."""
        return await self.step(step.action, step.target, looks, pace, reason=reason, notes=False)

    def _blank(self, action: Action, target: Target, reason: str) -> Step:
        fleet = self._asker.fleet
        scope = scope_of(target)
        offer = offer_of(action, scope)
        if offer is None:
            raise no_action_on(action, scope)
        process = fleet.processes.get(process_of(target))
        machine = fleet.machines.get(process_of(target).machine)
        return Step(
            target=target,
            action=action,
            offer=offer,
            name=target_label(target, fleet),
            where=target_location(target, fleet),
            command=equivalent(action, target, fleet, reason=reason),
            basis={},
            is_ours=process is not None and self._is_ours(process),
            is_production=machine is not None and machine.production,
        )

    async def _preview(
        self, step: Step, seen: TargetSnapshot, process: Process, pace: Throttle, *, notes: bool
    ) -> Preview | Refusal:
        action, target = step.action, step.target
        if isinstance(target, ProcessKey) and action.verb in {Verb.INTERRUPT, Verb.END}:
            return await self._signal(step, target, seen, process)
        if not step.offer.dry_run:
            return computed_preview(action, target, seen)
        row = seen.row(target)
        request = request_of(
            action, target, eval_id=row.eval_id if row is not None else "", dry_run=True
        )
        reply = await self._asker.send(process.key, request, deadline=DEADLINE)
        await pace.after(reply.took)
        body = body_of(reply, step.offer.word, step.offer.needs)
        answer = parse_object(body)
        odd = why_odd(answer, dry_run=True, tells_changed=action.verb is not Verb.CONFIG)
        if odd is not None:
            return Refusal("refused", odd)
        if action.verb is Verb.CONFIG:
            return config_preview(action, body, answer, seen)
        preview = preview_of(action, target, answer, seen)
        if notes and action.now and not preview.is_noop:
            held = await self._limits.held_notes(target, seen, pace)
            preview = replace(preview, notes=(*preview.notes, *held))
        return preview

    async def _signal(
        self, step: Step, target: ProcessKey, seen: TargetSnapshot, process: Process
    ) -> Preview | Refusal:
        try:
            orders = await self.interrupts()
        except StorageError as error:
            return Refusal("refused", f"what was sent to it before is not known: {error.message}")
        refusal = against_signal(step.action, target, seen, orders, self._asker.now())
        if refusal is not None:
            return refusal
        if step.action.verb is Verb.INTERRUPT:
            return interrupt_preview(seen, process, is_ours=step.is_ours)
        statuses = await self._log_statuses(process, seen)
        preview = end_preview(target, statuses, husk=self._husk(process, seen, orders))
        if isinstance(preview, Refusal):
            return preview
        return against_end(seen, process, last_interrupt(process.key, orders)) or preview

    async def _log_statuses(
        self, process: Process, seen: TargetSnapshot
    ) -> Mapping[str, str | None]:
        """Read what each log of a process says of itself, from the log alone.

        What it lists now counts too, where the fleet does not know that task or that log yet.
        """
        found: dict[str, str | None] = {}
        for key in process.tasks:
            task = self._asker.fleet.tasks.get(key)
            if task is not None:
                found[task.row.log_location] = await self._log_status(key)
        for row in seen.rows:
            found.setdefault(row.log_location, None)
        return found

    async def _log_status(self, key: TaskKey) -> str | None:
        try:
            reply = await self._asker.header(key, deadline=60.0)
            if reply.error is not None or reply.status != 0:
                return None
            return read_header(reply.body, "").status
        except (RequestFailed, AnswerMalformed):
            return None

    def _husk(self, process: Process, seen: TargetSnapshot, orders: Sequence[Order]) -> str | None:
        """Return why killing a process without final logs loses nothing; None: it might."""
        sent = last_interrupt(process.key, orders)
        if sent is None or seen.answers or process.state is not ProcessState.HEADLESS:
            return None
        if self._asker.now() - sent.at < HUSK_AFTER:
            return None
        was_quiet = sent.basis.get("quiesced") is True and sent.basis.get("pending") == 0
        if not was_quiet:
            return None
        return (
            "it was interrupted, its control server is gone, and in its last answer it was"
            " quiesced with nothing waiting for the log: nothing is lost"
        )


def by_process(wishes: Sequence[ActionRequest]) -> Mapping[ProcessKey, list[int]]:
    """Return which of the wishes go to which process, by their indexes."""
    found: dict[ProcessKey, list[int]] = {}
    for index, (_, target) in enumerate(wishes):
        found.setdefault(process_of(target), []).append(index)
    return found


def _unanswered(error: RequestFailed | AnswerMalformed) -> Refusal:
    said = error.sentence
    if isinstance(error, Unsupported):
        return Refusal("unsupported", said)
    if isinstance(error, RequestFailed) and error.status is None:
        return Refusal("unreachable", said)
    return Refusal("refused", said)
