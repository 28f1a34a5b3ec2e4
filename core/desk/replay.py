"""Replay: reads a recording (each event of a room as a line of JSON) and plays it again."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from io import TextIOWrapper
from itertools import count, islice
from pathlib import Path

from core.desk.step import advance
from core.desk.throttle import FleetPublisher
from core.errors import StorageError, Unsupported
from core.event_codec import event_of
from core.events import Event
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.task import ProgressPoint
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.named_file import open_to_read
from core.ports import Clock, Reply, Show, SignIn

MAX_LINE_CHARS = 64 * 1024 * 1024
"""Characters of the longest event of a recording; an answer of a machine has at most 32 MiB."""
_CHUNK_EVENTS = 500
"""Events that are read from the file at once."""


def read_recording(path: Path) -> Iterator[Event]:
    """Yield the events of a recording in the order they happened.

    An incomplete last line (the room was killed while writing) is left out.

    Raises:
        StorageError: The file can't be read, or a line of it is not an event.
    """
    try:
        with TextIOWrapper(open_to_read(path), encoding="utf-8") as file:
            for number in count(1):
                line = file.readline(MAX_LINE_CHARS + 1)
                if len(line) > MAX_LINE_CHARS:
                    raise StorageError(
                        f"line {number} of {path} is longer than any event",
                        "check that it is a recording",
                    )
                if not line.endswith("\n"):
                    return
                if line.strip():
                    yield _read(path, number, line)
    except OSError as error:
        raise StorageError(f"can't read the recording {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StorageError(f"can't read the recording {path}: it is not UTF-8 text") from error


def _read(path: Path, number: int, line: str) -> Event:
    try:
        return event_of(line)
    except ValueError as error:
        raise StorageError(
            f"line {number} of {path} is not an event: {error}",
            "play it with the version of evalroom that recorded it",
        ) from error


class ReplayDesk:
    """A room that plays a recording.

    Args:
        events: In the order they happened.
        clock: Paces the playing; screens show the recording's own time (`now`).
        speed: 2 plays twice as fast as it happened; 0 plays everything at once.
    """

    def __init__(self, events: Iterator[Event], *, clock: Clock, speed: float = 1.0) -> None:
        self._events = events
        self._clock = clock
        self._speed = speed
        self._publisher = FleetPublisher(Fleet())
        self._began: tuple[float, float] | None = None
        self._is_over = False
        self._broken: StorageError | None = None

    @property
    def fleet(self) -> Fleet:
        """All that was known at this moment of the recording."""
        return self._publisher.fleet

    @property
    def has_polled(self) -> bool:
        """True: a recording shows what it holds."""
        return True

    @property
    def is_replay(self) -> bool:
        """A recording plays."""
        return True

    def now(self) -> float:
        """Return the recording's time, Unix seconds; it stops at the recording's end."""
        if self._began is None or self._is_over or not self._speed:
            return self.fleet.at
        began, first = self._began
        return max(self.fleet.at, first + (self._clock.now() - began) * self._speed)

    async def run(self) -> None:
        """Play to the end; the last fleet stays.

        Raises:
            StorageError: The recording is broken; the fleet before the broken line stays.
        """
        async with asyncio.TaskGroup() as tasks:
            publisher = tasks.create_task(self._publisher.run(), name="publisher")
            try:
                while chunk := await asyncio.to_thread(self._next):
                    for event in chunk:
                        await self._play(event)
            finally:
                self._is_over = True
                publisher.cancel()
                self._publisher.publish()
        if self._broken is not None:
            raise self._broken

    def _next(self) -> list[Event]:
        events = list[Event]()
        try:
            events.extend(islice(self._events, _CHUNK_EVENTS))
        except StorageError as error:
            self._broken = error
        return events

    async def _play(self, event: Event) -> None:
        if self._began is None:
            self._began = (self._clock.now(), event.at)
        ahead = (event.at - self.now()) / self._speed if self._speed else 0.0
        await asyncio.sleep(max(0.0, ahead))
        self._publisher.change(advance(self.fleet, event))

    def post(self, event: Event) -> None:
        """Take an event in (`Dismissed`)."""
        self._publisher.change(advance(self.fleet, event))

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` with each update of the fleet, at most ten times a second.

        Returns:
            Ends the subscription.
        """
        return self._publisher.subscribe(show)

    def focus(self, task: TaskKey | None) -> None:
        """Do nothing: a recording can't be polled."""

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """Fail: only a live room can read.

        Raises:
            Unsupported: Always.
        """
        del process, path, deadline
        raise Unsupported("a replay can't read from an eval", "watch the eval live to read more")

    def retry(self, machine: MachineName) -> None:
        """Do nothing: a recording has no link."""

    def read_log(self, task: TaskKey) -> None:
        """Do nothing: a recording has no logs."""

    def poll_now(self, process: ProcessKey) -> None:
        """Do nothing: a recording can't be polled."""

    def give_way(self) -> None:
        """Do nothing: a replay takes little time."""

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        """Do nothing: a recording has no link."""

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        """Return None: a recording has no link."""
        del machine
        return None

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's points so far, oldest first."""
        known = self.fleet.tasks.get(task)
        return known.trail if known is not None else ()
