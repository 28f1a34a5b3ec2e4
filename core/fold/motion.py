"""What a task's samples do over several readings: waits for retries, and what is usual."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType

from core.model.motion import Usual, WaitPoint
from core.model.sample import Sample, SampleId, SampleStatus

WAITS_KEPT_S = 600.0
"""How long a reading with a wait for a retry is kept, seconds of the eval's clock."""
POINT_EVERY_S = 10.0
"""Readings closer to each other than this are one point, seconds."""
UNREAD_AFTER_S = 120.0
"""Longer than this between two readings, what a sample did meanwhile is not known, seconds."""
MAX_RUN_AGAIN = 1_000
"""Samples that were run again that are kept of a task."""
RETRY_WAIT = "retry_wait"
"""The activity of a sample whose model call waits for its next attempt."""


def with_waits(
    waits: tuple[WaitPoint, ...], samples: Mapping[SampleId, Sample], at: float, retries: int | None
) -> tuple[WaitPoint, ...]:
    """Return the waits for retries with those of a reading; empty while no sample waited lately.

    Args:
        waits: Those of the readings before, oldest first.
        samples: The samples of the reading.
        at: Its time, Unix seconds on the eval's clock.
        retries: Retried HTTP requests of the task so far; None: unknown.
    """
    waiting = attempts = running = 0
    for row in samples.values():
        if row.status != SampleStatus.RUNNING:
            continue
        running += 1
        if row.activity is not None and row.activity.type == RETRY_WAIT:
            waiting += 1
            attempts += row.activity.count
    if not waits and not waiting:
        return waits
    return _with(waits, WaitPoint(at, running, waiting, attempts, retries))


def with_same_waits(waits: tuple[WaitPoint, ...], at: float) -> tuple[WaitPoint, ...]:
    """Return the waits after a reading that showed the same as the one before."""
    if not waits:
        return waits
    last = waits[-1]
    return _with(waits, WaitPoint(at, last.running, last.waiting, last.attempts, last.retries))


def _with(waits: tuple[WaitPoint, ...], point: WaitPoint) -> tuple[WaitPoint, ...]:
    if waits and point.at < waits[-1].at:
        return (point,) if point.waiting else ()  # the clock was set back
    if len(waits) > 1 and point.at - waits[-2].at < POINT_EVERY_S:
        waits = waits[:-1]
    kept = tuple(each for each in waits if point.at - each.at <= WAITS_KEPT_S)
    if not point.waiting and not any(each.waiting for each in kept):
        return ()
    return (*kept, point)


def time_in_waits(waits: tuple[WaitPoint, ...], window: float) -> float:
    """Return the part of the last `window` seconds that running samples waited for retries, 0 to 1.

    What was not read counts as not waited.
    """
    if not waits or window <= 0:
        return 0.0
    end = waits[-1].at
    waited = samples = seconds = 0.0
    for one, next_one in pairwise(waits):
        took = next_one.at - max(one.at, end - window)
        if took <= 0 or next_one.at - one.at > UNREAD_AFTER_S:
            continue
        waited += took * (one.waiting + next_one.waiting) / 2
        samples += took * one.running
        seconds += took
    return waited / samples * min(1.0, seconds / window) if samples else 0.0


def retries_in_waits(waits: tuple[WaitPoint, ...], window: float) -> int:
    """Return how many retries the waits of the last `window` seconds stand for."""
    known = [each for each in waits if waits[-1].at - each.at <= window]
    if not known:
        return 0
    first, last = known[0], known[-1]
    if first.retries is None or last.retries is None:
        return max(each.attempts for each in known)
    return max(0, last.retries - first.retries) + first.attempts


def with_usual(
    usual: Usual,
    samples: Mapping[SampleId, Sample],
    before: Mapping[SampleId, Sample],
    rows: Iterable[Sample],
) -> Usual:
    """Return what the finished samples took, computed again where one of `rows` has ended."""
    for row in rows:
        if row.has_ended:
            known = before.get((row.sample_id, row.epoch))
            if known is None or not known.has_ended:
                return _usual(samples)
    return usual


def with_run_again(
    known: Mapping[SampleId, tuple[int, bool]], rows: Iterable[Sample]
) -> Mapping[SampleId, tuple[int, bool]]:
    """Return the samples that were run again, by what new rows say of them."""
    new: dict[SampleId, tuple[int, bool]] = {}
    for row in rows:
        if row.retries:
            key, now = (row.sample_id, row.epoch), (row.retries, _has_passed(row))
            is_kept = key in known or len(known) + len(new) < MAX_RUN_AGAIN
            if is_kept and known.get(key) != now:
                new[key] = now
    return MappingProxyType({**known, **new}) if new else known


def with_requeued(
    known: frozenset[SampleId], before: Mapping[SampleId, Sample], rows: Iterable[Sample]
) -> frozenset[SampleId]:
    """Return the samples that were requeued: they had errored, and no longer have."""
    new: set[SampleId] = set()
    for row in rows:
        key = (row.sample_id, row.epoch)
        former = before.get(key)
        if former is None or former.status != SampleStatus.ERROR or key in known:
            continue
        if row.status in _RUNS_AGAIN and len(known) + len(new) < MAX_RUN_AGAIN:
            new.add(key)
    return known | new if new else known


_RUNS_AGAIN = frozenset({SampleStatus.QUEUED, SampleStatus.RUNNING, SampleStatus.COMPLETED})


def _has_passed(row: Sample) -> bool:
    return row.status == SampleStatus.COMPLETED and not row.has_error


def _usual(samples: Mapping[SampleId, Sample]) -> Usual:
    ended = [row for row in samples.values() if row.has_ended]
    done = [row for row in ended if row.status == SampleStatus.COMPLETED]
    took = sorted(_seconds(row) for row in done)
    return Usual(
        count=len(done),
        turns_p95=_p95([row.turn_count or 0 for row in done]),
        tokens_p95=_p95([row.total_tokens or 0 for row in done]),
        median_s=took[len(took) // 2] if took else 0.0,
        last_end=max((row.completed_at or 0.0 for row in ended), default=0.0),
    )


def _seconds(row: Sample) -> float:
    if row.total_time is not None:
        return max(0.0, row.total_time)
    if row.started_at is None or row.completed_at is None:
        return 0.0
    return max(0.0, row.completed_at - row.started_at)


def _p95(values: list[int]) -> int:
    values.sort()
    return values[min(len(values) - 1, int(0.95 * len(values)))] if values else 0
