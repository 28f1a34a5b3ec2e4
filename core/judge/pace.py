"""How fast a task goes and how long it has left. Pure numbers, no words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.model.sample import SampleStatus
from core.model.task import ProgressPoint, Task, TaskState

RATE_WINDOW = 120.0
"""Seconds that a recent rate looks back."""
_MIN_SPAN = 5.0
ENOUGH = 5
"""Finished samples that are needed before a time left is said at all."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds left: half of such tasks would end before `p50`, nine in ten before `p90`."""

    p50: float
    p90: float


def tokens_per_minute(trail: Sequence[ProgressPoint], until: float) -> float | None:
    """Return the recent rate of tokens.

    Args:
        trail: Points, oldest first.
        until: When the task was last looked at, Unix seconds at the desk: the last point holds
            up to then.

    Returns:
        Tokens a minute over the last two minutes; None while too little is known.
    """
    known = [point for point in trail if point.tokens is not None]
    if not known:
        return None
    last = known[-1]
    start = until - RATE_WINDOW
    first = known[0]
    for point in known:
        if point.at > start:
            break
        first = point
    seconds = until - max(first.at, start)
    if seconds < _MIN_SPAN or last.tokens is None or first.tokens is None:
        return None
    gained = last.tokens - first.tokens
    if first.at < start and last.at > first.at:
        # The window opens between two points: its share of what came between them.
        gained = round(gained * min(1.0, (last.at - start) / (last.at - first.at)))
        if last.at <= start:
            gained = 0
    return max(0.0, gained * 60.0 / seconds)


def time_left(task: Task, now: float) -> TimeLeft | None:
    """Return how long a task has left, as a range that knows the long tail.

    It is built from how long its newest finished samples took and how many run at once: what
    waits shares the running places, what runs is expected to need what is usual beyond its
    present age, and the last to start may be a slow one.

    Args:
        task: Its newest row and samples.
        now: Unix seconds at the desk; the eval's clock is reckoned from the last look.

    Returns:
        None while too few samples have finished, while nothing runs, or while it is held.
    """
    row = task.row
    if task.state is not TaskState.RUNNING or row.paused:
        return None
    total, flying = row.samples.total, row.samples.in_flight
    left = total - row.samples.completed - row.samples.errored - row.samples.cancelled
    if flying is None or flying <= 0 or left <= 0:
        return None
    took = durations(task)
    if len(took) < ENOUGH:
        return _by_rate(task, left, now)
    waiting = max(0, left - flying)
    mean = sum(took) / len(took)
    typical, slow = quantile(took, 0.5), quantile(took, 0.9)
    rest = [_remaining(took, age) for age in ages(task, now)[:flying]]
    rest += [mean / 2] * (flying - len(rest))
    shared = (waiting * mean + sum(rest)) / flying
    longest = max(rest)
    spread = _spread(took, mean) / max(1.0, waiting**0.5)
    p50 = max(shared, longest if not waiting else typical)
    p90 = max(shared * (1 + spread) + (slow if waiting else 0.0), longest + slow - typical, p50)
    return TimeLeft(p50, p90)


def durations(task: Task) -> list[float]:
    """Return how long the known finished samples took, seconds, shortest first."""
    took = list[float]()
    for sample in task.samples.values():
        if sample.status != SampleStatus.COMPLETED:
            continue
        if sample.started_at is not None and sample.completed_at is not None:
            seconds = sample.completed_at - sample.started_at
        elif sample.total_time is not None:
            seconds = sample.total_time
        else:
            continue
        if 0 <= seconds < float("inf"):
            took.append(seconds)
    return sorted(took)


def ages(task: Task, now: float) -> list[float]:
    """Return how long the running samples have run, seconds, oldest first."""
    if task.samples_as_of is None or task.samples_heard_at is None:
        return []
    clock = task.samples_as_of + max(0.0, now - task.samples_heard_at)
    running = (
        clock - sample.started_at
        for sample in task.samples.values()
        if sample.status == SampleStatus.RUNNING and sample.started_at is not None
    )
    return sorted((max(0.0, age) for age in running), reverse=True)


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """Return a quantile of values that are in order, between its two neighbours."""
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _remaining(took: Sequence[float], age: float) -> float:
    """What one that has run for `age` still needs: the mean of those that took longer.

    One that is older than all of them is expected to need half its age again.
    """
    longer = [seconds - age for seconds in took if seconds > age]
    return sum(longer) / len(longer) if longer else age / 2


def _spread(took: Sequence[float], mean: float) -> float:
    if mean <= 0:
        return 0.0
    variance = sum((seconds - mean) ** 2 for seconds in took) / len(took)
    return 1.28 * math.sqrt(variance) / mean


def _by_rate(task: Task, left: int, now: float) -> TimeLeft | None:
    """Without rows: from how fast samples were done since the trail began."""
    if task.samples or len(task.trail) < 2:  # noqa: PLR2004 - two ends
        return None
    first, last = task.trail[0], task.trail[-1]
    done = last.done - first.done
    seconds = max(now, last.at) - first.at
    if done < ENOUGH or seconds <= 0:
        return None
    even = left * seconds / done
    return TimeLeft(even, even * (1 + 1.28 / done**0.5) + seconds / done)
