"""Merges the sample rows of a task, and bounds how many stay in memory."""

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from core.events import SamplesSeen
from core.fold.calls import with_finished_calls
from core.fold.immutable import with_fields
from core.fold.motion import with_requeued, with_run_again, with_usual, with_waits
from core.model.limits import ROW_UNIT_BYTES, units
from core.model.log_summary import LogSamples
from core.model.sample import NOT_STARTED, Sample, SampleCounts, SampleId, SampleStatus
from core.model.task import Task

MAX_FINISHED = 200
"""Newest finished rows that are kept for a task; the rest are counts."""
MAX_ERRORED = 1_000
"""Newest errored rows that are kept for a task."""
MAX_RUNNING = 2_000
"""Running rows that are kept for a task; an answer lists 500."""
MAX_WAITING = 200
"""Pending and queued rows that are kept for a task."""


def see_samples(task: Task, event: SamplesSeen) -> Task:
    """Return the task with these rows merged by (sample id, epoch).

    A row whose bytes are the same stays the same object, so that its drawn row can be reused. A
    full list replaces all known rows; a truncated full list replaces only the rows that such a
    list names first: the samples that have not ended.
    """
    if task.logged is not None:
        return task  # its log is newer than any look
    known = task.samples
    if not event.whole:
        merged = known.copy() if isinstance(known, MappingProxyType) else dict(known)
    elif event.truncated:
        merged = {key: row for key, row in known.items() if row.has_ended}
    else:
        merged = dict[SampleId, Sample]()
    for row in event.rows:
        key = (row.sample_id, row.epoch)
        before = known.get(key)
        if before is not None and _is_same(before, row):
            merged[key] = before
        else:
            merged[key] = row
    if len(merged) > MAX_FINISHED:
        merged = trimmed(merged.values())
    run_again = with_run_again(task.run_again, event.rows)
    size = task.sample_units
    if merged.keys() != known.keys() or any(len(row.raw) > ROW_UNIT_BYTES for row in event.rows):
        size = sum(units(row.raw) for row in merged.values())
    return with_fields(
        task,
        counts=event.counts,
        samples=MappingProxyType(merged),
        samples_as_of=event.as_of,
        samples_heard_at=event.at,
        samples_cut=max(0, event.counts.total - len(merged)),
        sample_units=size,
        calls=with_finished_calls(task.calls, known, event.rows, task.samples_as_of),
        waits=with_waits(task.waits, merged, event.as_of, task.row.http_retries),
        run_again=run_again,
        requeued=with_requeued(task.requeued, known, event.rows),
        run_again_at=task.run_again_at if run_again is task.run_again else event.at,
        usual=with_usual(task.usual, merged, known, event.rows),
        trouble="; ".join(event.malformed[:3]) or None,
    )


def with_logged_samples(task: Task, logged: LogSamples, at: float) -> Task:
    """Return the task with the samples of its log, in place of those of the last poll."""
    counts = logged.counts
    rows = logged.rows[: MAX_ERRORED + MAX_FINISHED]
    return with_fields(
        task,
        logged=replace(logged, rows=()),
        counts=SampleCounts(
            completed=counts.completed,
            error=counts.errored,
            cancelled=counts.cancelled,
            abandoned=counts.abandoned,
        ),
        samples=MappingProxyType({(row.sample_id, row.epoch): row for row in rows}),
        sample_units=sum(units(row.raw) for row in rows),
        samples_as_of=task.as_of if task.samples_as_of is None else task.samples_as_of,
        samples_heard_at=at,
        samples_cut=logged.cut + len(logged.rows) - len(rows),
        trouble=None,
    )


def trimmed(rows: Iterable[Sample]) -> dict[SampleId, Sample]:
    """Return the rows that are kept: running, first waiting, newest errored and finished."""
    running, waiting = list[Sample](), list[Sample]()
    errored, finished = list[Sample](), list[Sample]()
    for row in rows:
        if row.status in NOT_STARTED:
            waiting.append(row)
        elif row.status == SampleStatus.ERROR:
            errored.append(row)
        elif row.has_ended:
            finished.append(row)
        else:
            running.append(row)
    kept = [
        *running[:MAX_RUNNING],
        *waiting[:MAX_WAITING],
        *_newest(errored, MAX_ERRORED),
        *_newest(finished, MAX_FINISHED),
    ]
    return {(row.sample_id, row.epoch): row for row in kept}


def _newest(rows: list[Sample], limit: int) -> list[Sample]:
    if len(rows) <= limit:
        return rows
    return sorted(rows, key=lambda row: row.completed_at or 0.0)[-limit:]


def _is_same(before: Sample, row: Sample) -> bool:
    return before.raw == row.raw if row.raw else before == row
