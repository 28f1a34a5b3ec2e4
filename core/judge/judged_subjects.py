"""What may show other signs after an event than before, and where judging goes on. Pure."""

from collections.abc import Iterator, Mapping
from typing import Literal

from core.events import (
    DeadEvalFound,
    Event,
    LinkChanged,
    LogRead,
    LogUnreadable,
    MachineRead,
    OperationsSeen,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    SamplesSeen,
    TasksSeen,
    TimePassed,
)
from core.fleet import Fleet
from core.fold.immutable import with_item
from core.ids import ProcessKey, TaskKey
from core.model.suspicion import Subject

FLEET_INTERVAL_S = 5.0
"""The fleet as a whole is judged at most this often, seconds."""

LATE_S = 60.0
"""An event may be so much older than the newest one: the frames of a machine wait for their turn,
and those of others do not."""

Scope = Literal["task", "process", "machine", "fleet"]


def subjects(fleet: Fleet, event: Event) -> Iterator[tuple[Scope, Subject]]:
    """Yield what may show other signs after an event than before."""
    match event:
        case SamplesSeen() | LogRead() | LogUnreadable():
            yield "task", event.task
        case ReadsUnchanged():
            yield from _of_unchanged(fleet, event)
        case (
            TasksSeen()
            | ProcessSeen()
            | ProcessGone()
            | ReadFailed()
            | OperationsSeen()
            | DeadEvalFound()
        ):
            yield "process", event.process
            for task in _tasks_of(fleet, event.process):
                yield "task", task
        case MachineRead() | LinkChanged():
            yield "machine", event.machine
        case TimePassed():
            for name in fleet.machines:
                yield "machine", name
        case _:
            pass


def is_fleet_due(fleet: Fleet, event: Event) -> bool:
    """Whether the fleet as a whole is judged now; also after the desk's clock was set back."""
    return not -LATE_S <= event.at - fleet.judged_at < FLEET_INTERVAL_S


def _of_unchanged(fleet: Fleet, event: ReadsUnchanged) -> Iterator[tuple[Scope, Subject]]:
    """Yield what may show other signs because time went by."""
    due = fleet.quiet_until
    tasks = dict.fromkeys(key for key, _ in event.samples)
    for process, _ in event.tasks:
        if event.at >= due.get(process, 0.0):
            yield "process", process
        tasks.update(dict.fromkeys(_tasks_of(fleet, process)))
    for task in tasks:
        if event.at >= due.get(task, 0.0):
            yield "task", task


def _tasks_of(fleet: Fleet, key: ProcessKey) -> tuple[TaskKey, ...]:
    """Return the tasks of a process; those first that the last event left out."""
    process = fleet.processes.get(key)
    if process is None:
        return ()
    start = fleet.judged_to.get(key, 0)
    return process.tasks[start:] + process.tasks[:start] if start else process.tasks


def stopped_at(fleet: Fleet, event: Event, subject: Subject) -> Mapping[ProcessKey, int]:
    """Return where the next event of each process begins, after one that stopped at a subject."""
    key = getattr(event, "process", None)
    process = fleet.processes.get(key) if isinstance(key, ProcessKey) else None
    if process is None or not isinstance(subject, TaskKey):
        return fleet.judged_to
    return with_item(fleet.judged_to, process.key, process.tasks.index(subject))
