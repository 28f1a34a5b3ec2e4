"""The rate of a task's tokens and an estimate of its time left. Pure."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from core.model.sample import SampleStatus
from core.model.task import ProgressPoint, Task, TaskState

RATE_WINDOW_S = 120.0
"""Length of the window of a recent rate."""
_MIN_SPAN = 5.0
_STEPS = 14
ENOUGH_SAMPLES = 5
"""Finished samples that are needed for an estimate of the time left."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds left: half of such tasks end before `p50`, nine in ten before `p90`."""

    p50: float
    p90: float


def tokens_per_minute(trail: Sequence[ProgressPoint], until: float) -> float | None:
    """Return the recent rate of tokens.

    Args:
        trail: Progress points, oldest first.
        until: When the task was last read, Unix seconds at the desk; the last point is valid
            until then.

    Returns:
        Tokens per minute over the last two minutes; None while too little is known.
    """
    known = [point for point in trail if point.tokens is not None]
    if not known:
        return None
    last = known[-1]
    start = until - RATE_WINDOW_S
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
        # The window starts between two points: count its share of the tokens between them.
        gained = round(gained * min(1.0, (last.at - start) / (last.at - first.at)))
        if last.at <= start:
            gained = 0
    return max(0.0, gained * 60.0 / seconds)


def time_left(task: Task, now: float) -> TimeLeft | None:
    """Return an estimate of a task's time left, as a range that allows for a long tail.

    It uses the durations of the newest finished samples and the number of samples in flight:
    first the time until no sample waits, then the time of the slowest of the last ones.

    Args:
        task: The task with its newest row and samples.
        now: Unix seconds at the desk; the eval's clock is computed from the last read.

    Returns:
        None while too few samples have finished, while none runs, or while the task is paused.
    """
    row = task.row
    if task.state is not TaskState.RUNNING or row.paused:
        return None
    total, flying = row.samples.total, row.samples.in_flight
    left = total - row.samples.completed - row.samples.errored - row.samples.cancelled
    if flying is None or flying <= 0 or left <= 0:
        return None
    took = durations(task)
    if len(took) < ENOUGH_SAMPLES:
        return _by_rate(task, left, now)
    usual = UsualDurations(took)
    waiting = max(0, left - flying)
    running = ages(task, now)[:flying]
    ending = _last_of(usual, running) if waiting <= flying and running else TimeLeft(0.0, 0.0)
    if not waiting and running:
        return ending
    if not waiting:
        return TimeLeft(usual.until_all_end(flying, 0.5), usual.until_all_end(flying, 0.9))
    worked = _worked_off(usual, running, flying=flying, waiting=waiting)
    return TimeLeft(max(worked.p50, ending.p50), max(worked.p90, ending.p90))


class UsualDurations:
    """The distribution of the durations of a task's samples, from those that finished.

    It adds one sample that took 1.5 times as long as the longest, because the few finished ones
    rarely include the slowest.

    Args:
        took: Durations in ascending order, seconds; at least one.
    """

    def __init__(self, took: Sequence[float]) -> None:
        self.took = [*took, took[-1] * 1.5]
        self.count = len(self.took)
        self.mean = max(1e-9, sum(took) / len(took))
        squares = sum((seconds - self.mean) ** 2 for seconds in took)
        self.spread = math.sqrt(squares / len(took))
        self._beyond = [0.0] * (self.count + 1)
        for place in range(self.count - 1, -1, -1):
            self._beyond[place] = self._beyond[place + 1] + self.took[place]

    def seconds_left(self, age: float) -> float:
        """Return the mean seconds left for a sample that has run for `age` seconds."""
        place = bisect_right(self.took, age)
        longer = self.count - place
        return self._beyond[place] / longer - age if longer else age / 2

    def chance_to_end(self, age: float, seconds: float) -> float:
        """Return the probability that a sample of this age ends within `seconds`.

        If it is older than all finished samples, the probability is 0.5 when `seconds` is its age.
        """
        running = self.count - bisect_right(self.took, age)
        if not running:
            return 1 - math.exp2(-seconds / max(age, 1e-9))
        return 1 - (self.count - bisect_right(self.took, age + seconds)) / running

    def mean_seconds_left(self) -> float:
        """Return the mean seconds left for a running sample of unknown age."""
        return (self.spread**2 + self.mean**2) / (2 * self.mean)

    def until_all_end(self, count: int, chance: float) -> float:
        """Return the seconds until all of `count` running samples end, at this probability."""
        if self._beyond[0] <= 0:
            return 0.0
        still = 1 - chance ** (1 / count)
        low, high = 0.0, self.took[-1]
        for _ in range(_STEPS):
            middle = (low + high) / 2
            place = bisect_right(self.took, middle)
            rest = self._beyond[place] - middle * (self.count - place)
            low, high = (middle, high) if rest / self._beyond[0] > still else (low, middle)
        return high


def _worked_off(
    usual: UsualDurations, running: Sequence[float], *, flying: int, waiting: int
) -> TimeLeft:
    """Return the time left while samples wait: until none waits, then until the last ends."""
    rest = sum(usual.seconds_left(age) for age in running)
    rest += (flying - len(running)) * usual.mean_seconds_left()
    empty = max(0.0, (rest + waiting * usual.mean) / flying - usual.mean_seconds_left())
    by_chance = usual.spread * math.sqrt(waiting + flying) / flying
    by_few_seen = usual.spread / math.sqrt(usual.count) * waiting / flying
    middle, late = usual.until_all_end(flying, 0.5), usual.until_all_end(flying, 0.9)
    wide = math.hypot(1.28 * by_chance, 1.28 * by_few_seen, late - middle)
    return TimeLeft(empty + middle, empty + middle + wide)


def _last_of(usual: UsualDurations, running: Sequence[float]) -> TimeLeft:
    """Return the time until the last of the running samples ends, from their ages."""

    def at(chance: float) -> float:
        low, high = 0.0, usual.took[-1] + 4 * max(running)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            done = math.prod(usual.chance_to_end(age, middle) for age in running)
            low, high = (middle, high) if done < chance else (low, middle)
        return high

    return TimeLeft(at(0.5), at(0.9))


def durations(task: Task) -> list[float]:
    """Return the durations of the known finished samples, seconds, shortest first."""
    took = list[float]()
    for sample in task.samples.values():
        if sample.status != SampleStatus.COMPLETED:
            continue
        # The eval measured the total time; a difference of clocks is wrong after a clock step.
        if sample.total_time is not None:
            seconds = sample.total_time
        elif sample.started_at is not None and sample.completed_at is not None:
            seconds = sample.completed_at - sample.started_at
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
    """Return a quantile of ascending values, interpolated between its two neighbours."""
    place = fraction * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _by_rate(task: Task, left: int, now: float) -> TimeLeft | None:
    """Return the time left from the rate of finished samples, for a task without sample rows."""
    if task.samples or len(task.trail) < 2:  # noqa: PLR2004 - two ends
        return None
    first, last = task.trail[0], task.trail[-1]
    done = last.done - first.done
    seconds = max(now, last.at) - first.at
    if done < ENOUGH_SAMPLES or seconds <= 0:
        return None
    even = left * seconds / done
    return TimeLeft(even, even * (1 + 1.28 / done**0.5) + seconds / done)
