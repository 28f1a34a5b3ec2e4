"""A connection without a machine: sends what a test gives it, keeps what it receives."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from core.errors import RequestFailed
from core.events import LinkChanged
from core.frames import Frame
from core.ids import MachineName
from core.model.job import Job
from core.model.machine import LinkState
from core.ports import Received, Reply, SignIn

Answer = Callable[[Frame], Reply | RequestFailed]


class FakeConnection:
    """Fulfils `core.ports.MachineConnection`.

    Args:
        machine: Whose it is.
        received: Its first frames.
        answer: Its answer to a request; by default it refuses all.
    """

    def __init__(
        self, machine: MachineName, *received: Received, answer: Answer | None = None
    ) -> None:
        self._machine = machine
        self.received = received
        self._answer = answer
        self._receive: Callable[[Received], None] | None = None
        self.sent: list[Frame] = []
        self.requests: list[Frame] = []
        self.retried = 0
        self.held: list[bool] = []
        self.held_large: list[bool] = []
        self.accepted: list[str] = []
        self.signs_in: SignIn | None = None
        self.at_once = 0
        self.most_at_once = 0
        self.jobs: list[Job] = []
        self.do: Callable[[Job], Mapping[str, Any]] | None = None

    @property
    def machine(self) -> MachineName:
        return self._machine

    async def run(self, receive: Callable[[Received], None]) -> None:
        self._receive = receive
        for each in self.received:
            receive(each)
        await asyncio.Event().wait()

    def say(self, *received: Received) -> None:
        """Say something now."""
        assert self._receive is not None
        for each in received:
            self._receive(each)

    def send(self, frame: Frame) -> bool:
        self.sent.append(frame)
        return True

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        assert deadline > 0
        self.requests.append(frame)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            answer = self._answer(frame) if self._answer is not None else RequestFailed("no answer")
        finally:
            self.at_once -= 1
        if isinstance(answer, RequestFailed):
            raise answer
        return answer

    async def work(self, job: Job, *, deadline: float) -> Mapping[str, Any]:
        assert deadline > 0
        self.jobs.append(job)
        await asyncio.sleep(0)
        if self.do is None:
            raise RequestFailed("not sent: this connection does no jobs")
        return self.do(job)

    def hold(self, *, is_held: bool) -> None:
        self.held.append(is_held)

    def hold_large(self, *, is_held: bool) -> None:
        self.held_large.append(is_held)

    def retry_now(self) -> None:
        self.retried += 1

    def accept_key(self, fingerprint: str) -> None:
        self.accepted.append(fingerprint)

    async def sign_in(self) -> SignIn | None:
        return self.signs_in


def up(machine: MachineName, at: float = 0.0) -> LinkChanged:
    """The link is up."""
    return LinkChanged(at=at, machine=machine, state=LinkState.UP)


def down(machine: MachineName, at: float = 0.0) -> LinkChanged:
    """The link is down."""
    return LinkChanged(at=at, machine=machine, state=LinkState.DOWN, reason="no route to host")


def reply(body: Mapping[str, Any] | bytes = b"{}", *, status: int = 0) -> Reply:
    """A good answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(at=0.0, took=0.01, status=status, error=None, body=raw)


def logs(frame: Frame, status: str, **more: Any) -> Reply:
    """The answer to a read of logs: each of them has this status."""
    header: dict[str, Any] = {"status": status, "eval": {}, "results": None}
    asked = frame.head["asked"]["logs"]
    return reply({"answers": [{"log": each, "header": header, **more} for each in asked]})
