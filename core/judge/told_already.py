"""What one kind has found in a task already, so that no other kind tells the same thing."""

from collections.abc import Iterable

from core.fleet import Fleet
from core.model.sample import Sample
from core.model.task import Task


def all_stall(fleet: Fleet, task: Task, rows: Iterable[Sample]) -> bool:
    """Return whether each of these samples of a task has an open finding of the kind `stall`."""
    stalls = fleet.suspicions.get(("stall", "task", task.key))
    if not stalls:
        return False
    stalled = {key.rpartition(":")[0] for key, each in stalls.items() if each.finding}
    return all(f"{row.sample_id}/{row.epoch}" in stalled for row in rows)


def is_told(fleet: Fleet, kind: str, task: Task) -> bool:
    """Return whether a task has an open finding of a kind."""
    known = fleet.suspicions.get((kind, "task", task.key))
    return known is not None and any(each.finding for each in known.values())
