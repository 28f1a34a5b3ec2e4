"""How often to poll a task: a pure function of its phase and the operator's focus.

The control server shares the eval's event loop, so polls are rare where nothing happens. The
probe makes each poll wait as well, by what polls of that kind cost the eval
(`ssh/shipped/probe/read_costs.py`).
"""

from collections.abc import Mapping

from core.config.model import Cadence, TaskPhase
from core.model.task import ProgressPoint, Task

SPIN_UP_S = 30.0
"""Seconds after its start in which a task spins up."""
RAMPING_S = 300.0
"""Seconds after its start in which a task ramps."""
NEAR_END = 0.9
"""Fraction of finished samples from which a task is near its end."""
RECENT_S = 5.0
"""Seconds for which a new error or retry counts as trouble: about two polls."""


def phase_of(task: Task, now: float, *, focused: bool) -> TaskPhase:
    """Return the phase of a task.

    Args:
        task: The task.
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
    if age < SPIN_UP_S:
        return "spin-up"
    if row.samples.total and done / row.samples.total >= NEAR_END:
        return "near the end"
    if age < RAMPING_S and not row.paused:
        return "ramping"
    return "steady"


def _age(task: Task, now: float) -> float:
    """Return the task's age, seconds; by the eval's own clock if the start is known."""
    started = task.row.started_at
    return now - task.seen_at if started is None else task.as_of - started


def _has_new_trouble(task: Task, now: float) -> bool:
    """Return whether samples errored or were run again, or calls retried, in the last seconds."""
    if task.run_again_at is not None and 0 <= now - task.run_again_at <= RECENT_S:
        return True
    base = _point_before(task, now, RECENT_S)
    if base is None:
        return False
    return task.trail[-1].errored > base.errored or has_retried(task, now, RECENT_S)


def has_retried(task: Task, now: float, within: float) -> bool:
    """Return whether calls of a task were retried in the last `within` seconds."""
    base = _point_before(task, now, within)
    if base is None:
        return False
    newest, before = task.trail[-1].retries, base.retries
    return newest is not None and before is not None and newest > before


def _point_before(task: Task, now: float, within: float) -> ProgressPoint | None:
    """Return the progress `within` seconds ago, or the oldest; None: nothing is that new."""
    if not task.trail or now - task.trail[-1].at > within:
        return None
    base = task.trail[0]
    for point in reversed(task.trail):  # newest first: the trail is long, the time short
        base = point
        if now - point.at > within:
            break
    return base


def cadence_of(
    task: Task, now: float, *, focused: bool, cadences: Mapping[TaskPhase, Cadence]
) -> Cadence:
    """Return the seconds between two polls of the task."""
    return cadences[phase_of(task, now, focused=focused)]
