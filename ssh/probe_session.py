"""One probe's life on a link: started by the hand-shake, frames in and out, until it ends.

Reading never waits for writing, for a request or for what hears the frames.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
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
)
from core.frames import Frame, Splitter, encode
from core.ids import MachineName
from core.ports import Reply
from core.text import shown
from ssh.handshake import ErrorTail, shake_hands
from ssh.links.link import Link, Program
from ssh.shipped_program import shipped_program

BEAT = 10.0
"""Seconds between two beats of ours: the probe's lease."""
HELLO = 10.0
"""Seconds that a started probe has for its first word."""
CHANNEL = 15.0
"""Seconds that the start of a program may take."""
MAX_OUT = 32
"""Most requests that are out at once."""
MAX_WAITING = 4_000
"""Most frames that wait to be written."""
GRACE = 3.0
"""Seconds past a request's deadline until the desk itself gives up on it."""
STALLED = 60.0
"""Seconds that one write may take."""
MARK = "evalroom-probe"

CLOCKS = (
    "as_of",
    "tokens_per_second",
    "total_time",
    "running_time",
    "working_time",
    "held_seconds",
    "window_seconds",
    "last_progress_at",
)
"""Fields of Inspect's answers that move although nothing happened."""


def probe_source() -> bytes:
    """Return the program that runs on machines, as it is sent there."""
    return shipped_program("probe")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """What a probe is started with.

    Attributes:
        desk: Marks the probes of one station, so that a new one ends a former one.
        python: The interpreter over there.
        data_dir: The XDG_DATA_HOME of the evals; None: the login's.
        lease: Seconds without a beat until it exits; None: its own 60. Only shorter counts.
    """

    desk: str
    python: str
    data_dir: str | None
    read_only: bool
    watch: WatchConfig = WatchConfig()
    lease: float | None = None
    clocks: tuple[str, ...] = CLOCKS

    def start_frame(self) -> Frame:
        """Return the first frame for a probe."""
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
            },
        )


class ProbeSession:
    """A probe on an open link."""

    def __init__(self, machine: MachineName, link: Link, options: ProbeOptions) -> None:
        self._machine = machine
        self._link = link
        self._options = options
        self._errors = ErrorTail(bytearray())
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._asked: dict[int, asyncio.Future[Reply]] = {}
        self._ids = count(1)
        self._ended = False
        self.heard_at = time.monotonic()
        """When anything last came, monotonic seconds."""
        self.is_up = False
        """Whether its probe said hello."""

    async def run(self, hear: Callable[[Frame], None]) -> None:
        """Start a probe, tell `hear` its frames, and never return by itself.

        Closing the link is what ends the probe.

        Raises:
            MachineError: Why it ended, or did not start.
        """
        try:
            program = await self._started()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_errors(program))
                tasks.create_task(self._talk(tasks, program, hear))
        except* MachineError as group:
            raise _first(group) from None
        finally:
            self._end()

    def send(self, frame: Frame) -> bool:
        """Queue `frame`; False when no probe takes it."""
        if not self.is_up or self._ended or len(self._waiting) >= MAX_WAITING:
            return False
        self._waiting.append(encode(frame))
        self._news.set()
        return True

    def beat(self) -> None:
        """Beat now."""
        self.send(Frame("beat"))

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """See `core.ports.Station.request`."""
        if len(self._asked) >= MAX_OUT:
            raise TooBusy(f"{MAX_OUT} requests to {self._machine} are out already", "try again")
        number = next(self._ids)
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[number] = answered
        try:
            if not self.send(Frame(frame.kind, {**frame.head, "id": number, "deadline": deadline})):
                raise RequestFailed(f"not sent: the link to {self._machine} is down")
            async with asyncio.timeout(deadline + GRACE):
                return await answered
        except TimeoutError as error:
            raise RequestFailed(
                f"no answer from {self._machine} in {deadline + GRACE:.0f} s{_maybe(frame)}"
            ) from error
        finally:
            del self._asked[number]

    # -- inside

    async def _started(self) -> Program:
        try:
            async with asyncio.timeout(CHANNEL):
                return await self._link.start()
        except TimeoutError as error:
            raise LinkLost(
                self._machine, f"{self._machine} opened no channel within {CHANNEL:.0f} s"
            ) from error

    async def _talk(
        self, tasks: asyncio.TaskGroup, program: Program, hear: Callable[[Frame], None]
    ) -> None:
        rest = await shake_hands(
            self._machine,
            self._link,
            program,
            python=self._options.python,
            source=probe_source(),
            arguments=(MARK, self._options.desk),
            errors=self._errors,
        )
        await program.write(encode(self._options.start_frame()))
        splitter = Splitter()
        data = rest
        deadline = asyncio.timeout(HELLO)
        try:
            async with deadline:
                while True:
                    if data:
                        self.heard_at = time.monotonic()
                    for frame in self._frames(splitter, data):
                        if frame.kind == "hello" and not self.is_up:
                            self.is_up = True
                            deadline.reschedule(None)
                            tasks.create_task(self._write(program))
                            tasks.create_task(self._beats())
                        self._take(frame, hear)
                    data = await program.read()
                    if not data:
                        raise await self._ending(program, clean=splitter.is_between_frames)
        except TimeoutError as error:
            raise ProbeBroken(
                self._machine, f"the probe on {self._machine} said nothing: {self._said()}"
            ) from error

    def _frames(self, splitter: Splitter, data: bytes) -> list[Frame]:
        try:
            return list(splitter.feed(data))
        except BrokenFrame as error:
            raise ProbeBroken(
                self._machine,
                f"what came from the probe on {self._machine} is no frame: {error.message}",
            ) from error

    def _take(self, frame: Frame, hear: Callable[[Frame], None]) -> None:
        number: object = frame.head.get("id")
        asked = self._asked.get(number) if type(number) is int else None
        if asked is not None and not asked.done():
            if frame.kind in {"reply", "facts"}:
                asked.set_result(_reply(frame))
            elif frame.kind == "refused":
                text = shown(frame.head.get("error"))
                wrong = TooBusy if "too many" in text else RequestFailed
                asked.set_exception(
                    wrong(f"not sent: the probe on {self._machine} refused: {text}")
                )
        if frame.kind == "bye":
            reason = shown(frame.head.get("reason"))
            raise LinkLost(self._machine, f"the probe on {self._machine} ended: {reason}")
        if frame.kind != "reply":
            hear(frame)

    async def _write(self, program: Program) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                size, batch = 0, list[bytes]()
                while self._waiting and size < MAX_BATCH:
                    batch.append(self._waiting.popleft())
                    size += len(batch[-1])
                try:
                    async with asyncio.timeout(STALLED):
                        await program.write(b"".join(batch))
                except TimeoutError as error:
                    raise LinkLost(
                        self._machine, f"{self._machine} took nothing for {STALLED:.0f} s"
                    ) from error

    async def _beats(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(BEAT)

    async def _read_errors(self, program: Program) -> None:
        while data := await program.read_error():
            self._errors.add(data)

    async def _ending(self, program: Program, *, clean: bool) -> MachineError:
        status = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                status = await program.wait()
                await asyncio.sleep(0.05)  # lets the reader of the errors take the rest
        if status and self._errors.data:
            return ProbeBroken(
                self._machine, f"the probe on {self._machine} broke (exit {status}): {self._said()}"
            )
        cut = "" if clean else " in the middle of a message"
        return LinkLost(self._machine, f"the connection to {self._machine} ended{cut}")

    def _said(self) -> str:
        lines = self._errors.text().splitlines()
        return shown(lines[-1], 300) if lines else "it says nothing"

    def _end(self) -> None:
        self._ended, self.is_up = True, False
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(
                    RequestFailed(
                        f"the link to {self._machine} was lost before an answer came",
                        "what was asked for may have happened: read the state first",
                    )
                )


MAX_BATCH = 256 * 1024
"""Bytes that are joined to one write."""


def _first(group: BaseExceptionGroup[MachineError]) -> MachineError:
    inner = group.exceptions[0]
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner


def _maybe(frame: Frame) -> str:
    return "; it may have been applied" if frame.kind == "send" else ""


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
