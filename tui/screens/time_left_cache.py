"""Remembers the time left of tasks, which costs too much to compute for every drawing."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.ids import TaskKey
from core.judge.pace import TimeLeft, time_left
from core.model.sample import Sample, SampleId
from core.model.task import Task

_INTERVAL_S = 5.0
"""Seconds between two estimates of one task."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    samples: Mapping[SampleId, Sample]
    left: TimeLeft | None


class TimeLeftCache:
    """Estimates each task's time left every five seconds, or when its samples changed."""

    def __init__(self) -> None:
        self._moment = 0.0
        self._estimates: dict[TaskKey, _Estimate] = {}

    def __call__(self, task: Task, now: float) -> TimeLeft | None:
        """Return a task's time left as of the last five seconds (`core.judge.pace.time_left`)."""
        moment = now // _INTERVAL_S * _INTERVAL_S
        if moment != self._moment:  # estimates of an earlier moment are of no more use
            self._moment = moment
            self._estimates.clear()
        known = self._estimates.get(task.key)
        if known is not None and known.samples is task.samples:
            return known.left
        left = time_left(task, moment)
        self._estimates[task.key] = _Estimate(task.samples, left)
        return left
