"""The durations of finished calls of a task, as two readings after each other show them."""

from collections.abc import Iterable, Mapping

from core.model.sample import Activity, Sample, SampleId

MAX_CALLS = 200
"""Newest durations that are kept of each type of call."""

MAX_GAP_S = 60.0
"""A call that ended in a longer time without a reading has an unknown duration."""

_TYPES = frozenset({"model", "tool"})


def with_finished_calls(
    calls: Mapping[str, tuple[float, ...]],
    before: Mapping[SampleId, Sample],
    rows: Iterable[Sample],
    read_at: float | None,
) -> Mapping[str, tuple[float, ...]]:
    """Return the durations with those of the calls that have ended since `before`, seconds.

    A call that began and ended between two readings is not known. `read_at` is when `before` was
    read, Unix seconds on the eval's clock; None: unknown.
    """
    new: dict[str, list[float]] = {}
    for row in rows:
        known = before.get((row.sample_id, row.epoch))
        if known is None or known is row or known.activity is None:
            continue
        ended = _ended(known.activity, row, read_at)
        if ended is not None:
            new.setdefault(known.activity.type, []).append(ended)
    if not new:
        return calls
    return {
        **calls,
        **{name: (*calls.get(name, ()), *took)[-MAX_CALLS:] for name, took in new.items()},
    }


def _ended(call: Activity, row: Sample, read_at: float | None) -> float | None:
    """Return how long a call took that the new row no longer shows, seconds; None: unknown."""
    if call.type not in _TYPES or call.started_at is None:
        return None
    now = row.activity
    if now is not None and (now.type, now.started_at) == (call.type, call.started_at):
        return None
    began = now.started_at if now is not None else None
    ended = began or row.completed_at or row.last_activity_at
    if ended is None or ended <= call.started_at:
        return None
    if read_at is not None and ended - read_at > max(MAX_GAP_S, (ended - call.started_at) / 2):
        return None  # a link was down, or the desk slept: it may have ended long before
    return ended - call.started_at
