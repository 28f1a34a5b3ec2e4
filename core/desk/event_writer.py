"""Writes events and progress to the store in batches, beside the desk's loop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from core.errors import StorageError
from core.events import Event, SamplesSeen, TasksSeen
from core.finding_events import SameFinding
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import EventStore

MAX_QUEUED = 20_000
"""Events of a machine that may wait to be written, a list of tasks as one for each task. More are
dropped, and their number is reported."""
POINT_INTERVAL_S = 5.0
"""Minimum seconds between two stored points of one task's progress."""
_WRITE_INTERVAL_S = 0.25
"""Seconds between two batches."""


class EventWriter:
    """Queues events and progress points and writes them in batches.

    Args:
        store: Where they are written.
        report: Called with the reason when a batch can't be written, and with None when one can
            be written again.
        merge: Called with the findings that the store had already, from another room.
    """

    def __init__(
        self,
        store: EventStore,
        report: Callable[[str | None], None],
        merge: Callable[[Sequence[SameFinding]], None] | None = None,
    ) -> None:
        self._store = store
        self._report = report
        self._merge = merge
        self._events: list[Event] = []
        self._queued: Counter[MachineName | None] = Counter()
        """How much of `_events` is about each machine."""
        self._points: list[tuple[TaskKey, ProgressPoint]] = []
        self._last_points: dict[TaskKey, ProgressPoint] = {}
        self._findings: dict[str, Finding] = {}
        self._last_findings: tuple[Finding, ...] = ()
        self._has_queued = asyncio.Event()
        self._dropped = 0
        self._is_failing = False
        self._writing: asyncio.Task[None] | None = None

    def take(self, event: Event, fleet: Fleet) -> None:
        """Queue an event, and the progress of the tasks that it is about; returns at once."""
        machine = _machine_of(event)
        if self._queued[machine] >= MAX_QUEUED:
            self._dropped += 1
        elif not isinstance(event, SamplesSeen):
            self._events.append(event)
            self._queued[machine] += 1 + (len(event.rows) if isinstance(event, TasksSeen) else 0)
        if isinstance(event, TasksSeen):
            process = fleet.processes.get(event.process)
            for key in process.tasks if process is not None else ():
                self._take_point(key, fleet)
        self.take_findings(fleet)
        self._has_queued.set()

    def begin_with(self, fleet: Fleet, closed: Sequence[Finding] = ()) -> None:
        """Note that the store already has the findings of this fleet, and queue those closed."""
        self._last_findings = fleet.findings
        self._findings.update({finding.id: finding for finding in closed})
        if closed:
            self._has_queued.set()

    def take_findings(self, fleet: Fleet) -> None:
        """Queue the findings that are not those of the last call; returns at once."""
        if fleet.findings is self._last_findings:
            return
        known = {finding.id: finding for finding in self._last_findings}
        self._last_findings = fleet.findings
        for finding in fleet.findings:
            if known.get(finding.id) is not finding:
                self._findings[finding.id] = finding

    def _take_point(self, key: TaskKey, fleet: Fleet) -> None:
        task = fleet.tasks[key]
        if not task.trail:
            return
        point, last = task.trail[-1], self._last_points.get(key)
        if last is not None and point == last:
            return
        if last is not None and point.at - last.at < POINT_INTERVAL_S and task.ended_at is None:
            return
        self._last_points[key] = point
        if len(self._points) < MAX_QUEUED:
            self._points.append((key, point))

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._has_queued.wait()
            self._has_queued.clear()
            await self.flush()
            await asyncio.sleep(_WRITE_INTERVAL_S)

    async def flush(self) -> None:
        """Write the queued events and points; if that fails, they are dropped and reported.

        Cancelling this does not cancel the write: its events have left the queue, so
        they would be lost.
        """
        if self._writing is not None:
            await asyncio.wait([self._writing])
        self._writing = asyncio.create_task(self._write(), name="write events")
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        events, self._events = self._events, []
        self._queued.clear()
        points, self._points = self._points, []
        findings, self._findings = self._findings, {}
        try:
            if events:
                await self._store.keep(events)
            if findings:
                same = await self._store.keep_findings(tuple(findings.values()))
                if same and self._merge is not None:
                    self._merge(same)
            if points:
                await self._store.keep_progress(points)
        except StorageError as error:
            self._is_failing = True
            self._dropped += len(events)
            self._report(f"{error.message} ({self._dropped} events were not stored)")
        else:
            if self._is_failing:
                self._is_failing = False
                self._report(None)

    def forget(self, fleet: Fleet) -> None:
        """Forget tasks that left the fleet."""
        self._last_points = {
            key: point for key, point in self._last_points.items() if key in fleet.tasks
        }


def _machine_of(event: Event) -> MachineName | None:
    """Return the machine that an event is about; None: it is about an order or a run."""
    about = (
        getattr(event, "machine", None)
        or getattr(event, "process", None)
        or getattr(event, "task", None)
    )
    return about.machine if isinstance(about, ProcessKey | TaskKey) else about
