"""A network between a test's ssh and its sshd: delay, rate, and blackouts one way or both.

It is a TCP proxy on a loopback port, in the event loop of the test. During a blackout nothing
passes and no connection ends: what was sent arrives after it, as with TCP's own repeats.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.waiting import until

CHUNK_BYTES = 1024
LONGEST_BLACKOUT_S = 600.0


@dataclass
class Weather:
    """The state of the network; a test may change it at any time.

    Attributes:
        port: Where it listens.
        rate: Bytes per second each way; None: unlimited.
        delay: Seconds that each byte takes.
        out_is_dark: Whether nothing passes towards the machine.
        back_is_dark: Whether nothing passes from it.
        connections: How many connections were opened so far.
        meetings: The connections that are open.
    """

    port: int = 0
    rate: float | None = None
    delay: float = 0.0
    out_is_dark: bool = False
    back_is_dark: bool = False
    connections: int = 0
    meetings: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])

    def darken(self, *, out: bool = True, back: bool = True) -> None:
        """Begin a blackout."""
        self.out_is_dark, self.back_is_dark = out, back

    def clear(self) -> None:
        """End the blackout."""
        self.out_is_dark = self.back_is_dark = False

    async def carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_out: bool
    ) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)
        delivery = asyncio.create_task(self._deliver(waiting, writer, is_out=is_out))
        try:
            with contextlib.suppress(OSError):
                while data := await reader.read(CHUNK_BYTES):
                    if self.rate is not None:
                        await asyncio.sleep(len(data) / self.rate)
                    await waiting.put((time.monotonic() + self.delay, data))
            await waiting.put((time.monotonic() + self.delay, b""))
            await delivery
        finally:
            delivery.cancel()

    async def _deliver(
        self,
        waiting: "asyncio.Queue[tuple[float, bytes]]",
        writer: asyncio.StreamWriter,
        *,
        is_out: bool,
    ) -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await until(
                lambda: not (self.out_is_dark if is_out else self.back_is_dark),
                "the blackout ends",
                LONGEST_BLACKOUT_S,
            )
            with contextlib.suppress(OSError):
                if not data:
                    writer.close()
                    return
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def weather_before(port: int) -> AsyncGenerator[Weather]:
    """Yield the weather before a loopback port: `Weather.port` leads there."""
    weather = Weather()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        weather.connections += 1
        meeting = asyncio.current_task()
        assert meeting is not None
        weather.meetings.add(meeting)
        meeting.add_done_callback(weather.meetings.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        try:
            with contextlib.suppress(asyncio.CancelledError):
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(weather.carry(reader, far_writer, is_out=True))
                    tasks.create_task(weather.carry(far_reader, writer, is_out=False))
        finally:
            writer.transport.abort()
            far_writer.transport.abort()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    weather.port = server.sockets[0].getsockname()[1]
    try:
        yield weather
    finally:
        server.close()
        for meeting in weather.meetings:
            meeting.cancel()
        await asyncio.gather(*weather.meetings, return_exceptions=True)
