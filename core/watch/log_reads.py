"""Reads of logs: which logs to read, the frames that ask for them, and their answers as events."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.ctl.decode import objects, parse_object, text
from core.ctl.log_answers import log_reading
from core.errors import AnswerMalformed
from core.events import LogRead, LogUnreadable
from core.fleet import Fleet
from core.fold.samples import MAX_ERRORED, MAX_FINISHED
from core.frames import Frame
from core.ids import MachineName, TaskKey
from core.model.log_summary import LogReading, LogSummary, UnreadLog
from core.model.task import Task, TaskState
from core.ports import Reply
from core.text import shown

MAX_LOCATION_LENGTH = 4_096
"""Maximum characters of a log's location; a log with a longer one is not read."""
MAX_BATCH_LOGS = 50
"""Logs that one start of Inspect reads."""
_MAX_BATCH_BYTES = 40_000
"""Bytes of all locations of a batch as JSON: its frame's head must stay under 64 KiB."""
_MAX_PYTHONS = 5
_MAX_ROWS_BYTES = 8 * 1024 * 1024
"""Bytes of one answer from which on the logs come without sample rows."""
_ASKED_OF_LOGS: Mapping[str, object] = {
    "errored": MAX_ERRORED,
    "others": MAX_FINISHED,
    "bytes": _MAX_ROWS_BYTES,
}
_UNREAD = frozenset({TaskState.FINISHING, TaskState.UNREADABLE})


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """The answer to one read of logs.

    Attributes:
        logs: What came of each log, by its location; a log that is missing was not read.
        why: Why logs are missing, one harmless sentence; empty: none is missing.
    """

    logs: Mapping[str, LogReading]
    why: str = ""


def unread_tasks(fleet: Fleet, machine: MachineName) -> tuple[TaskKey, ...]:
    """Return the tasks of a machine that have ended but whose log was not read as final yet."""
    return tuple(
        key for key, task in fleet.tasks.items() if key.machine == machine and _wants(task)
    )


def _wants(task: Task) -> bool:
    if task.state not in _UNREAD or not has_location(task):
        return False
    return task.header is None or not task.header.is_final


def has_location(task: Task) -> bool:
    """Return whether a task has named a log that a frame can name too."""
    return 0 < len(task.row.log_location) <= MAX_LOCATION_LENGTH


def batch_of(fleet: Fleet, tasks: Sequence[TaskKey]) -> tuple[TaskKey, ...]:
    """Return the tasks whose logs one start of Inspect can read together with the first one's."""
    batch: list[TaskKey] = []
    size = 0
    for key in tasks[:MAX_BATCH_LOGS]:
        size += len(json.dumps(fleet.tasks[key].row.log_location))
        if batch and size > _MAX_BATCH_BYTES:
            break
        if _reader(fleet, key) == _reader(fleet, tasks[0]):
            batch.append(key)
    return tuple(batch)


def _reader(fleet: Fleet, task: TaskKey) -> tuple[object, ...]:
    location = fleet.tasks[task].row.log_location
    # A log at a URL may need the environment of its own eval, and a folder has its own secrets.
    is_remote = "://" in location and not location.startswith("file://")
    own = (task.process, location.rpartition("/")[0]) if is_remote else ()
    return (*pythons(fleet, task)[:1], _data_dir(fleet, task), *own)


def _data_dir(fleet: Fleet, task: TaskKey) -> str | None:
    """Return the folder under which a task's eval keeps its sample buffer; None: unknown."""
    process = fleet.processes.get(task.process)
    return None if process is None else process.data_dir


def pythons(fleet: Fleet, task: TaskKey) -> tuple[str, ...]:
    """Return the interpreters that may have the Inspect for a task's log, the likeliest first."""
    own = fleet.processes.get(task.process)
    others = [
        process
        for key, process in fleet.processes.items()
        if key.machine == task.machine and process is not own
    ]
    known = [process.python for process in (own, *reversed(others)) if process is not None]
    return tuple(dict.fromkeys(python for python in known if python))[:_MAX_PYTHONS]


def recovery_frame(fleet: Fleet, task: TaskKey) -> Frame:
    """Return the frame that has the log of a task recovered by Inspect."""
    asked = {"what": "recover", "log": fleet.tasks[task].row.log_location}
    return replace(_frame(fleet, task, asked), kind="recover")


def recovered_log_frame(fleet: Fleet, task: TaskKey, path: str) -> Frame:
    """Return the frame that asks for the recovered log of a task."""
    return _frame(fleet, task, {**_ASKED_OF_LOGS, "what": "summaries", "logs": [path]})


def logs_frame(fleet: Fleet, tasks: Sequence[TaskKey], *, with_samples: bool = True) -> Frame:
    """Return the frame that asks for the logs of tasks of one machine.

    Args:
        fleet: It lists all the tasks.
        tasks: A batch (see `batch_of`), not empty.
        with_samples: Whether their sample summaries are read, too.
    """
    return _frame(
        fleet,
        tasks[0],
        {
            **_ASKED_OF_LOGS,
            "what": "summaries" if with_samples else "headers",
            "logs": [fleet.tasks[key].row.log_location for key in tasks],
        },
    )


def _frame(fleet: Fleet, task: TaskKey, asked: Mapping[str, object]) -> Frame:
    """Return a frame of kind `logs`; the connection sets its id."""
    head = {
        "pid": task.process.pid,
        "start": task.process.start,
        "pythons": pythons(fleet, task),
        "data_dir": _data_dir(fleet, task),
        "asked": asked,
    }
    return Frame("logs", head)


def log_answer(reply: Reply) -> LogAnswer:
    """Decode the answer to a read of logs; a read that failed is an answer without logs."""
    if reply.error is not None:
        return LogAnswer({}, shown(reply.error, 300))
    try:
        body = parse_object(reply.body)
    except AnswerMalformed as error:
        return LogAnswer({}, error.message)
    logs = dict[str, LogReading]()
    for each in objects(body, "answers"):
        try:
            reading = log_reading(each)
        except AnswerMalformed:
            continue
        location = reading.location if isinstance(reading, UnreadLog) else reading.header.location
        logs[location] = reading
    return LogAnswer(logs, shown(text(body, "why") or "", 300))


def log_event(task: TaskKey, reading: LogReading, at: float) -> LogRead | LogUnreadable:
    """Return the event of a log that was read, or that can't be read.

    A header whose status is still `started` makes an event too: the fold knows whether the
    process is gone.
    """
    match reading:
        case LogSummary(header=header, samples=samples, trouble=trouble):
            return LogRead(at=at, task=task, header=header, samples=samples, trouble=trouble)
        case UnreadLog(reason=reason):
            return LogUnreadable(at=at, task=task, reason=reason)


def sample_frame(fleet: Fleet, task: TaskKey, asked: Mapping[str, Any]) -> Frame:
    """Return the frame that asks for one sample of a task's log.

    Args:
        fleet: It lists the task.
        task: The task.
        asked: The view that is asked for (see `core.watch.log_routes`).
    """
    location = fleet.tasks[task].row.log_location
    return _frame(
        fleet, task, {"what": "sample", "log": location, "bytes": _MAX_ROWS_BYTES, **asked}
    )


def sample_reply(reply: Reply) -> Reply:
    """Return the answer to a `sample_frame` in the form of the control channel's answers."""
    if reply.error is not None:
        return reply
    try:
        answers = objects(parse_object(reply.body), "answers")
    except AnswerMalformed as error:
        return Reply(at=reply.at, took=reply.took, status=None, error=error.message, body=b"")
    for answer in answers:
        status, body = answer.get("status"), text(answer, "body")
        if isinstance(status, int) and body is not None:
            return Reply(
                at=reply.at, took=reply.took, status=status, error=None, body=body.encode()
            )
    why = "the log script sent no sample"
    return Reply(at=reply.at, took=reply.took, status=None, error=why, body=b"")
