"""When a task's samples have to be read in full again, because its deltas can't be trusted."""

from collections.abc import Mapping

from core.fleet import Fleet
from core.ids import TaskKey
from core.watch.polls import FULL_READ_INTERVAL_S, disagrees

RELOAD_INTERVAL_S = 15.0
"""Minimum seconds between two full reads of a task's samples because its counts disagree."""
FOCUSED_RELOAD_INTERVAL_S = 5.0
"""The same for the focused task."""


class FullReads:
    """Remembers the full reads of one machine's tasks, and which deltas were cut."""

    def __init__(self) -> None:
        self._times: dict[TaskKey, int] = {}
        self._read_at: dict[TaskKey, float] = {}
        """When each task's samples were last read in full, Unix seconds at the desk."""
        self._truncated: set[TaskKey] = set()
        """Tasks whose last delta was truncated; the next delta does not list the missing rows."""

    @property
    def times(self) -> Mapping[TaskKey, int]:
        """How many times each task's samples had to be read in full again."""
        return self._times

    def note_full(self, task: TaskKey, at: float) -> None:
        """Note that all samples of a task were read at `at`."""
        self._read_at[task] = at
        self._truncated.discard(task)

    def note_truncated(self, task: TaskKey) -> None:
        """Note that a delta of a task left samples out."""
        self._truncated.add(task)

    def decide(self, fleet: Fleet, focus: TaskKey | None, at: float) -> None:
        """Count one more full read for each task whose deltas can't be trusted now."""
        for key in [key for key in self._read_at if key not in fleet.tasks]:
            del self._read_at[key]
            self._times.pop(key, None)
            self._truncated.discard(key)
        for key, read_at in self._read_at.items():
            task = fleet.tasks[key]
            age = at - read_at
            if age < 0:  # the desk's clock was set back
                age = FULL_READ_INTERVAL_S
            soon = FOCUSED_RELOAD_INTERVAL_S if key == focus else RELOAD_INTERVAL_S
            if task.row.is_completed or age < soon:
                continue
            if age >= FULL_READ_INTERVAL_S or key in self._truncated or disagrees(task):
                self._times[key] = self._times.get(key, 0) + 1
                self._read_at[key] = at
