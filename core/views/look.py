"""A look at the fleet: the little that must be known to say later what changed since.

It outlives the room: the operator may come back after a restart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from core.fleet import Fleet
from core.ids import TaskKey
from core.model.finding import Severity
from core.model.task import Task, TaskState

MAX_TASKS = 3_000
"""Tasks of a look that are stored, those of running processes before the others."""
MAX_FINDINGS = 500


@dataclass(frozen=True, slots=True)
class SeenFinding:
    """How a finding looked. A `core.model.finding.Finding` has the same fields."""

    id: str
    identity: str
    severity: Severity
    is_open: bool


@dataclass(frozen=True, slots=True)
class SeenTask:
    """How a task looked: samples that were done and with an error, and its state."""

    task: TaskKey
    completed: int
    errored: int
    state: TaskState


@dataclass(frozen=True, slots=True)
class Look:
    """What the operator saw.

    Attributes:
        at: When, Unix seconds at the desk.
        findings: The findings, newest first.
        tasks: The tasks.
        is_cut: Whether it lacks tasks, so that an old task may not be in it.
    """

    at: float
    findings: tuple[SeenFinding, ...] = ()
    tasks: tuple[SeenTask, ...] = ()
    is_cut: bool = False

    @property
    def by_task(self) -> Mapping[TaskKey, SeenTask]:
        """The tasks by their keys."""
        return {each.task: each for each in self.tasks}


def look_at(fleet: Fleet, now: float) -> Look:
    """Return the look at a fleet at `now`, Unix seconds at the desk."""
    tasks = sorted(fleet.tasks.values(), key=lambda each: each.is_over)
    return Look(
        at=now,
        findings=tuple(
            SeenFinding(each.id, each.identity, each.severity, each.is_open)
            for each in fleet.findings[:MAX_FINDINGS]
        ),
        tasks=tuple(_seen(each) for each in tasks),
    )


def _seen(task: Task) -> SeenTask:
    counts = task.progress
    return SeenTask(task.key, counts.completed, counts.errored, task.state)


def look_to_json(look: Look) -> dict[str, Any]:
    """Return a look as JSON for a file, with `MAX_TASKS` tasks at most."""
    is_cut = look.is_cut or len(look.tasks) > MAX_TASKS
    kept = replace(look, tasks=look.tasks[:MAX_TASKS], is_cut=is_cut)
    return {"look": msgspec.to_builtins(kept)}


def look_of_json(stored: Mapping[str, Any]) -> Look | None:
    """Return the look of a file; None: it holds none, or is damaged."""
    try:
        return msgspec.convert(stored.get("look"), Look)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
