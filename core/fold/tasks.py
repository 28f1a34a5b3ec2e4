"""Changes of tasks. Only its log proves how a task ended."""

from core.events import LogRead, LogUnreadable, TasksSeen
from core.fold.immutable import with_fields
from core.fold.samples import with_logged_samples
from core.ids import TaskKey
from core.model.log_summary import LogHeader
from core.model.task import ProgressPoint, Task, TaskRow, TaskState

MAX_TRAIL_POINTS = 240
"""Progress points of a task in memory at most; with more, the older half is thinned out."""

_PROVED = {
    "success": TaskState.SUCCESS,
    "error": TaskState.ERROR,
    "cancelled": TaskState.CANCELLED,
}


def settled(task: Task, *, gone: bool, at: float, ended: bool) -> Task:
    """Return the task in the state that its row, its log and its process prove.

    Args:
        task: The task with its newest row, header and header error.
        gone: Whether its process is gone.
        at: Now, Unix seconds at the desk.
        ended: Whether its process or its row says that it has ended.
    """
    state = _state(task, gone=gone, ended=ended)
    ended_at = (task.ended_at or at) if state is not TaskState.RUNNING else None
    if state is task.state and ended_at == task.ended_at:
        return task
    return with_fields(task, state=state, ended_at=ended_at)


def _state(task: Task, *, gone: bool, ended: bool) -> TaskState:
    if not ended:
        return TaskState.RUNNING
    if task.header is not None:
        proved = _PROVED.get(task.header.outcome)
        if proved is not None:
            return proved
        if not gone:
            return TaskState.FINISHING
        return TaskState.LOST if task.header.status == "started" else TaskState.UNREADABLE
    if task.header_error is not None or (gone and not task.row.log_location):
        return TaskState.UNREADABLE
    return TaskState.FINISHING


def see_row(known: Task | None, key: TaskKey, row: TaskRow, event: TasksSeen) -> Task:
    """Return the task with its newest row, not settled yet; a new attempt is a new `Task`."""
    if known is None or known.row.eval_id != row.eval_id:
        return Task(
            key=key,
            row=row,
            state=TaskState.RUNNING,
            as_of=event.as_of,
            heard_at=event.at,
            seen_at=event.at if known is None else known.seen_at,
            trail=(_point(row, event.at),),
        )
    same = row.raw == known.row.raw if row.raw else row == known.row
    return with_fields(
        known,
        row=known.row if same else row,
        as_of=event.as_of,
        heard_at=event.at,
        trail=known.trail if same else with_point(known.trail, _point(row, event.at)),
        first_done_s=known.first_done_s if same else _first_done(known, row, event.as_of),
    )


def with_point(trail: tuple[ProgressPoint, ...], point: ProgressPoint) -> tuple[ProgressPoint, ...]:
    """Return the trail with one more point, thinned out where it would exceed its limit.

    Of several equal points in a row only the first and the newest stay. After a step back of the
    desk's clock the trail starts over: its points would be in the future.
    """
    if trail and point.at < trail[-1].at:
        return (point,)
    if len(trail) > 1 and _same(trail[-1], point) and _same(trail[-2], point):
        return (*trail[:-1], point)
    if len(trail) < MAX_TRAIL_POINTS:
        return (*trail, point)
    half = MAX_TRAIL_POINTS // 2
    return (*trail[:half:2], *trail[half:], point)


def with_header(task: Task, event: LogRead, *, gone: bool, offset: float) -> Task:
    """Return the task with what its log says; the log of another attempt is ignored.

    Args:
        task: The task.
        event: The log that was read.
        gone: Whether its process is gone.
        offset: The host's clock minus the desk's, seconds.
    """
    if is_of_another_attempt(task, event.header):
        return task
    read = with_fields(
        task,
        row=_named_by(task.row, event.header),
        header=event.header,
        header_error=None,
        samples_error=event.trouble,
        heard_at=max(task.heard_at, event.at),
    )
    if event.samples is not None:
        read = with_logged_samples(read, event.samples, event.at)
    ended = gone or task.state is not TaskState.RUNNING
    ended_task = settled(read, gone=gone, at=event.at, ended=ended)
    completed_at = event.header.completed_at if event.header.is_final else None
    if completed_at is None or ended_task.ended_at is None:
        return ended_task
    return with_fields(ended_task, ended_at=min(ended_task.ended_at, completed_at - offset))


def _named_by(row: TaskRow, header: LogHeader) -> TaskRow:
    """Return the row with the names in its log, if no room saw the eval; and with its log.

    The log that a recovery wrote takes the place of the old one.
    """
    if header.location != row.log_location and row.log_location:
        row = with_fields(row, log_location=header.location)
    if row.eval_id or not header.eval_id:
        return row
    return with_fields(
        row,
        eval_id=header.eval_id,
        task=header.task or row.task,
        model=header.model,
        started_at=header.started_at,
    )


def is_of_another_attempt(task: Task, header: LogHeader) -> bool:
    """Return whether a log was written by another attempt of the task than its newest one."""
    attempt, newest = header.eval_id, task.row.eval_id
    return bool(attempt and newest and attempt != newest)


def with_unreadable_log(task: Task, event: LogUnreadable, *, gone: bool) -> Task:
    """Return the task with a log that could not be read; an earlier result still counts."""
    if task.header is not None and task.header.status in _PROVED:
        return task
    unread = with_fields(task, header_error=event.reason)
    ended = gone or task.state is not TaskState.RUNNING
    return settled(unread, gone=gone, at=event.at, ended=ended)


def _point(row: TaskRow, at: float) -> ProgressPoint:
    samples = row.samples
    return ProgressPoint(
        at=at,
        done=samples.completed + samples.errored + samples.cancelled,
        errored=samples.errored,
        in_flight=samples.in_flight,
        tokens=row.total_tokens,
        refusals=row.refusals,
        retries=row.http_retries,
    )


def _same(one: ProgressPoint, other: ProgressPoint) -> bool:
    return _counts(one) == _counts(other)


def _counts(point: ProgressPoint) -> tuple[int | None, ...]:
    return (
        point.done,
        point.errored,
        point.in_flight,
        point.tokens,
        point.refusals,
        point.retries,
    )


MAX_UNSEEN_S = 120.0
"""A longer time without a poll hides when a first sample was done, seconds."""


def _first_done(known: Task, row: TaskRow, as_of: float) -> float | None:
    """Return after how many seconds the first sample of a task was completed, if just now.

    After a longer time without a poll nobody knows when that was.
    """
    if known.first_done_s is not None or known.row.samples.completed or not row.samples.completed:
        return known.first_done_s
    if row.started_at is None:
        return None
    took = max(0.0, as_of - row.started_at)
    return took if as_of - known.as_of <= max(MAX_UNSEEN_S, took / 10) else None
