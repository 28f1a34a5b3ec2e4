"""Log headers: which of them to read, and how to decode one."""

from core.ctl.decode import count, inner, parse_object, text
from core.ctl.envelopes import header_metrics
from core.errors import AnswerMalformed
from core.events import LogRead, LogUnreadable
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, TaskKey
from core.model.log_summary import LogHeader
from core.model.task import Task, TaskState
from core.ports import Reply
from core.text import shown

MAX_LOCATION_LENGTH = 4_096
"""Maximum characters of a log's location; a log with a longer one is not read."""
_FINAL = frozenset({"success", "error", "cancelled"})


def unread_tasks(fleet: Fleet, machine: MachineName) -> tuple[TaskKey, ...]:
    """Return the tasks of a machine that have ended but whose log was not read as final yet."""
    return tuple(
        key for key, task in fleet.tasks.items() if key.machine == machine and _wants(task)
    )


def _wants(task: Task) -> bool:
    if task.state is not TaskState.FINISHING:
        return False
    if not 0 < len(task.row.log_location) <= MAX_LOCATION_LENGTH:
        return False
    return task.header is None or task.header.status not in _FINAL


def header_frame(fleet: Fleet, task: TaskKey) -> Frame:
    """Return the frame that requests a task's log header; the connection sets its id."""
    known = fleet.tasks[task]
    return Frame(
        "header",
        {
            "location": known.row.log_location,
            "pid": task.process.pid,
            "start": task.process.start,
        },
    )


def header_event(fleet: Fleet, task: TaskKey, reply: Reply, at: float) -> LogRead | LogUnreadable:
    """Return the event of a reply: the log's header, or why it can't be read.

    A header whose status is still `started` makes an event too: the fold knows whether the
    process is gone.
    """
    known = fleet.tasks.get(task)
    location = known.row.log_location if known is not None else ""
    if reply.error is not None or reply.status != 0:
        said = reply.error or f"inspect log dump exited with status {reply.status}"
        return LogUnreadable(at=at, task=task, reason=shown(said, 300))
    try:
        header = read_header(reply.body, location)
    except AnswerMalformed as error:
        return LogUnreadable(at=at, task=task, reason=error.message)
    return LogRead(at=at, task=task, header=header)


def read_header(body: bytes, location: str) -> LogHeader:
    """Decode the output of `inspect log dump --header-only` (EvalLog without samples).

    Raises:
        AnswerMalformed: The output is not such a document.
    """
    document = parse_object(body)
    status = text(document, "status")
    if status is None:
        raise AnswerMalformed("the log header has no status")
    results = inner(document, "results")
    return LogHeader(
        location=location,
        status=status,
        eval_id=text(inner(document, "eval"), "eval_id") or "",
        metrics=header_metrics(results),
        completed_samples=count(results, "completed_samples"),
        total_samples=count(results, "total_samples"),
        has_error=document.get("error") is not None,
    )
