"""Filters events for storage: state changes only, not repeated observations.

What remains is small enough to keep for weeks: a few rows per process, task and link.
"""

from dataclasses import replace

from core.events import (
    ContentRevealed,
    DeadEvalFound,
    Dismissed,
    Event,
    LinkChanged,
    LogRead,
    LogUnreadable,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ScoreSeen,
    TasksSeen,
)
from core.ids import ProcessKey, TaskKey
from core.model.log_summary import LogSamples
from core.model.machine import LinkState
from core.model.task import TaskRow
from core.task_events import SpinUpTimed

FACTS_EVERY_S = 3_600.0
"""How often a machine's facts are stored, seconds."""


class EventFilter:
    """Drops events that repeat the last stored state of their machine, process or task."""

    def __init__(self) -> None:
        self._last: dict[object, dict[str, object]] = {}
        self._tasks: dict[ProcessKey, set[TaskKey]] = {}
        """The tasks of a process that are in `_last`."""

    def changed_part(self, event: Event) -> Event | None:
        """Return the part of an event to store, and remember it; None: nothing has changed."""
        match event:
            case TasksSeen():
                return self._changed_rows(event)
            case ProcessGone(process=process):
                self._forget(process)
                return event
            case LogRead(samples=samples) if samples is not None:
                return replace(event, samples=without_rows(samples))
            case _:
                return event if self._is_change(event) else None

    def _is_change(self, event: Event) -> bool:  # noqa: PLR0911 - one case per kind
        is_new = self._is_new
        match event:
            case LinkChanged():
                return self._is_link_change(event)
            case MachineRead(machine=machine):
                return is_new(machine, "facts", int(event.at // FACTS_EVERY_S))
            case ProbeAnswered(machine=machine):
                return is_new(machine, "probe", replace(event.probe, clock_offset=0.0))
            case ProcessSeen(process=process):
                return is_new(process, "seen", replace(event, at=0.0, waiting_since=None))
            case DeadEvalFound(process=process):
                return is_new(process, "dead", event.logs)
            case ReadFailed(process=process):
                return is_new(process, f"read {event.what}", event.reason)
            case ScoreSeen(task=task):
                return is_new(task, "score", event.metrics)
            case LogUnreadable(task=task):
                return is_new(task, "unreadable", event.reason)
            case _:
                return isinstance(event, LogRead | Dismissed | ContentRevealed | SpinUpTimed)

    def _is_link_change(self, event: LinkChanged) -> bool:
        """Another attempt that fails like the last one is not a change."""
        if event.state is LinkState.CONNECTING:
            return False
        return self._is_new(event.machine, "link", (event.state, event.reason))

    def _changed_rows(self, event: TasksSeen) -> TasksSeen | None:
        rows: list[TaskRow] = []
        for row in event.rows:
            key = TaskKey(event.process, row.task_id)
            self._tasks.setdefault(event.process, set()).add(key)
            if self._is_new(key, "row", _compared_fields(row)):
                rows.append(replace(row, raw=b""))
        malformed = event.malformed
        if not self._is_new(event.process, "malformed", malformed):
            malformed = ()
        return replace(event, rows=tuple(rows), malformed=malformed) if rows or malformed else None

    def _is_new(self, about: object, what: str, value: object) -> bool:
        last = self._last.setdefault(about, {})
        if what in last and last[what] == value:
            return False
        last[what] = value
        return True

    def _forget(self, process: ProcessKey) -> None:
        self._last.pop(process, None)
        for task in self._tasks.pop(process, ()):
            self._last.pop(task, None)


def without_rows(samples: LogSamples) -> LogSamples:
    """Return the counts and errors of a log's samples; their rows stay in the log."""
    return replace(samples, rows=(), cut=samples.cut + len(samples.rows))


def _compared_fields(row: TaskRow) -> tuple[object, ...]:
    """Return the fields of a task row whose change is stored; the counters are not among them."""
    return (
        row.eval_id,
        row.status,
        row.attempts,
        row.paused,
        row.paused_now,
        row.resolving,
        row.log_location,
        row.completed_at,
        row.samples.errored,
        row.samples.total,
    )
