"""Runs one probe over an open link: starts it, sends and receives frames, notices its end.

Reading never waits for a write, for a request or for the callback that takes the frames.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from core.config.model import WatchConfig
from core.ctl.decode import as_number
from core.errors import (
    BrokenFrame,
    LinkLost,
    MachineError,
    ProbeBroken,
    RequestFailed,
    TooBusy,
    first_error,
)
from core.frames import Frame, PartsBudget, Splitter, encode
from core.ids import MachineName
from core.ports import Reply
from core.text import shown
from ssh.handshake import ErrorTail, incomplete_python, start_python
from ssh.links.link import Link, Program
from ssh.read_pace import ReadGate, ReadPace
from ssh.second_part import send_second_part
from ssh.send_queue import QueuedFrame, SendQueue
from ssh.shipped_program import sent_parts

BEAT_EVERY_S = 10.0
"""Seconds between two heartbeats; the probe exits when they stop for its lease."""
HELLO_TIMEOUT_S = 15.0
"""How long a probe that has arrived may take to send `hello`, seconds."""
START_TIMEOUT_S = 15.0
"""How long the link may take to start a program, seconds."""
MAX_PENDING_REQUESTS = 32
"""Most requests that wait for a reply at once."""
REPLY_GRACE_S = 3.0
"""How long past a request's deadline the desk waits for the probe's own timeout, seconds."""
WRITE_TIMEOUT_S = 60.0
"""How long one write may take, seconds."""
READ_RATE_BYTES = 6 * 1024 * 1024
"""Bytes per second that are read from a probe in the long run; many times the usual."""
READ_BURST_BYTES = 96 * 1024 * 1024
"""Bytes that may come at once: three of the largest answers."""
FRAMES_AT_ONCE = 100
"""After so many frames of one read, the event loop has a turn."""
FRAME_COST_BYTES = 4096
"""As so many bytes counts the work for each frame."""
_PARTS = PartsBudget()
"""Of all sessions of this process."""
_CRASHED = b"Traceback (most recent call last)"
PROBE_MARKER = "evalroom-probe"
"""The probe's first argument; identifies it in `ps`."""

CLOCK_FIELDS = (
    "as_of",
    "tokens_per_second",
    "total_time",
    "running_time",
    "working_time",
    "held_seconds",
    "window_seconds",
    "last_progress_at",
)
"""Fields of Inspect's answers that change over time although nothing happened."""


def probe_source() -> bytes:
    """Return the first part of the probe's source, as it is sent to machines."""
    return sent_parts("probe")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """Settings that a probe is started with.

    Attributes:
        desk: The id of this connection; a new probe ends older probes with the same id.
        python: The Python interpreter on the machine.
        data_dir: XDG_DATA_HOME of the evals; None: that of the login.
        read_only: Whether the probe refuses everything but reads.
        watch: How often the probe polls.
        lease: Seconds without a heartbeat after which it exits; at most 60. None: 60.
        clocks: Fields to ignore when the probe compares an answer with the last one.
    """

    desk: str
    python: str
    data_dir: str | None
    read_only: bool
    watch: WatchConfig = WatchConfig()
    lease: float | None = None
    clocks: tuple[str, ...] = CLOCK_FIELDS

    def start_frame(self) -> Frame:
        """Return the first frame to send to the probe."""
        return Frame(
            "start",
            {
                "desk": self.desk,
                "read_only": self.read_only,
                "data_dir": self.data_dir,
                "clocks": list(self.clocks),
                "facts_every": self.watch.facts_every,
                "discover_every": self.watch.discover_every,
                "lease": self.lease,
                "log_schemes": list(self.watch.log_schemes),
            },
        )


class ProbeSession:
    """One probe on an open link."""

    def __init__(
        self,
        machine: MachineName,
        link: Link,
        options: ProbeOptions,
        may_read: ReadGate | None = None,
        may_read_large: ReadGate | None = None,
    ) -> None:
        self._may_read = may_read
        self._may_read_large = may_read_large
        self._pace = ReadPace(rate=READ_RATE_BYTES, burst=READ_BURST_BYTES)
        self._machine = machine
        self._link = link
        self._options = options
        self._errors = ErrorTail(bytearray())
        self._queue = SendQueue()
        self._pending: dict[int, _Pending] = {}
        self._places = asyncio.Semaphore(MAX_PENDING_REQUESTS)
        self._ids = count(1)
        self._ended = False
        self.last_data_at = time.monotonic()
        """When data last arrived, monotonic seconds."""
        self.is_held = False
        """Whether reading waits for the desk."""
        self.had_hello = False
        """Whether the probe ever sent its `hello`."""
        self.is_up = False
        """Whether the probe sent its `hello`."""

    async def run(self, receive: Callable[[Frame], None]) -> None:
        """Start the probe and pass each of its frames to `receive`; ends only by an exception.

        To end the probe, cancel this and close the link.

        Raises:
            MachineError: The probe did not start, or ended.
        """
        try:
            program = await self._start_shell()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._errors.collect(program))
                tasks.create_task(self._run_probe(tasks, program, receive))
        except* MachineError as group:
            raise first_error(group) from None
        finally:
            self._fail_pending()

    def send(self, frame: Frame) -> bool:
        """Queue `frame`; False: no probe is up, or the queue is full."""
        return self._enqueue(frame) is not None

    def _enqueue(self, frame: Frame) -> QueuedFrame | None:
        if not self.is_up or self._ended:
            return None
        return self._queue.put(encode(frame), is_bounded=frame.kind != "program")

    def beat(self) -> None:
        """Send a heartbeat now."""
        self.send(Frame("beat"))

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """See `core.ports.MachineConnection.request`."""
        if self._places.locked():
            why = f"{MAX_PENDING_REQUESTS} requests to {self._machine} are already pending"
            raise TooBusy(why, "try again")
        frame = replace(frame, head={**frame.head, "deadline": deadline})
        async with self._places:
            return await self._ask(frame, deadline + REPLY_GRACE_S)

    async def _ask(self, frame: Frame, timeout: float | None = None) -> Reply:
        number = next(self._ids)
        try:
            queued = self._enqueue(replace(frame, head={**frame.head, "id": number}))
        except BrokenFrame as error:
            raise RequestFailed(f"not sent: {error.message}") from error
        if queued is None:
            raise RequestFailed(f"not sent: the link to {self._machine} is down")
        pending = _Pending(queued, asyncio.get_running_loop().create_future())
        self._pending[number] = pending
        try:
            async with asyncio.timeout(timeout):
                return await pending.answered
        except TimeoutError as error:
            why = f"no answer from {self._machine} within {timeout:.0f} s"
            if not queued.is_handed:
                why = f"not sent: {self._machine} accepted no data for {timeout:.0f} s"
            raise RequestFailed(why) from error
        finally:
            del self._pending[number]
            if not self._ended:
                self._queue.withdraw(queued)

    # -- inside

    async def _start_shell(self) -> Program:
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                return await self._link.start()
        except TimeoutError as error:
            raise LinkLost(
                self._machine,
                f"no program started on {self._machine} within {START_TIMEOUT_S:.0f} s",
                is_silent=True,
            ) from error

    async def _run_probe(
        self, tasks: asyncio.TaskGroup, program: Program, receive: Callable[[Frame], None]
    ) -> None:
        rest = await start_python(
            self._machine,
            self._link,
            program,
            python=self._options.python,
            source=probe_source(),
            arguments=(PROBE_MARKER, self._options.desk),
            errors=self._errors,
        )
        await program.write(encode(self._options.start_frame()))
        splitter = Splitter(_PARTS)
        data = rest
        deadline = asyncio.timeout(HELLO_TIMEOUT_S)

        def greet(hello: Frame) -> None:
            deadline.reschedule(None)
            tasks.create_task(send_second_part(self._machine, hello, self._ask))
            tasks.create_task(self._write(program))
            tasks.create_task(self._send_beats())

        try:
            async with deadline:
                while True:
                    if data:
                        self.last_data_at = time.monotonic()
                    count = await self._pass_on(splitter, data, receive, greet)
                    await self._until_read_on(len(data) + count * FRAME_COST_BYTES)
                    if splitter.parts_size:
                        await self._until_set(self._may_read_large)
                    data = await program.read()
                    if not data:
                        raise await self._end_error(program, clean=splitter.is_between_frames)
        except TimeoutError as error:
            raise ProbeBroken(
                self._machine,
                f"the probe on {self._machine} did not answer: {self._last_error_line()}",
            ) from error

    async def _pass_on(
        self,
        splitter: Splitter,
        data: bytes,
        receive: Callable[[Frame], None],
        greet: Callable[[Frame], None],
    ) -> int:
        """Handle the frames that `data` completes, and return their number; none is kept here."""
        frames = self._frames(splitter, data)
        for number, frame in enumerate(frames, 1):
            if not number % FRAMES_AT_ONCE:
                await asyncio.sleep(0)
            if frame.kind == "hello" and not self.is_up:
                self.is_up = self.had_hello = True
                greet(frame)
            self._handle(frame, receive)
        return len(frames)

    async def _until_read_on(self, size: int) -> None:
        """Wait while the desk is behind, or has had too much; the machine is not silent then."""
        await self._pace.after(size)
        await self._until_set(self._may_read)

    async def _until_set(self, may_read: ReadGate | None) -> None:
        if may_read is not None and not may_read.is_set():
            self.is_held = True
            await may_read.wait()
            self.is_held = False
        self.last_data_at = time.monotonic()

    def _frames(self, splitter: Splitter, data: bytes) -> list[Frame]:
        try:
            return list(splitter.feed(data))
        except BrokenFrame as error:
            raise ProbeBroken(
                self._machine,
                f"the probe on {self._machine} sent invalid data: {error.message}",
            ) from error

    def _handle(self, frame: Frame, receive: Callable[[Frame], None]) -> None:
        number: object = frame.head.get("id")
        pending = self._pending.get(number) if type(number) is int else None
        answered = pending.answered if pending is not None else None
        if answered is not None and not answered.done():
            if frame.kind in {"reply", "facts"}:
                answered.set_result(_reply(frame))
            elif frame.kind == "refused":
                text = shown(frame.head.get("error"))
                why = f"the probe on {self._machine} refused a request: {text}"
                if "too many" in text:
                    answered.set_exception(TooBusy(why))
                else:
                    answered.set_exception(RequestFailed(f"not sent: {why}"))
        if frame.kind == "bye":
            reason = shown(frame.head.get("reason"))
            raise LinkLost(self._machine, f"the probe on {self._machine} ended: {reason}")
        if frame.kind != "reply":
            receive(frame)

    async def _write(self, program: Program) -> None:
        while True:
            data = await self._queue.next_write()
            try:
                async with asyncio.timeout(WRITE_TIMEOUT_S):
                    await program.write(data)
            except TimeoutError as error:
                raise LinkLost(
                    self._machine,
                    f"{self._machine} accepted no data for {WRITE_TIMEOUT_S:.0f} s",
                    is_silent=True,
                ) from error

    async def _send_beats(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(BEAT_EVERY_S)

    async def _end_error(self, program: Program, *, clean: bool) -> MachineError:
        status = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                status = await program.wait()
        await self._errors.wait_whole()
        if status and self._errors.data:
            incomplete = incomplete_python(self._machine, self._errors.text())
            if incomplete is not None:
                return incomplete
            known = self._link.explain(status, self._errors.text())
            if isinstance(known, LinkLost) and _CRASHED not in self._errors.data:
                return known
            return ProbeBroken(
                self._machine,
                f"the probe on {self._machine} crashed (exit {status}): {self._last_error_line()}",
            )
        cut = "" if clean else " in the middle of a message"
        return LinkLost(self._machine, f"the connection to {self._machine} ended{cut}")

    def _last_error_line(self) -> str:
        lines = self._errors.text().splitlines()
        return shown(lines[-1], 300) if lines else "no error output"

    def _fail_pending(self) -> None:
        self._ended, self.is_up = True, False
        for pending in self._pending.values():
            if pending.answered.done():
                continue
            if pending.queued.is_handed:
                why = f"the link to {self._machine} was lost before the answer arrived"
            else:
                why = f"not sent: the link to {self._machine} was lost"
            pending.answered.set_exception(RequestFailed(why))


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that waits for its reply."""

    queued: QueuedFrame
    answered: asyncio.Future[Reply]


def _reply(frame: Frame) -> Reply:
    head = frame.head
    status: Any = head.get("status")
    error: Any = head.get("error")
    return Reply(
        at=as_number(head.get("at")) or 0.0,
        took=max(0.0, as_number(head.get("took")) or 0.0),
        status=status if type(status) is int else None,
        error=str(error) if error is not None else None,
        body=frame.body,
    )
