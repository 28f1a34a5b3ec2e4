"""How often to look at a task: a pure function of its phase and the operator's focus.

The control server shares the eval's event loop, so looks are rare where nothing happens. That a
look waits at least 100 times as long as the last one took, the probe sees to.
"""

from collections.abc import Mapping

from core.config.model import Cadence, TaskPhase
from core.model.task import Task

SPIN_UP = 30.0
"""Seconds after its start in which a task spins up."""
RAMPING = 300.0
"""Seconds in which it ramps."""
NEAR_END = 0.9
"""Share of samples done from which the end is near."""
RECENT = 5.0
"""Seconds for which a new error counts as trouble: about two looks."""


def phase_of(task: Task, now: float, *, focused: bool) -> TaskPhase:
    """Return where the task stands.

    Args:
        task: As known.
        now: Unix seconds at the desk.
        focused: Whether the operator looks at its samples.
    """
    row = task.row
    done = row.samples.completed + row.samples.errored + row.samples.cancelled
    age = _age(task, now)
    if focused:
        return "focused"
    if _has_new_trouble(task, now):
        return "trouble"
    if age < SPIN_UP:
        return "spin-up"
    if row.samples.total and done / row.samples.total >= NEAR_END:
        return "near the end"
    if age < RAMPING and not row.paused:
        return "ramping"
    return "steady"


def _age(task: Task, now: float) -> float:
    """Return how long the task runs, seconds; on the eval's own clock where it tells its start."""
    started = task.row.started_at
    return now - task.seen_at if started is None else task.as_of - started


def _has_new_trouble(task: Task, now: float) -> bool:
    """Whether samples errored since the last look or two."""
    if not task.trail or now - task.trail[-1].at > RECENT:
        return False
    base = task.trail[0]
    for point in reversed(task.trail):  # from the newest: the trail is long, the moment short
        base = point
        if now - point.at > RECENT:
            break
    return task.trail[-1].errored > base.errored


def cadence_of(
    task: Task, now: float, *, focused: bool, cadences: Mapping[TaskPhase, Cadence]
) -> Cadence:
    """Return the seconds between two looks at the task."""
    return cadences[phase_of(task, now, focused=focused)]
