"""How often to poll a task: a pure function of its phase and the operator's focus.

The control server shares the eval's event loop, so polls are rare where nothing happens. The
probe makes each poll wait as well, by what polls of that kind cost the eval
(`ssh/shipped/probe/read_costs.py`).
"""

from collections.abc import Mapping

from core.config.model import Cadence, TaskPhase
from core.model.task import Task

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
    if not task.trail or now - task.trail[-1].at > RECENT_S:
        return False
    base = task.trail[0]
    for point in reversed(task.trail):  # newest first: the trail is long, the time short
        base = point
        if now - point.at > RECENT_S:
            break
    newest = task.trail[-1]
    is_known = newest.retries is not None and base.retries is not None
    retried = is_known and (newest.retries or 0) > (base.retries or 0)
    return newest.errored > base.errored or retried


def cadence_of(
    task: Task, now: float, *, focused: bool, cadences: Mapping[TaskPhase, Cadence]
) -> Cadence:
    """Return the seconds between two polls of the task."""
    return cadences[phase_of(task, now, focused=focused)]
