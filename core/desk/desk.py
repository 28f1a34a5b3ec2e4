"""The desk: the one loop that takes events in, folds them, publishes, stores and steers."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from core.config.judge import JudgeConfig
from core.config.model import WatchConfig
from core.desk.acknowledgements import follow_acknowledgements
from core.desk.event_writer import EventWriter
from core.desk.health import (
    notifying_failed,
    notifying_works,
    recording_stopped,
    storage_failed,
    storage_works,
)
from core.desk.intake import Intake
from core.desk.log_access import LogVariables, no_variables
from core.desk.log_reader import LogReader
from core.desk.past import NOTHING, Past, leftover_findings, past_events, with_past
from core.desk.readiness import awaited, awaited_words, changes_polls, has_finishing_task
from core.desk.requests import MachineRequests
from core.desk.steering import Steering
from core.desk.step import USUAL_RULES, advance
from core.desk.throttle import FleetPublisher
from core.errors import StorageError
from core.events import (
    DeadEvalFound,
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    LogUnreadable,
    MachineNamed,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ReadFailed,
    ReadsUnchanged,
    TasksSeen,
    TimePassed,
)
from core.finding_events import FindingsMerged, SameFinding
from core.fleet import Fleet
from core.fold.spin_ups import timed_spin_ups
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import Clock, EventStore, MachineConnection, Received, Show
from core.signal import Signal
from core.watch.observer import Observer

TICK_INTERVAL_S = 60.0
"""Seconds between two `TimePassed` events, which drop old processes and refresh poll lists."""
_AGE_EVENTS = (LinkHeard, ReadsUnchanged, MachineRead, TimePassed)
"""Events that mostly change ages: publishing them is not urgent."""


class Desk(MachineRequests):
    """One room over many machines. All of it runs in one event loop.

    Its loop: wait for input, decode it into events, fold each event into the fleet, publish and
    store the result, then send the probes what they should poll from now on.

    Args:
        connections: One for each machine.
        named: The machines as the config names them, in its order.
        watch: How often to poll.
        rules: The numbers by which findings are judged.
        clock: Time at the desk.
        store: Stores events and progress; None: they are not stored.
        record: Takes every event, in order; it must not block. When it raises StorageError,
            recording ends and a finding says so.
        past: What the history knows of the hours before.
        log_variables: Returns the variables with which to read the log of a run.
    """

    def __init__(
        self,
        *,
        connections: Sequence[MachineConnection],
        named: Sequence[MachineNamed],
        watch: WatchConfig,
        clock: Clock,
        rules: JudgeConfig = USUAL_RULES,
        store: EventStore | None = None,
        record: Callable[[Event], None] | None = None,
        past: Past = NOTHING,
        log_variables: LogVariables = no_variables,
    ) -> None:
        super().__init__(connections, log_variables)
        self._watch = watch
        """How often to poll, and for how long gone processes stay."""
        self._rules = rules
        self._clock = clock
        self._store = store
        self._record = record
        """Takes every event for a recording; None: nothing is recorded, or recording has failed."""
        self._observers = {name: Observer(name, watch) for name in self._connections}
        """Decode what a machine sends, and know what its probe polls."""
        self._log_readers = {
            name: LogReader(name, connection, log_variables)
            for name, connection in self._connections.items()
        }
        """Read the log headers of a machine's ended tasks."""
        self._writer = (
            None if store is None else EventWriter(store, self._report_storage, self._merge)
        )
        """Writes events to the store beside the loop."""
        self._publisher = FleetPublisher(Fleet())
        """Holds the fleet; calls the screens when it changed."""
        self._folded = Signal[Event]()
        """Every event, once it is folded in."""
        self._intake = Intake(
            self._connections,
            decode=self._decode,
            decoded=self._note_decoded,
            apply=self._take,
        )
        """Input that the loop has not processed yet."""
        self._cycle_ended = asyncio.Event()
        """Set at the end of the loop's present cycle, then replaced by a new one."""
        self._steering = Steering(
            self._connections, self._observers, wake=self._intake.wake, spent=self._intake.spent
        )
        """Sends the probes their poll lists."""
        self._listed: set[MachineName] = set()
        """Machines whose processes were listed, for `first_poll`."""
        self._read: set[ProcessKey] = set()
        """Processes whose tasks were read, or could not be, for `first_poll`."""
        self._begun: asyncio.Task[None] | None = None
        """The loop that `begin` started; None: it did not, or `run` has taken the loop over."""
        for event in named:
            self._apply(event)
        if past is not NOTHING:
            self._begin_with(past)

    def _begin_with(self, past: Past) -> None:
        if self._record is not None:
            for event in past_events(self.fleet, past):
                self._record(event)
        fleet = with_past(self.fleet, past)
        self._publisher.change(fleet)
        for name, observer in self._observers.items():
            observer.expect(
                key
                for key, process in fleet.processes.items()
                if key.machine == name and not process.is_gone
            )
        if self._writer is not None:
            self._writer.begin_with(fleet, leftover_findings(fleet, past))

    # For the screens (core.ports.Room)

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        return self._publisher.fleet

    @property
    def connections(self) -> Sequence[MachineConnection]:
        """The machines' connections."""
        return tuple(self._connections.values())

    @property
    def has_polled(self) -> bool:
        """Whether every machine was polled once, or can't be."""
        return next(iter(awaited(self.fleet, self._listed, self._read)), None) is None

    @property
    def is_replay(self) -> bool:
        """False: a desk is live."""
        return False

    def now(self) -> float:
        """Return the desk's time, Unix seconds."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return seconds of a clock that is never set: for durations."""
        return self._clock.monotonic()

    def post(self, event: Event) -> None:
        """Take an event in, as if a machine had sent it."""
        self._intake.post(event)

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` with each update of the fleet, at most ten times a second.

        Returns:
            Ends the subscription.
        """
        return self._publisher.subscribe(show)

    def listen(self, on_event: Callable[[Event], None]) -> Callable[[], None]:
        """Call `on_event` with every event, once it is folded in; return what ends that."""
        return self._folded.connect(on_event)

    def focus(self, task: TaskKey | None) -> None:
        """Poll this task more often than the others; None: no task."""
        self._steering.focus(task)

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's points, oldest first: the stored ones, then the trail in memory."""
        known = self.fleet.tasks.get(task)
        trail = known.trail if known is not None else ()
        if self._store is None:
            return trail
        try:
            stored = await self._store.progress(task)
        except StorageError as error:
            self._report_storage(error.message)
            return trail
        first = trail[0].at if trail else float("inf")
        return (*(point for point in stored if point.at < first), *trail)

    def read_log(self, task: TaskKey) -> None:
        """Read the log of an ended task again now; an event brings the result."""
        if (reader := self._log_readers.get(task.machine)) is not None:
            reader.read_again(task)

    def give_way(self) -> None:
        """Take nothing of a machine for a moment: the operator pressed a key."""
        self._intake.give_way()

    # The loop

    def begin(self) -> None:
        """Start the loop while the rest of the program starts up; `run` then takes it over."""
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
                        connection.run(partial(self._receive, name)), name=f"connection to {name}"
                    )
                for name, reader in self._log_readers.items():
                    tasks.create_task(
                        reader.run(lambda: self.fleet, self._clock.now, self.post),
                        name=f"logs of {name}",
                    )
                tasks.create_task(self._publisher.run(), name="publisher")
                tasks.create_task(self._tick(), name="ticks")
                if self._writer is not None:
                    tasks.create_task(self._writer.run(), name="event writer")
                if self._store is not None:
                    acknowledgements = follow_acknowledgements(
                        self._store, lambda: self.fleet, self._clock.now, self.post
                    )
                    tasks.create_task(acknowledgements, name="acknowledgements")
                await self._loop()
        finally:
            self._intake.close()
            if self._writer is not None:
                await self._writer.flush()

    async def _loop(self) -> None:
        while True:
            await self._intake.turn()
            self._steering.steer(self.fleet, self._clock.now(), passing=self._intake.is_passed)
            ended, self._cycle_ended = self._cycle_ended, asyncio.Event()
            ended.set()

    async def first_poll(self, timeout: float) -> bool:
        """Wait until every machine was polled once, or can't be.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            False when the timeout passed first.
        """
        try:
            async with asyncio.timeout(timeout):
                while not self.has_polled:
                    await self._cycle_ended.wait()
        except TimeoutError:
            return False
        return True

    def awaited(self) -> tuple[str, ...]:
        """Return the machines and processes that the first poll waits for, in words."""
        return tuple(map(awaited_words, awaited(self.fleet, self._listed, self._read)))

    def _receive(self, machine: MachineName, received: Received) -> None:
        self._intake.receive(machine, received, self._clock.now())

    def _decode(self, name: MachineName, received: Received, at: float) -> tuple[Event, ...]:
        return self._observers[name].events_of(received, at)

    def _note_decoded(self, name: MachineName, received: Received) -> None:
        self._steering.outdate(name)
        if isinstance(received, Frame) and received.kind in {"hello", "processes"}:
            self._steering.steer_at_once(name)
            if received.kind == "processes":
                self._listed.add(name)

    def _take(self, name: MachineName | None, event: Event) -> None:
        """Take an event of a machine into the fleet; None: it was posted."""
        before = self.fleet
        self._apply(event)
        for each in tuple(timed_spin_ups(before, self.fleet, event)):
            self._apply(each)
        if name is not None and changes_polls(before, self.fleet, event):
            self._steering.note_state_change(name)

    def _apply(self, event: Event) -> None:
        """Fold an event in, publish and store the result, and pass the event to all listeners."""
        fleet = advance(self.fleet, event, self._rules)
        if isinstance(event, TasksSeen | ReadFailed) and event.process not in self._read:
            self._read.add(event.process)
            self._steering.steer_at_once(event.process.machine)
        if isinstance(event, TimePassed):
            self._forget(fleet)
        self._publisher.change(fleet, urgent=not isinstance(event, _AGE_EVENTS))
        self._nudge_log_reader(event)
        if self._writer is not None:
            self._writer.take(event, fleet)
        if self._record is not None:
            try:
                self._record(event)
            except StorageError as error:
                self._record = None
                self._open_finding(recording_stopped(error.message, event.at))
        self._folded.emit(event)

    def _forget(self, fleet: Fleet) -> None:
        """Drop the state of processes and tasks that left the fleet."""
        self._read &= fleet.processes.keys()
        if self._writer is not None:
            self._writer.forget(fleet)

    def _nudge_log_reader(self, event: Event) -> None:
        """Wake a machine's log reader where `event` may have ended a task, or read its log."""
        match event:
            case LinkChanged():
                name = event.machine
            case ProbeAnswered(machine=name):
                if (reader := self._log_readers.get(name)) is not None:
                    reader.forget_failures()
            case ProcessGone() | DeadEvalFound():
                name = event.process.machine
            case TasksSeen():
                if not has_finishing_task(self.fleet, event.process):
                    return
                name = event.process.machine
            case LogRead() | LogUnreadable():
                name = event.task.machine
                if (reader := self._log_readers.get(name)) is not None:
                    reader.note_folded(event.task)
            case _:
                return
        reader = self._log_readers.get(name)
        if reader is not None:
            reader.nudge()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_INTERVAL_S)
            self._steering.outdate_all()
            self.post(TimePassed(at=self._clock.now(), keep_gone=self._watch.keep_gone))

    def _merge(self, same: Sequence[SameFinding]) -> None:
        """Give findings the ids by which the history, and so another room, knows them."""
        self.post(FindingsMerged(at=self._clock.now(), same=tuple(same)))

    # Findings about the desk itself

    def _report_storage(self, reason: str | None) -> None:
        """Open the finding that events are not stored, and why; None: close it."""
        at = self._clock.now()
        if reason is None:
            found = storage_works(self.fleet, at)
        else:
            found = (storage_failed(self.fleet, reason, at),)
        self._publisher.change(with_findings(self.fleet, found))

    def report_notifying(self, reason: str | None) -> None:
        """Open the finding that notifications are not sent, and why; None: close it."""
        at = self._clock.now()
        if reason is None:
            found = notifying_works(self.fleet, at)
        else:
            found = (notifying_failed(self.fleet, reason, at),)
        self._publisher.change(with_findings(self.fleet, found))

    def _open_finding(self, finding: Finding) -> None:
        self._publisher.change(with_findings(self.fleet, (finding,)))
