"""The durable side of the desk, fed without ever holding it up."""

import asyncio
from collections.abc import Callable

from core.errors import StorageError
from core.events import Event, SamplesSeen, TasksSeen
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.task import ProgressPoint
from core.ports import EventStore

WAITING_LIMIT = 20_000
"""Events that may wait to be written; more are lost, and that is told."""
POINT_EVERY = 5.0
"""Seconds between two kept points of one task's progress."""
_PAUSE = 0.25


class EventWriter:
    """Hands events and progress to the disk in batches.

    Args:
        keeping: Where they go.
        tell: Called with a reason when they can't be written, with None once they can again.
    """

    def __init__(self, keeping: EventStore, tell: Callable[[str | None], None]) -> None:
        self._keeping = keeping
        self._tell = tell
        self._events: list[Event] = []
        self._points: list[tuple[TaskKey, ProgressPoint]] = []
        self._last: dict[TaskKey, ProgressPoint] = {}
        self._waiting = asyncio.Event()
        self._lost = 0
        self._failing = False
        self._writing: asyncio.Task[None] | None = None

    def take(self, event: Event, fleet: Fleet) -> None:
        """Take an event and what it says of progress; returns at once."""
        if len(self._events) >= WAITING_LIMIT:
            self._lost += 1
        elif not isinstance(event, SamplesSeen):
            self._events.append(event)
        if isinstance(event, TasksSeen):
            process = fleet.processes.get(event.process)
            for key in process.tasks if process is not None else ():
                self._take_point(key, fleet)
        self._waiting.set()

    def _take_point(self, key: TaskKey, fleet: Fleet) -> None:
        task = fleet.tasks[key]
        if not task.trail:
            return
        point, last = task.trail[-1], self._last.get(key)
        if last is not None and point == last:
            return
        if last is not None and point.at - last.at < POINT_EVERY and task.ended_at is None:
            return
        self._last[key] = point
        if len(self._points) < WAITING_LIMIT:
            self._points.append((key, point))

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            await self.flush()
            await asyncio.sleep(_PAUSE)

    async def flush(self) -> None:
        """Write what waits; what can't be written is told and dropped.

        A write that is under way when the room is left goes on to its end: else its events,
        which wait no longer, would be on no disk.
        """
        if self._writing is not None:
            await asyncio.wait([self._writing])
        self._writing = asyncio.create_task(self._write(), name="keeping")
        await asyncio.shield(self._writing)

    async def _write(self) -> None:
        events, self._events = self._events, []
        points, self._points = self._points, []
        try:
            if events:
                await self._keeping.keep(events)
            if points:
                await self._keeping.keep_progress(points)
        except StorageError as error:
            self._failing = True
            self._lost += len(events)
            self._tell(f"{error.message} ({self._lost} events are not kept)")
        else:
            if self._failing:
                self._failing = False
                self._tell(None)

    def forget(self, fleet: Fleet) -> None:
        """Forget tasks that left the fleet."""
        self._last = {key: point for key, point in self._last.items() if key in fleet.tasks}
