"""Events on their way to the disk while the room is left."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from core.desk.event_writer import EventWriter
from core.events import Event, LinkHeard
from core.finding_events import SameFinding
from core.fleet import Fleet
from core.ids import MachineName, TaskKey
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import MutesRead


class Slow:
    """A disk that takes its time with each write."""

    def __init__(self) -> None:
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self.kept: list[Event] = []

    async def keep(self, events: Sequence[Event]) -> None:
        self.begun.set()
        await self.goes_on.wait()
        self.kept += events

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        raise NotImplementedError(points)

    async def keep_findings(self, findings: Sequence[Finding]) -> Sequence[SameFinding]:
        raise NotImplementedError(findings)

    async def acknowledged(self, findings: Sequence[str]) -> Sequence[Finding]:
        raise NotImplementedError(findings)

    async def mutes_after(self, number: int) -> MutesRead:
        raise NotImplementedError(number)

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        raise NotImplementedError(task)


async def test_an_event_being_written_when_the_room_is_left_is_kept() -> None:
    disk = Slow()
    writer = EventWriter(disk, lambda _: None)
    events = [LinkHeard(at=float(at), machine=MachineName("m")) for at in range(3)]
    running = asyncio.create_task(writer.run())
    writer.take(events[0], Fleet())
    await disk.begun.wait()
    writer.take(events[1], Fleet())
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    writer.take(events[2], Fleet())
    leaving = asyncio.create_task(writer.flush())
    await asyncio.sleep(0)
    disk.goes_on.set()
    await leaving
    assert disk.kept == events
