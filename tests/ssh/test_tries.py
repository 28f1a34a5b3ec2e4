"""Tries to link a machine: progress counts, and how long the pauses are."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.config.model import MachineConfig
from core.errors import HostKeyRefused, LinkLost, LinkRefused, MachineError
from core.events import LinkChanged
from core.ids import MachineName
from core.model.machine import LinkState
from core.ports import Received
from ssh.handshake import CHUNK_BYTES, ErrorTail, compressed, start_python
from ssh.link_supervisor import LinkSupervisor
from ssh.links.link import Link, LinkFactory
from ssh.probe_session import ProbeOptions, probe_source
from tests.support.reached import PYTHON, connection_of
from tests.support.receiving import receiving
from tests.support.waiting import until

M = MachineName("m")
SOURCE = probe_source()
OPTIONS = ProbeOptions(desk="d", python="python3", data_dir=None, read_only=True)


class Halting:
    """A link and its program: it answers a part of the program with marks, then nothing.

    Args:
        marks: How many chunks it takes; -1: it is not even ready.
        fails: Made and raised at each start.
        noise: What it prints again and again after that.
    """

    def __init__(
        self,
        marks: int = -1,
        fails: Callable[[], MachineError] | None = None,
        noise: bytes = b"",
    ) -> None:
        self._marks, self._fails, self._noise = marks, fails, noise
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        self._nonce = b""
        self.silences = 0

    async def open(self) -> None:
        pass

    async def start(self) -> "Halting":
        if self._fails is not None:
            raise self._fails()
        return self

    async def write(self, data: bytes) -> None:
        found = re.search(rb'n="(\w+)"\+"(\w+)"', data)
        if found and self._marks >= 0 and not self._nonce:
            self._nonce = b"".join(found.groups())
            self._out.put_nowait(b"ready " + self._nonce + b"\n")
        elif self._nonce and data.startswith(self._nonce):
            for _ in range(self._marks):
                self._out.put_nowait(b"got " + self._nonce + b"\n")

    async def read(self) -> bytes:
        if self._noise and self._nonce and self._out.empty():
            await asyncio.sleep(0.005)
            return self._noise
        return await self._out.get()

    async def read_error(self) -> bytes:
        return b""

    async def wait(self) -> int | None:
        return None

    async def close(self) -> None:
        pass

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        del status, stderr
        return None

    @property
    def login_timeout(self) -> float:
        return 0.0

    async def came_up(self) -> None:
        pass

    async def went_silent(self) -> None:
        self.silences += 1

    def advice(self) -> str | None:
        return None


async def start(link: Halting) -> bytes:
    """Start Python over the link."""
    return await start_python(
        M, link, await link.start(), python="python3", source=SOURCE, arguments=(),
        errors=ErrorTail(bytearray()),
    )  # fmt: skip


async def test_a_program_that_stops_arriving_is_given_up_as_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ssh.handshake.CHUNK_TIMEOUT_S", 0.2)
    with pytest.raises(LinkLost, match="m took no data for") as lost:
        await start(Halting(marks=3))
    assert lost.value.is_silent


@pytest.mark.parametrize(("noise", "output"), [(b"x" * 70_000, "over 1 MiB"), (b"x", "no data")])
async def test_noise_in_place_of_marks_is_not_progress(
    noise: bytes, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.handshake.CHUNK_TIMEOUT_S", 0.5)
    with pytest.raises(MachineError, match=output):
        await start(Halting(marks=1, noise=noise))


async def test_a_program_has_arrived_when_all_of_it_is_marked() -> None:
    chunks = -(-len(compressed(SOURCE, has_bz2=False)) // CHUNK_BYTES)
    assert chunks > 1
    assert await start(Halting(marks=chunks)) == b""


async def test_a_link_without_any_data_is_called_silent_and_blames_no_rc_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ssh.handshake.READY_TIMEOUT_S", 0.05)
    monkeypatch.setattr("ssh.handshake.LAST_READY_TIMEOUT_S", 0.05)
    with pytest.raises(LinkLost, match="the network or the machine is silent") as lost:
        await start(Halting())
    assert lost.value.is_silent
    assert lost.value.advice == ""


def always(link: Link) -> LinkFactory:
    """Return a factory that makes this link."""

    def make_link(*, interactive: bool) -> Link:
        del interactive
        return link

    return make_link


async def pauses_of(link: Halting, count: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the first pauses between tries over the link, as seconds of the first pause."""
    unit = 0.02
    monkeypatch.setattr("ssh.link_supervisor.FIRST_BACKOFF_S", unit)
    monkeypatch.setattr("ssh.link_supervisor.SILENT_BACKOFF_S", 3 * unit)
    monkeypatch.setattr("ssh.link_supervisor.STABLE_AFTER_S", 0.0)
    found: list[float] = []

    def receive(received: Received) -> None:
        if isinstance(received, LinkChanged) and received.retry_at is not None:
            found.append((received.retry_at - received.at) / unit)

    running = asyncio.create_task(
        LinkSupervisor(M, address="m", make_link=always(link), options=OPTIONS).run(receive)
    )
    try:
        await until(lambda: len(found) >= count, f"{count} pauses", every=0.01)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    return found[:count]


async def test_tries_without_a_hello_back_off_however_long_each_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses = await pauses_of(Halting(fails=lambda: LinkLost(M, "no")), 6, monkeypatch)
    assert pauses[5] > 32 * 0.65


async def test_tries_on_a_silent_network_stay_frequent_and_the_link_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = Halting(fails=lambda: LinkLost(M, "no", is_silent=True))
    pauses = await pauses_of(link, 6, monkeypatch)
    assert pauses[5] < 3.1
    assert link.silences >= 6


@pytest.mark.parametrize("kind", [LinkRefused, HostKeyRefused])
async def test_a_link_refused_at_the_first_try_waits_for_the_operator(
    kind: type[MachineError],
) -> None:
    received: list[Received] = []
    link = Halting(fails=lambda: kind(M, "no"))
    supervisor = LinkSupervisor(M, address="m", make_link=always(link), options=OPTIONS)
    running = asyncio.create_task(supervisor.run(received.append))
    try:
        await until(lambda: len(received) > 1, "it is refused")
        last = received[-1]
        assert isinstance(last, LinkChanged)
        assert last.state is LinkState.REFUSED
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def test_frames_that_waited_while_the_computer_slept_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its wall clock runs ahead of the other one while it sleeps."""
    slept = 0.0
    clocks = SimpleNamespace(time=lambda: time.time() + slept, monotonic=time.monotonic)
    monkeypatch.setattr("ssh.link_supervisor.time", clocks)
    machine = MachineConfig(name=M, link="command", python=PYTHON)
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        await received.hello()
        await received.until(lambda: bool(received.frames("beat") or received.frames("facts")))
        slept = 300.0
        before = len(received.received)
        await received.link(LinkState.DOWN)
        first = received.received[before]
        assert isinstance(first, LinkChanged)
        assert "was asleep" in (first.reason or "")
        await received.until(lambda: len(received.frames("hello")) >= 2)
