"""How long calls usually take: the p95 of those that have finished."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from core.fleet import Fleet

ENOUGH_CALLS = 10
"""Finished calls that tell how long such calls usually take."""
NEWEST = 20
"""Newest calls of each task that tell how long those of its model take."""


def p95(took: Iterable[float]) -> float:
    """Return the p95 of durations, seconds; 0: too few are known."""
    ordered = sorted(took)
    if len(ordered) < ENOUGH_CALLS:
        return 0.0
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def usual_calls(fleet: Fleet) -> Mapping[str, float]:
    """Return the p95 of the newest finished calls of each model, seconds, over all tasks."""
    took: dict[str, list[float]] = {}
    for task in fleet.tasks.values():
        calls = task.calls.get("model")
        if calls:
            took.setdefault(task.row.model, []).extend(calls[-NEWEST:])
    usual = {model: p95(each) for model, each in took.items() if len(each) >= ENOUGH_CALLS}
    return fleet.usual_calls if usual == fleet.usual_calls else MappingProxyType(usual)
