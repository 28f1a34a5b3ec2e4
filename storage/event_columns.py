"""The journal's columns for an event's machine, process and task."""

from core.events import (
    ClockMoved,
    ContentRevealed,
    DeadEvalFound,
    Dismissed,
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    LogUnreadable,
    MachineNamed,
    MachineRead,
    OperationsSeen,
    OrderEnded,
    OrderGiven,
    ProbeAnswered,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    RunChanged,
    SamplesSeen,
    ScoreSeen,
    SurfaceRead,
    TasksSeen,
    TimePassed,
)
from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted
from core.ids import ProcessKey, TaskKey
from core.task_events import CausesSeen, SpinUpTimed

EventColumns = tuple[str, int | None, str | None, str | None]
"""(machine, pid, start, task id); the machine is empty for events without one."""


def event_columns(event: Event) -> EventColumns:  # noqa: PLR0911 - one case per kind of subject
    """Return the columns of the machine, process or task that an event is about."""
    match event:
        case (
            MachineNamed(machine=machine)
            | LinkChanged(machine=machine)
            | LinkHeard(machine=machine)
            | ProbeAnswered(machine=machine)
            | ClockMoved(machine=machine)
            | MachineRead(machine=machine)
            | ProcessesCut(machine=machine)
            | ReadsUnchanged(machine=machine)
        ):
            return (str(machine), None, None, None)
        case (
            ProcessSeen(process=process)
            | ProcessGone(process=process)
            | DeadEvalFound(process=process)
            | TasksSeen(process=process)
            | ReadFailed(process=process)
            | OperationsSeen(process=process)
            | SurfaceRead(process=process)
            | Dismissed(process=process)
        ):
            return process_columns(process)
        case (
            SamplesSeen(task=task)
            | CausesSeen(task=task)
            | SpinUpTimed(task=task)
            | LogRead(task=task)
            | LogUnreadable(task=task)
            | ScoreSeen(task=task)
        ):
            return task_columns(task)
        case ContentRevealed(sample=sample):
            return task_columns(sample.task)
        case OrderGiven(order=order):
            return process_columns(order.address.process)
        case RunChanged(run=run):
            return (str(run.machine), None, None, None)
        case (
            TimePassed()
            | OrderEnded()
            | FindingsAcknowledged()
            | FindingsMerged()
            | FindingsMuted()
        ):
            return ("", None, None, None)


def process_columns(process: ProcessKey) -> EventColumns:
    """Return the columns of a process."""
    return (str(process.machine), process.pid, column_text(process.start), None)


def task_columns(task: TaskKey) -> tuple[str, int, str, str]:
    """Return the columns of a task."""
    process = task.process
    return (
        str(task.machine),
        process.pid,
        column_text(process.start),
        column_text(task.task_id),
    )


def column_text(text: str) -> str:
    """Return text from a host in a form that SQLite can store: lone surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
