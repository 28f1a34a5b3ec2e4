"""Which events are worth keeping: news, not the pulse.

A look that shows what the last one showed is no news. What is left is small enough to keep
for weeks: a few lines per process, task and link.
"""

from dataclasses import replace

from core.events import (
    ContentRevealed,
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
from core.model.machine import LinkState
from core.model.task import TaskRow

FACTS_EVERY = 3_600.0
"""A machine's facts are kept this often, seconds."""


class Worth:
    """Tells news from repetition; remembers what was last kept of everything that is there."""

    def __init__(self) -> None:
        self._last: dict[object, dict[str, object]] = {}

    def of(self, event: Event) -> Event | None:
        """Return what is worth keeping of an event; None: nothing."""
        match event:
            case TasksSeen():
                return self._news(event)
            case ProcessGone(process=process):
                self._forget(process)
                return event
            case _:
                return event if self._is_news(event) else None

    def _is_news(self, event: Event) -> bool:  # noqa: PLR0911 - one case per kind
        is_new = self._is_new
        match event:
            case LinkChanged():
                return self._is_link_news(event)
            case MachineRead(machine=machine):
                return is_new(machine, "facts", int(event.at // FACTS_EVERY))
            case ProbeAnswered(machine=machine):
                return is_new(machine, "probe", replace(event.probe, clock_offset=0.0))
            case ProcessSeen(process=process):
                return is_new(process, "seen", replace(event, at=0.0, waiting_since=None))
            case ReadFailed(process=process):
                return is_new(process, f"read {event.what}", event.reason)
            case ScoreSeen(task=task):
                return is_new(task, "score", event.metrics)
            case LogUnreadable(task=task):
                return is_new(task, "unreadable", event.reason)
            case _:
                return isinstance(event, LogRead | Dismissed | ContentRevealed)

    def _is_link_news(self, event: LinkChanged) -> bool:
        """A link that tries again and fails as before is no news."""
        if event.state is LinkState.CONNECTING:
            return False
        return self._is_new(event.machine, "link", (event.state, event.reason))

    def _news(self, event: TasksSeen) -> TasksSeen | None:
        rows: list[TaskRow] = []
        for row in event.rows:
            key = TaskKey(event.process, row.task_id)
            if self._is_new(key, "row", _standing(row)):
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
        for about in [each for each in self._last if isinstance(each, TaskKey)]:
            if about.process == process:
                del self._last[about]


def _standing(row: TaskRow) -> tuple[object, ...]:
    """What makes a task row news: not its counters."""
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
