"""A desk over connections that a test holds in its hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from core.config.model import WatchConfig
from core.desk.desk import Desk
from core.errors import StorageError
from core.events import Event
from core.finding_events import FindingsMuted, SameFinding
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import MutesRead, Received
from tests.support import waiting
from tests.support.clocks import SetClock
from tests.support.connections import FakeConnection
from tests.support.fleets import NOW, named, probe_answered, task_key

KEY = task_key()
PROBE = probe_answered(user="op", pid=7)


class FakeObserver:
    """Takes events as they are: a frame of kind `events` holds them in its head."""

    def __init__(self, machine: MachineName, config: WatchConfig) -> None:
        self.machine, self.config = machine, config

    def expect(self, processes: Iterable[ProcessKey]) -> None:
        self.expected = list(processes)

    def events_of(self, received: Received, at: float) -> tuple[Event, ...]:
        del at
        if not isinstance(received, Frame):
            return (received,)
        events: tuple[Event, ...] = received.head.get("events", ())
        return events

    def frames(self, fleet: Fleet, focus: TaskKey | None, at: float) -> tuple[Frame, ...]:
        del fleet, at
        return (Frame("watch", {"focus": focus}),)


def frame_of(*events: Event, body: bytes = b"") -> Frame:
    return Frame("events", {"events": events}, body)


def listed(*events: Event) -> Frame:
    return Frame("processes", {"events": events})


class FakeEventStore:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.points: list[tuple[TaskKey, ProgressPoint]] = []
        self.findings: list[Finding] = []
        self.fails = False
        self.acknowledged_elsewhere: set[str] = set()
        self.mutes_elsewhere: list[FindingsMuted] = []
        self.found_elsewhere: list[SameFinding] = []

    async def keep(self, events: Sequence[Event]) -> None:
        if self.fails:
            raise StorageError("the disk is full")
        self.events += events

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        self.points += points

    async def keep_findings(self, findings: Sequence[Finding]) -> Sequence[SameFinding]:
        self.findings += findings
        return [each for each in self.found_elsewhere if each.own in {one.id for one in findings}]

    async def acknowledged(self, findings: Sequence[str]) -> Sequence[Finding]:
        known = {each.id: each for each in self.findings if each.id in findings}
        return [
            replace(each, acknowledged_at=each.opened_at + 1)
            for each in known.values()
            if each.id in self.acknowledged_elsewhere
        ]

    async def mutes_after(self, number: int) -> MutesRead:
        return MutesRead(tuple(self.mutes_elsewhere[number:]), len(self.mutes_elsewhere))

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        return [
            ProgressPoint(at=at, done=0, errored=0, in_flight=0, tokens=0)
            for at in (NOW - 50, NOW + 50)
            if task == KEY
        ]


def desk_of(*connections: FakeConnection, **more: Any) -> Desk:
    return Desk(
        connections=connections,
        named=[named(connection.machine) for connection in connections],
        watch=WatchConfig(),
        clock=more.pop("clock", None) or SetClock(NOW),
        **more,
    )


@asynccontextmanager
async def running(desk: Desk) -> AsyncGenerator[Desk]:
    task = asyncio.create_task(desk.run())
    try:
        yield desk
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled(), task.exception()


async def until(holds: Callable[[], object]) -> None:
    await waiting.until(holds, "the desk comes to that", every=0.005)
