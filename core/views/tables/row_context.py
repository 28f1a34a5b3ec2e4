"""A task or sample with all that its row needs: its process, its machine and the time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from core.fleet import Fleet
from core.fold.operations import operations_of
from core.ids import TaskKey
from core.judge.pace import TimeLeft, time_left
from core.model.action import Verb
from core.model.finding import Finding
from core.model.machine import Machine
from core.model.operation import Operation
from core.model.order import OrderState
from core.model.process import Process, ProcessState
from core.model.sample import Sample
from core.model.task import Task, TaskState
from core.views.findings.of_rows import finding_of_samples

STALE_AFTER_S = 60.0
"""Seconds after which a row of a live process is marked as old."""


EstimateTimeLeft = Callable[[Task, float], TimeLeft | None]
"""(task, Unix seconds at the desk) -> the task's time left, as `core.judge.pace.time_left`."""


class TaskLine(NamedTuple):
    """A task with its process and its machine.

    A tuple, since a thousand of them are made ten times a second.

    Attributes:
        now: Unix seconds at the desk.
        estimate: Returns the task's time left.
        is_cancelling: Whether evalroom sent a cancel for this attempt of it.
        finding: The worst open finding of it and its samples; None: none, or not looked up.
    """

    task: Task
    process: Process | None
    machine: Machine | None
    now: float
    estimate: EstimateTimeLeft = time_left
    is_cancelling: bool = False
    finding: Finding | None = None

    @property
    def is_reached(self) -> bool:
        """Whether its machine can be reached now."""
        return self.machine is None or self.machine.link.is_alive

    @property
    def is_known(self) -> bool:
        """Whether its state is known now: it is over, or its machine can be reached."""
        return self.task.is_over or self.is_reached

    @property
    def process_state(self) -> ProcessState | None:
        """The state of its process; None: the process is not known."""
        return self.process.state if self.process is not None else None

    @property
    def age(self) -> float:
        """Seconds since it was last read."""
        return max(0.0, self.now - self.task.heard_at)

    @property
    def clock(self) -> float | None:
        """The time now on the eval's own clock, Unix seconds; None: unknown.

        It stops while the machine can't be reached, when the process ends, and a minute after
        the last read.
        """
        ended = self.process.ended_at if self.process is not None else None
        now = self.now if ended is None else min(self.now, ended)
        return eval_clock(self.task, now, runs=self.is_reached)

    @property
    def is_gone(self) -> bool:
        """Whether its process is gone; then no sample of it runs, even if its last row says so."""
        return self.process_state is ProcessState.GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLine:
    """A sample with what its row needs.

    Attributes:
        sample: The sample.
        clock: The time on the eval's clock, Unix seconds; None: unknown.
        gone: Whether its process is gone.
        is_known: Whether its state is known now: it has ended, or its machine can be reached.
        operation: What it does by its eval's trace, if the eval reports no activity of it.
        finding: Its worst open finding.
        now: Unix seconds at the desk.
    """

    sample: Sample
    clock: float | None
    gone: bool
    is_known: bool = True
    operation: Operation | None = None
    finding: Finding | None = None
    now: float = 0.0

    @classmethod
    def of(cls, fleet: Fleet, task: TaskLine, sample: Sample) -> "SampleLine":
        """Return the line of a sample of a task."""
        (line,) = sample_lines(fleet, task, (sample,))
        return line


def sample_lines(fleet: Fleet, task: TaskLine, samples: Iterable[Sample]) -> Iterator[SampleLine]:
    """Yield the lines of samples of a task, in their order."""
    clock, gone, is_known = task.clock, task.is_gone, task.is_known
    operations = operations_of(fleet, task.task)
    found = finding_of_samples(fleet, task.task.key)
    for sample in samples:
        yield SampleLine(
            sample=sample,
            clock=clock,
            gone=gone,
            is_known=is_known or sample.has_ended,
            operation=None
            if sample.activity is not None
            else operations.get((sample.sample_id, sample.epoch)),
            finding=found.get((sample.sample_id, sample.epoch)),
            now=task.now,
        )


def eval_clock(task: Task, now: float, *, runs: bool) -> float | None:
    """Return the time on the eval's own clock, computed from the last read of its samples."""
    if task.samples_as_of is None or task.samples_heard_at is None:
        return None
    past = min(max(0.0, now - task.samples_heard_at), STALE_AFTER_S) if runs else 0.0
    return task.samples_as_of + past


def task_line(
    fleet: Fleet, key: TaskKey, now: float, estimate: EstimateTimeLeft = time_left
) -> TaskLine | None:
    """Return a task's line; None where the fleet has no such task."""
    task = fleet.tasks.get(key)
    if task is None:
        return None
    process = fleet.processes.get(key.process)
    machine = fleet.machines.get(key.machine)
    is_cancelling = (key, task.row.eval_id) in _cancelled(fleet)
    return TaskLine(task, process, machine, now, estimate, is_cancelling)


def task_lines(
    fleet: Fleet, now: float, estimate: EstimateTimeLeft = time_left
) -> Iterator[TaskLine]:
    """Yield the line of every task, in the fleet's order."""
    cancelled = _cancelled(fleet)
    for key, task in fleet.tasks.items():
        process_key = key.process
        process = fleet.processes.get(process_key)
        machine = fleet.machines.get(process_key.machine)
        is_cancelling = bool(cancelled) and (key, task.row.eval_id) in cancelled
        yield TaskLine(task, process, machine, now, estimate, is_cancelling)


def _cancelled(fleet: Fleet) -> frozenset[tuple[TaskKey, str]]:
    """Return the attempts of tasks for which a cancel was sent, or may have been."""
    return frozenset(
        (order.target, str(order.basis.get("eval id")))
        for order in fleet.orders
        if order.action.verb is Verb.CANCEL
        and order.state in _SENT
        and isinstance(order.target, TaskKey)
    )


_SENT = frozenset({OrderState.SENDING, OrderState.DONE, OrderState.UNKNOWN})
_HELPLESS = frozenset({ProcessState.STARVED, ProcessState.HEADLESS})


def trouble_rank(line: TaskLine) -> int:  # noqa: PLR0911 - a ladder reads best as one
    """Return the place of a task when those in trouble come first; 0 is the most urgent."""
    task = line.task
    state = task.state
    if state is TaskState.LOST:
        return 0
    if state is TaskState.ERROR:
        return 1
    if state is TaskState.CANCELLED:
        return 7
    if state is TaskState.SUCCESS:
        return 8
    if state is TaskState.UNREADABLE:
        return 2
    if not line.is_reached:
        return 5
    if line.process_state in _HELPLESS:
        return 0
    if state is TaskState.FINISHING:
        return 6 if task.header_error is None else 2
    row = task.row
    return 3 if row.samples.errored or row.paused or row.resolving or row.refusals else 4
