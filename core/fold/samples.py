"""How the sample rows of a task are merged, and which of them stay in memory."""

from collections.abc import Iterable
from types import MappingProxyType

from core.events import SamplesSeen
from core.fold.immutable import with_fields
from core.model.sample import Sample, SampleId, SampleStatus
from core.model.task import Task

FINISHED_LIMIT = 200
"""Newest finished rows that are kept per task; the rest are counts."""
ERRORED_LIMIT = 1_000
"""Newest errored rows that are kept per task."""
WAITING_LIMIT = 200
"""Pending and queued rows that are kept per task."""

_WAITING = frozenset({SampleStatus.PENDING, SampleStatus.QUEUED})


def see_samples(task: Task, event: SamplesSeen) -> Task:
    """Return the task with these rows merged by (sample id, epoch).

    A row whose bytes are the same stays the same object, so that what is drawn from it can be
    kept too. A whole list replaces all that is known; a whole list that was cut replaces only
    what it would have named first: samples that have not ended.
    """
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
    if len(merged) > FINISHED_LIMIT:
        merged = trimmed(merged.values())
    return with_fields(
        task,
        counts=event.counts,
        samples=MappingProxyType(merged),
        samples_as_of=event.as_of,
        samples_heard_at=event.at,
        samples_cut=max(0, event.counts.total - len(merged)),
        trouble="; ".join(event.malformed[:3]) or None,
    )


def trimmed(rows: Iterable[Sample]) -> dict[SampleId, Sample]:
    """Return the rows that stay: running, newest errored and finished, first of the waiting."""
    running, waiting = list[Sample](), list[Sample]()
    errored, finished = list[Sample](), list[Sample]()
    for row in rows:
        if row.status in _WAITING:
            waiting.append(row)
        elif row.status == SampleStatus.ERROR:
            errored.append(row)
        elif row.has_ended:
            finished.append(row)
        else:
            running.append(row)
    kept = [
        *running,
        *waiting[:WAITING_LIMIT],
        *_newest(errored, ERRORED_LIMIT),
        *_newest(finished, FINISHED_LIMIT),
    ]
    return {(row.sample_id, row.epoch): row for row in kept}


def _newest(rows: list[Sample], limit: int) -> list[Sample]:
    if len(rows) <= limit:
        return rows
    return sorted(rows, key=lambda row: row.completed_at or 0.0)[-limit:]


def _is_same(before: Sample, row: Sample) -> bool:
    return before.raw == row.raw if row.raw else before == row
