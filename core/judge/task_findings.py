"""Findings about tasks: finished, lost, unreadable logs."""

from collections.abc import Iterable
from dataclasses import replace

from core.fleet import Fleet
from core.format import plural, score
from core.ids import TaskKey
from core.judge.finding_list import closed, open_finding, with_id
from core.model.finding import ACKNOWLEDGED, Finding, Severity
from core.model.task import Task, TaskCounts, TaskState
from core.text import shown

JUST_ENDED_S = 60.0
"""A task that has already ended when it is first seen is reported within this time of its end."""
MANY_ERRORS_SHARE = 0.1
"""Share of a task's samples from which errors are an alarm."""

_MAX_NAME_CHARACTERS = 60
_MAX_CAUSE_CHARACTERS = 100

_ENDED: dict[TaskState, tuple[str, Severity, str]] = {
    TaskState.SUCCESS: ("finished", "notice", "Success"),
    TaskState.ERROR: ("finished", "alarm", "Ended in error"),
    TaskState.CANCELLED: ("finished", "suspect", "Cancelled"),
    TaskState.LOST: ("lost", "alarm", "Lost"),
}


def judge_task(before: Fleet, after: Fleet, key: TaskKey, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed findings about a task."""
    task, known = after.tasks.get(key), before.tasks.get(key)
    if task is None or task is known:
        return
    if known is not None and known.row.eval_id != task.row.eval_id:
        yield from _superseded(after, key, at)
        known = None
        is_news = True
    else:
        is_news = known is not None
    ended = task.is_over and (known is None or known.state is not task.state)
    if (
        ended
        and task.state in _ENDED
        and (is_news or task.state is not TaskState.SUCCESS or _has_just_ended(task))
    ):
        yield from _ended(after, task, at)
    if ended or known is None or known.log_problem != task.log_problem:
        yield from _log(after, task, at)


def _superseded(after: Fleet, key: TaskKey, at: float) -> Iterable[Finding]:
    """Yield the open findings about the earlier attempt, closed."""
    for finding in after.findings:
        if finding.closed_at is None and finding.task == key:
            yield closed(finding, at)


def _identity(task: Task) -> str:
    process = task.key.process
    return f"{process.machine}:{process.pid}:{process.start}:{task.key.task_id}:{task.row.eval_id}"


def _has_just_ended(task: Task) -> bool:
    """Whether a task that was over when it was first seen had only just ended."""
    completed_at = task.row.completed_at
    return completed_at is not None and task.as_of - completed_at <= JUST_ENDED_S


def _ended(after: Fleet, task: Task, at: float) -> Iterable[Finding]:
    """Yield a finding about how a task ended, unless it is open already; close the older one.

    An error, a loss, and a success with many errored samples stay open until the operator
    acknowledges them.
    """
    prefix = f"end:{_identity(task)}:"
    finding_id = f"{prefix}{task.state}"
    for finding in after.findings:
        if finding.waits and finding.id.startswith(prefix) and finding.id != finding_id:
            yield closed(finding, at)
    known = with_id(after, finding_id)
    if known is None or known.acknowledged_at is None:
        yield _end(task, finding_id, at)


def _end(task: Task, finding_id: str, at: float) -> Finding:
    kind, severity, words = _ENDED[task.state]
    is_kept = task.state in {TaskState.ERROR, TaskState.LOST}
    counts = task.progress
    if task.state is TaskState.SUCCESS and counts.errored > 0:
        severity = _errors_severity(counts)
        is_kept = severity == "alarm"
    return Finding(
        id=finding_id,
        kind=kind,
        severity=severity,
        opened_at=at,
        closed_at=None if is_kept else at,
        is_kept=is_kept,
        machine=task.key.machine,
        task=task.key,
        text=f"{words}{_how(task)}",
        closes_when=ACKNOWLEDGED if is_kept else "",
    )


def _how(task: Task) -> str:
    samples, header = task.progress, task.header
    done = f"{samples.completed} of {plural(samples.total, 'sample')} done"
    parts = (
        (samples.errored, f"errored{_main_cause(task)}"),
        (samples.cancelled, "cancelled"),
        (samples.abandoned, task.missing_word),
    )
    done += "".join(f", {number} {word}" for number, word in parts if number)
    if task.has_polled_counts:
        done += " at the last poll"
    if task.state is TaskState.LOST:
        left = ""
        if header is not None and header.buffer is not None:
            held = plural(header.buffer.completed, "finished sample")
            left = f"; its buffer holds {held}: `inspect log recover` brings them into a log"
        return f": the process has ended, and the status of its log is still started ({done}){left}"
    if header is not None and header.metrics:
        metric = header.metrics[0]
        repeats = task.scored == (samples.completed, samples.total)
        over = (
            "" if task.scored is None or repeats else f" over {task.scored[0]} of {task.scored[1]}"
        )
        value = score(metric.value, metric.stderr)
        done = f"{shown(metric.name, _MAX_NAME_CHARACTERS)} {value}{over}, {done}"
    if header is not None and header.cause and not (task.logged and task.logged.errors):
        done += f"; {shown(header.cause, _MAX_CAUSE_CHARACTERS)}"
    return f": {done}"


def _main_cause(task: Task) -> str:
    """Return the most frequent cause of a task's errors, in brackets; empty: unknown."""
    if not task.errors:
        return ""
    first, *others = task.errors
    more = f" and {plural(len(others), 'other cause')}" if others else ""
    return f" ({shown(first.cause, _MAX_CAUSE_CHARACTERS)}{more})"


def _log(after: Fleet, task: Task, at: float) -> Iterable[Finding]:
    identity = f"log:{_identity(task)}"
    last = open_finding(after, identity)
    if task.log_problem is None or (task.is_over and task.state is not TaskState.UNREADABLE):
        if last is not None:
            yield closed(last, at)
        return
    again = " evalroom tries again." if task.row.log_location else ""
    text = f"The log can't be read: {task.log_problem}.{again}"
    if last is None:
        yield Finding(
            id=identity,
            kind="log",
            severity="suspect",
            opened_at=at,
            machine=task.key.machine,
            task=task.key,
            text=text,
            closes_when="the log can be read",
        )
    elif last.text != text:
        yield replace(last, text=text, changed_at=at)


def _errors_severity(samples: TaskCounts) -> Severity:
    share = samples.errored / samples.total if samples.total > 0 else 1.0
    return "alarm" if share >= MANY_ERRORS_SHARE else "suspect"
