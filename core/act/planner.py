"""Makes plans: reads each target and asks its process for a dry run."""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.act.concurrency import ConcurrencyLimit
from core.act.equivalent_command import equivalent
from core.act.local_preview import (
    LEFTOVER_AFTER_S,
    computed_preview,
    end_preview,
    interrupt_preview,
    recovery_preview,
)
from core.act.order_tracker import OrderTracker
from core.act.outcome import NOT_SENT
from core.act.pause_cost import TimeLimits
from core.act.plan import Plan, Step
from core.act.ports import ActionDesk
from core.act.preconditions import basis_of
from core.act.preview import Preview, config_preview, preview_of
from core.act.reader import FreshReader, Throttle
from core.act.refusals import (
    Refusal,
    fleet_refusal,
    kill_refusal,
    last_interrupt,
    signal_refusal,
    snapshot_refusal,
    unrecoverable_log,
)
from core.act.replies import body_of, why_untrusted
from core.act.requests import Request, request_of
from core.act.snapshot import TargetSnapshot
from core.act.target_expansion import ActionRequest, does_not_apply
from core.act.target_grammar import place_name
from core.act.target_labels import target_label, target_location
from core.act.undo import undo_action
from core.ctl.decode import parse_object
from core.ctl.features import Surface
from core.errors import (
    AnswerMalformed,
    RequestFailed,
    StorageError,
    TooBusy,
    Unsupported,
    UsageWrong,
)
from core.ids import ProcessKey, Target, TaskKey, process_of
from core.model.action import Action, Verb, offer_of, scope_of
from core.model.order import Order
from core.model.process import Process, ProcessState
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.ports import Reply

LOG_STATUS_TIMEOUT_S = 60.0
"""Seconds that reading the status of one log may take."""


@dataclass(frozen=True, slots=True)
class PlanningProgress:
    """How many targets of a plan are previewed, out of how many."""

    done: int
    of: int


class Planner:
    """Makes plans; sends nothing but reads and dry runs.

    Args:
        desk: Reads, and sends the dry runs.
        orders: Knows which interrupts were sent, and who this operator is.
        new_reader: Makes the reader of one plan.
        limit: How many processes of one machine are asked at once.
        runs: The ids of the runs that this operator's evalroom launched.
    """

    def __init__(
        self,
        desk: ActionDesk,
        orders: OrderTracker,
        *,
        new_reader: Callable[[], FreshReader],
        limit: ConcurrencyLimit,
        runs: Collection[str],
    ) -> None:
        self._desk = desk
        self._orders = orders
        self._new_reader = new_reader
        self._limit = limit
        self._runs = runs
        self._time_limits = TimeLimits(desk)

    def is_ours(self, process: Process) -> bool:
        """Return whether this operator's evalroom launched a process."""
        if process.run is None:
            return False
        run = self._desk.fleet.runs.get(process.run)
        return process.run in self._runs or (run is not None and run.is_ours)

    async def plan(
        self,
        title: str,
        requests: Sequence[ActionRequest],
        *,
        reason: str = "",
        on_progress: Callable[[PlanningProgress], None] | None = None,
        hurry: asyncio.Event | None = None,
    ) -> Plan:
        """Return the plan that carries the requests out.

        Args:
            title: What the plan is called, in a few words.
            requests: Pairs of an action and a target; the action is offered on the target's scope.
            reason: Why, in the operator's words.
            on_progress: Called with the progress after each target.
            hurry: Once it is set, reads no longer pause.

        Raises:
            UsageWrong: No request, or an action does not apply to its target.
        """
        if not requests:
            raise UsageWrong("nothing to act on", "select a row, or name a target")
        steps: dict[int, Step] = {}

        async def in_turn(process: ProcessKey, indexes: Iterable[int]) -> None:
            async with self._limit.on(process.machine):
                reader, throttle = self._new_reader(), Throttle(hurry)
                for index in indexes:
                    steps[index] = await self.step(
                        *requests[index], reader, throttle, reason=reason
                    )
                    if on_progress is not None:
                        on_progress(PlanningProgress(len(steps), len(requests)))

        async with asyncio.TaskGroup() as tasks:
            for process, indexes in by_process(target for _, target in requests).items():
                tasks.create_task(in_turn(process, indexes))
        return Plan(
            id=secrets.token_hex(6),
            title=title,
            action=requests[0][0],
            steps=tuple(steps[index] for index in range(len(requests))),
            reason=reason,
        )

    async def surface(self, process: ProcessKey) -> Surface | None:
        """Return a process's routes, read once; None: the process does not list them."""
        try:
            return await self._new_reader().surface(process, Throttle())
        except (RequestFailed, AnswerMalformed):
            return None

    async def step(
        self,
        action: Action,
        target: Target,
        reader: FreshReader,
        throttle: Throttle,
        *,
        reason: str,
        notes: bool = True,
    ) -> Step:
        """Return one target's step, from a fresh read.

        Args:
            action: The requested action.
            target: Its target.
            reader: Reads the target.
            throttle: Spaces the reads out.
            reason: Why, in the operator's words.
            notes: Whether to add the notes of a `pause now`; they cost more reads.

        Raises:
            UsageWrong: The action does not apply to the target.
        """
        blank = self._blank(action, target, reason)
        refusal = fleet_refusal(blank.offer, target, self._desk.fleet)
        if refusal is not None:
            return replace(blank, refusal=refusal)
        process = self._desk.fleet.processes[process_of(target)]
        try:
            snapshot = await reader.read(action, target, throttle)
            blank = replace(blank, basis=basis_of(action, target, snapshot))
            refusal = snapshot_refusal(blank.offer, action, target, snapshot, process)
            if refusal is not None:
                return replace(blank, refusal=refusal)
            found = await self._preview(blank, snapshot, process, throttle, notes=notes)
        except (RequestFailed, AnswerMalformed) as error:
            return replace(blank, refusal=_unanswered(error))
        if isinstance(found, Refusal):
            return replace(blank, refusal=found)
        if found.changes_nothing:
            return replace(blank, preview=found, refusal=Refusal("no change", found.sentence))
        row = snapshot.row(target)
        request = request_of(
            action,
            target,
            eval_id=row.eval_id if row is not None else "",
            dry_run=False,
            author=self._orders.instance.operator,
            reason=reason,
            log=row.log_location if row is not None else "",
        )
        is_over = bool(snapshot.rows) and not snapshot.running
        undo = undo_action(action, target, blank.basis, is_over=is_over)
        return replace(blank, preview=found, request=request, undo=undo)

    async def again(
        self, step: Step, reader: FreshReader, throttle: Throttle, *, reason: str
    ) -> Step:
        """Preview a step again, to compare it with the confirmed one; return the new step."""
        return await self.step(
            step.action, step.target, reader, throttle, reason=reason, notes=False
        )

    def _blank(self, action: Action, target: Target, reason: str) -> Step:
        """Return a step made from the fleet alone, without basis, preview and request."""
        fleet = self._desk.fleet
        scope = scope_of(target)
        offer = offer_of(action, scope)
        if offer is None:
            raise does_not_apply(action, scope)
        process = fleet.processes.get(process_of(target))
        machine = fleet.machines.get(process_of(target).machine)
        return Step(
            target=target,
            action=action,
            offer=offer,
            name=target_label(target, fleet),
            where=target_location(target, fleet),
            typed=place_name(target, fleet),
            command=equivalent(action, target, fleet, reason=reason),
            basis={},
            is_ours=process is not None and self.is_ours(process),
            is_production=machine is not None and machine.production,
        )

    async def _preview(
        self,
        step: Step,
        snapshot: TargetSnapshot,
        process: Process,
        throttle: Throttle,
        *,
        notes: bool,
    ) -> Preview | Refusal:
        action, target = step.action, step.target
        if isinstance(target, ProcessKey) and action.verb in {Verb.INTERRUPT, Verb.KILL}:
            return await self._signal(step, target, snapshot, process)
        if isinstance(target, TaskKey) and action.verb is Verb.RECOVER:
            header = await self._desk.log_header(target, deadline=LOG_STATUS_TIMEOUT_S)
            return unrecoverable_log(header) or recovery_preview(header)
        if not step.offer.dry_run:
            return computed_preview(action, target, snapshot)
        row = snapshot.row(target)
        request = request_of(
            action, target, eval_id=row.eval_id if row is not None else "", dry_run=True
        )
        reply = await self._dry_run(process.key, request)
        await throttle.after(reply.took)
        body = body_of(reply, step.offer.word, step.offer.needs)
        answer = parse_object(body)
        odd = why_untrusted(answer, dry_run=True, tells_changed=action.verb is not Verb.CONFIG)
        if odd is not None:
            return Refusal("refused", odd)
        if action.verb is Verb.CONFIG:
            return config_preview(action, body, answer, snapshot)
        preview = preview_of(action, target, answer, snapshot)
        if notes and action.now and not preview.changes_nothing:
            held = await self._time_limits.held_notes(target, snapshot, throttle)
            preview = replace(preview, notes=(*preview.notes, *held))
        return preview

    async def _dry_run(self, process: ProcessKey, request: Request) -> Reply:
        """Send a dry run. Without its answer nothing has changed, and nothing will be sent."""
        try:
            return await self._desk.send(process, request, deadline=REQUEST_TIMEOUT_S)
        except TooBusy:
            raise
        except RequestFailed as error:
            why = error.message.removeprefix(f"{NOT_SENT}: ")
            raise RequestFailed(f"its dry run got no answer: {why}", error.advice) from error

    # Signals

    async def _signal(
        self, step: Step, target: ProcessKey, snapshot: TargetSnapshot, process: Process
    ) -> Preview | Refusal:
        try:
            interrupts = await self._orders.interrupts()
        except StorageError as error:
            return Refusal(
                "refused",
                f"evalroom can't read earlier interrupts from the journal: {error.message}",
            )
        refusal = signal_refusal(step.action, target, snapshot, interrupts, self._desk.now())
        if refusal is not None:
            return refusal
        if step.action.verb is Verb.INTERRUPT:
            return interrupt_preview(snapshot, process, is_ours=step.is_ours)
        statuses = await self._log_statuses(process, snapshot)
        leftover = self._why_leftover(process, snapshot, interrupts)
        preview = end_preview(target, statuses, leftover=leftover)
        if isinstance(preview, Refusal):
            return preview
        return kill_refusal(snapshot, process, last_interrupt(process.key, interrupts)) or preview

    async def _log_statuses(
        self, process: Process, snapshot: TargetSnapshot
    ) -> Mapping[str, str | None]:
        """Return each log of a process with its own status; None: the status can't be read.

        Logs that only the fresh read lists have the status None too.
        """
        found: dict[str, str | None] = {}
        for key in process.tasks:
            task = self._desk.fleet.tasks.get(key)
            if task is not None:
                found[task.row.log_location] = await self._log_status(key)
        for row in snapshot.rows:
            found.setdefault(row.log_location, None)
        return found

    async def _log_status(self, key: TaskKey) -> str | None:
        try:
            return (await self._desk.log_header(key, deadline=LOG_STATUS_TIMEOUT_S)).status
        except RequestFailed:
            return None

    def _why_leftover(
        self, process: Process, snapshot: TargetSnapshot, interrupts: Sequence[Order]
    ) -> str | None:
        """Return why killing a process without final logs loses nothing; None: it may."""
        sent = last_interrupt(process.key, interrupts)
        if sent is None or snapshot.answers or process.state is not ProcessState.HEADLESS:
            return None
        if self._desk.now() - sent.at < LEFTOVER_AFTER_S:
            return None
        was_quiet = sent.basis.get("quiesced") is True and sent.basis.get("pending") == 0
        if not was_quiet:
            return None
        return (
            "It was interrupted, its control server is gone, and its last answer said that no"
            " sample was in flight and all finished samples were in the log, so nothing is lost"
        )


def by_process(targets: Iterable[Target]) -> Mapping[ProcessKey, list[int]]:
    """Return the indexes of the targets by their processes."""
    found: dict[ProcessKey, list[int]] = {}
    for index, target in enumerate(targets):
        found.setdefault(process_of(target), []).append(index)
    return found


def _unanswered(error: RequestFailed | AnswerMalformed) -> Refusal:
    if isinstance(error, Unsupported):
        return Refusal("unsupported", error.sentence)
    if isinstance(error, RequestFailed) and error.status is None:
        return Refusal("unreachable", error.sentence)
    return Refusal("refused", error.sentence)
