"""Runs a connection in a test and waits for its events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from core.events import LinkChanged
from core.frames import Frame
from core.model.machine import LinkState
from core.ports import MachineConnection, Received
from tests.support.waiting import WAIT_S, until


class Receiver:
    """All that a connection received, in order."""

    def __init__(self, connection: MachineConnection) -> None:
        self.connection = connection
        self.received: list[Received] = []

    def receive(self, received: Received) -> None:
        """Keep one event of the connection."""
        self.received.append(received)

    async def until(self, wanted: Callable[[], bool], seconds: float = WAIT_S) -> None:
        """Wait until `wanted()`."""
        await until(wanted, "the connection received it", seconds, every=0.01, seen=self._tail)

    def _tail(self) -> str:
        return "\n".join(str(received)[:300] for received in self.received[-12:])

    @property
    def links(self) -> list[LinkChanged]:
        """The link's states, in order."""
        return [received for received in self.received if isinstance(received, LinkChanged)]

    @property
    def state(self) -> LinkState | None:
        """The newest one."""
        return self.links[-1].state if self.links else None

    def frames(self, kind: str) -> list[Frame]:
        """The frames of a kind, in order."""
        return [
            received
            for received in self.received
            if isinstance(received, Frame) and received.kind == kind
        ]

    def processes(self) -> list[dict[str, Any]]:
        """The newest list of processes."""
        frames = self.frames("processes")
        return json.loads(frames[-1].body) if frames else []

    def facts(self) -> dict[str, Any]:
        """The newest facts."""
        facts: dict[str, Any] = json.loads(self.frames("facts")[-1].body)
        return facts

    async def link(self, state: LinkState, seconds: float = WAIT_S) -> LinkChanged:
        """Wait until the link is, or was for an instant, in `state`; return how it came there."""
        before = len(self.links)

        def found() -> LinkChanged | None:
            came = [each for each in self.links[before:] if each.state is state]
            return self.links[-1] if self.state is state else next(iter(came), None)

        return await until(found, f"the link is {state}", seconds, every=0.01, seen=self._tail)

    async def hello(self, seconds: float = WAIT_S) -> Frame:
        """Wait for a first hello, or for a state that waits for the operator."""
        stuck = {LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU, LinkState.REFUSED}
        await self.until(lambda: bool(self.frames("hello")) or self.state in stuck, seconds)
        assert self.frames("hello"), self.links[-1]
        return self.frames("hello")[-1]


@asynccontextmanager
async def receiving(connection: MachineConnection) -> AsyncGenerator[Receiver, None]:
    """Run `connection` for the block."""
    listener = Receiver(connection)
    task = asyncio.create_task(connection.run(listener.receive))
    try:
        yield listener
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
