"""The desk: the one loop that takes events in, folds them, shows, keeps and asks."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from core.config.model import WatchConfig
from core.desk.event_writer import EventWriter
from core.desk.health import recording_stopped, storage_failed, storage_works
from core.desk.log_reader import LogReader
from core.desk.observers import Watching
from core.desk.readiness import has_ended, looked_at, turns
from core.desk.requests import MachineRequests
from core.desk.step import advance
from core.desk.throttle import FleetPublisher
from core.errors import StorageError
from core.events import (
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    LogUnreadable,
    LooksUnchanged,
    MachineNamed,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ReadFailed,
    TasksSeen,
    TimePassed,
)
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import Clock, EventStore, Heard, MachineConnection, Show
from core.signal import Signal

MINUTE = 60.0
STEER_EVERY = 0.5
"""Seconds between two looks at what one machine's probe should do, where something turned."""
STEER_CALMLY = 4.0
"""The same where samples only go on: two hundred machines tell of them all the time."""
_SLICE = 0.01
"""Seconds of folding after which the loop lets others run."""
_LARGE = 256 * 1024
"""Bytes of a frame from which it is decoded beside the loop."""
_QUIET = (LinkHeard, LooksUnchanged, MachineRead, TimePassed)


class Desk(MachineRequests):
    """One room over many machines. All of it runs in one event loop.

    Args:
        connections: One for each machine.
        named: The machines as the config names them, in its order.
        watch: How often to look.
        clock: Time at the desk.
        keeping: The durable side; None keeps nothing.
        record: Takes every event, in order; it must not block. When it raises StorageError,
            recording ends and a finding says so.
        watching: What to look at and what it means.
    """

    def __init__(
        self,
        *,
        connections: Sequence[MachineConnection],
        named: Sequence[MachineNamed],
        watch: WatchConfig,
        clock: Clock,
        keeping: EventStore | None = None,
        record: Callable[[Event], None] | None = None,
        watching: Watching | None = None,
    ) -> None:
        watching = Watching() if watching is None else watching
        self._clock = clock
        self._watch = watch
        self._keeping = keeping
        self._record = record
        super().__init__(connections)
        self._watchers = {name: watching.watcher(name, watch) for name in self._connections}
        self._readers = {
            name: LogReader(name, connection, watching)
            for name, connection in self._connections.items()
        }
        self._keeper = None if keeping is None else EventWriter(keeping, self._tell_storage)
        self._showing = FleetPublisher(Fleet())
        self._folded = Signal[Event]()
        self._focus: TaskKey | None = None
        self._inbox: deque[tuple[MachineName, Heard, float] | Event] = deque()
        self._woken = asyncio.Event()
        self._turned = asyncio.Event()
        self._unsteered: set[MachineName] = set()
        self._turning: set[MachineName] = set()
        self._steered: dict[MachineName, float] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._listed: set[MachineName] = set()
        self._read: set[ProcessKey] = set()
        self._begun: asyncio.Task[None] | None = None
        for event in named:
            self._take(event)

    # What the screens use (core.ports.Room)

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        return self._showing.fleet

    @property
    def connections(self) -> Sequence[MachineConnection]:
        """The machines' connections."""
        return tuple(self._connections.values())

    @property
    def is_replay(self) -> bool:
        """A desk is live."""
        return False

    def now(self) -> float:
        """Return the desk's time, Unix seconds."""
        return self._clock.now()

    def post(self, event: Event) -> None:
        """Take an event in, as if a machine had sent it."""
        self._inbox.append(event)
        self._woken.set()

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` for each new fleet, at most ten times a second; returns what ends it."""
        return self._showing.subscribe(show)

    def listen(self, hear: Callable[[Event], None]) -> Callable[[], None]:
        """Call `hear` for every event, once it is folded; returns what ends it."""
        return self._folded.connect(hear)

    def focus(self, task: TaskKey | None) -> None:
        """Look at this task more often than the rest; None: at none."""
        if task == self._focus:
            return
        for key in (task, self._focus):
            if key is not None and key.machine in self._connections:
                self._unsteered.add(key.machine)
                self._steered.pop(key.machine, None)
        self._focus = task
        self._woken.set()

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's points, oldest first: kept ones, then the trail in memory."""
        known = self.fleet.tasks.get(task)
        trail = known.trail if known is not None else ()
        if self._keeping is None:
            return trail
        try:
            kept = await self._keeping.progress(task)
        except StorageError as error:
            self._tell_storage(error.message)
            return trail
        first = trail[0].at if trail else float("inf")
        return (*(point for point in kept if point.at < first), *trail)

    # The loop

    def begin(self) -> None:
        """Watch from now on, beside what else is made ready; `run` then goes on with that."""
        self._begun = asyncio.create_task(self._run(), name="desk")

    async def run(self) -> None:
        """Watch every machine until cancelled."""
        begun, self._begun = self._begun, None
        await (begun or self._run())

    async def _run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, connection in self._connections.items():
                    tasks.create_task(
                        connection.run(partial(self._hear, name)), name=f"connection {name}"
                    )
                for name, reader in self._readers.items():
                    tasks.create_task(
                        reader.run(lambda: self.fleet, self._clock.now, self.post),
                        name=f"logs of {name}",
                    )
                tasks.create_task(self._showing.run(), name="showing")
                tasks.create_task(self._tick(), name="minutes")
                if self._keeper is not None:
                    tasks.create_task(self._keeper.run(), name="keeping")
                await self._turn_for_ever()
        finally:
            if self._keeper is not None:
                await self._keeper.flush()

    async def first_look(self, timeout: float) -> bool:
        """Wait until every machine was looked at once, or can't be.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            False when the time passed first.
        """
        try:
            async with asyncio.timeout(timeout):
                while not looked_at(self.fleet, self._listed, self._read):
                    await self._turned.wait()
        except TimeoutError:
            return False
        return True

    def _hear(self, machine: MachineName, heard: Heard) -> None:
        self._inbox.append((machine, heard, self._clock.now()))
        self._woken.set()

    async def _turn_for_ever(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            await self._drain()
            self._steer()
            turned, self._turned = self._turned, asyncio.Event()
            turned.set()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, tuple):
                for event in await self._events_in(*item):
                    before = self.fleet
                    self._take(event)
                    if turns(before, self.fleet, event):
                        self._turning.add(item[0])
            else:
                self._take(item)
            if loop.time() - started > _SLICE:
                await asyncio.sleep(0)
                started = loop.time()

    async def _events_in(self, name: MachineName, heard: Heard, at: float) -> tuple[Event, ...]:
        watcher = self._watchers[name]
        if isinstance(heard, Frame) and len(heard.body) > _LARGE:
            events = await asyncio.to_thread(watcher.hear, heard, at)
        else:
            events = watcher.hear(heard, at)
        self._unsteered.add(name)
        if isinstance(heard, Frame) and heard.kind in {"hello", "processes"}:
            self._steered.pop(name, None)  # what is to be looked at is asked for at once
            if heard.kind == "processes":
                self._listed.add(name)
        return events

    def _take(self, event: Event) -> None:
        fleet = advance(self.fleet, event)
        if isinstance(event, TasksSeen | ReadFailed) and event.process not in self._read:
            self._read.add(event.process)
            self._steered.pop(event.process.machine, None)
        if isinstance(event, TimePassed):
            self._forget(fleet)
        self._showing.change(fleet, loud=not isinstance(event, _QUIET))
        self._nudge(event)
        if self._keeper is not None:
            self._keeper.take(event, fleet)
        if self._record is not None:
            try:
                self._record(event)
            except StorageError as error:
                self._record = None
                self._find(recording_stopped(error.message, event.at))
        self._folded.emit(event)

    def _forget(self, fleet: Fleet) -> None:
        self._read &= fleet.processes.keys()
        if self._keeper is not None:
            self._keeper.forget(fleet)

    def _steer(self) -> None:
        """Tell the probes what to look at from now on; each at most twice a second."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        soonest: float | None = None
        for name in list(self._unsteered):
            pause = STEER_EVERY if name in self._turning else STEER_CALMLY
            wait = self._steered.get(name, -pause) + pause - now
            if wait > 0:
                soonest = wait if soonest is None else min(soonest, wait)
                continue
            self._unsteered.discard(name)
            self._turning.discard(name)
            self._steered[name] = now
            for frame in self._watchers[name].frames(self.fleet, self._focus, self._clock.now()):
                self._connections[name].send(frame)
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_later(soonest, self._woken.set) if soonest is not None else None

    def _nudge(self, event: Event) -> None:
        """Let a machine's log reader look again, where `event` may have ended a task."""
        match event:
            case LinkChanged() | ProbeAnswered():
                name = event.machine
            case ProcessGone():
                name = event.process.machine
            case TasksSeen():
                if not has_ended(self.fleet, event.process):
                    return
                name = event.process.machine
            case LogRead() | LogUnreadable():
                name = event.task.machine
            case _:
                return
        reader = self._readers.get(name)
        if reader is not None:
            reader.nudge()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(MINUTE)
            self._unsteered.update(self._connections)
            self.post(TimePassed(at=self._clock.now(), keep_gone=self._watch.keep_gone))

    # What the desk itself finds

    def _tell_storage(self, reason: str | None) -> None:
        at = self._clock.now()
        found = (
            storage_works(self.fleet, at)
            if reason is None
            else storage_failed(self.fleet, reason, at)
        )
        if found is not None:
            self._find(found)

    def _find(self, finding: Finding) -> None:
        self._showing.change(with_findings(self.fleet, (finding,)))
