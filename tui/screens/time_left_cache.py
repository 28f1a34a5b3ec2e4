"""Remembers the time left of tasks, which costs too much to compute for every drawing."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.ids import TaskKey
from core.judge.pace import TimeLeft, time_left
from core.model.sample import Sample, SampleId
from core.model.task import Task

_INTERVAL_S = 5.0
"""Seconds between two estimates of one task."""
_MAX_TASKS = 5_000
"""Tasks whose estimates are remembered."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    moment: float
    samples: Mapping[SampleId, Sample]
    left: TimeLeft | None


class TimeLeftCache:
    """Estimates each task's time left every five seconds, or when its samples changed."""

    def __init__(self) -> None:
        self._estimates: dict[TaskKey, _Estimate] = {}

    def __call__(self, task: Task, now: float) -> TimeLeft | None:
        """Return a task's time left as of the last five seconds (`core.judge.pace.time_left`)."""
        moment = now // _INTERVAL_S * _INTERVAL_S
        known = self._estimates.get(task.key)
        if known is not None and known.moment == moment and known.samples is task.samples:
            return known.left
        if len(self._estimates) >= _MAX_TASKS:
            self._estimates.clear()
        left = time_left(task, moment)
        self._estimates[task.key] = _Estimate(moment, task.samples, left)
        return left
