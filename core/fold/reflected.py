"""What of an event is in the fleet: it may be of another attempt, or beyond a limit."""

from dataclasses import replace

from core.events import (
    Event,
    LogRead,
    LogUnreadable,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.task import Task
from core.task_events import CausesSeen


def _is_reflected(fleet: Fleet, event: Event) -> bool:
    # The events of machines, orders, runs and the operator are never dropped.
    match event:
        case ProcessSeen() | TasksSeen() | ReadFailed():
            return event.process in fleet.processes
        case ProcessGone(process=process):
            return process in fleet.processes and fleet.is_gone(process)
        case SamplesSeen() | CausesSeen() | ScoreSeen() | LogRead() | LogUnreadable():
            task = fleet.tasks.get(event.task)
            return task is not None and _is_in(task, event)
        case _:
            return True


def _is_in(
    task: Task, event: SamplesSeen | CausesSeen | ScoreSeen | LogRead | LogUnreadable
) -> bool:
    match event:
        case SamplesSeen(eval_id=eval_id) | CausesSeen(eval_id=eval_id):
            return task.row.eval_id == eval_id and task.logged is None
        case ScoreSeen():
            return True
        case LogRead(header=header):
            return task.header == header
        case LogUnreadable(reason=reason):
            return task.header_error == reason


def reflected(fleet: Fleet, event: Event) -> Event | None:
    """Return the part of an event that the fleet right after it shows; None: it was dropped.

    Only that part may be reported.
    """
    if not _is_reflected(fleet, event):
        return None
    if not isinstance(event, TasksSeen):
        return event
    kept = tuple(row for row in event.rows if TaskKey(event.process, row.task_id) in fleet.tasks)
    return event if len(kept) == len(event.rows) else replace(event, rows=kept)
