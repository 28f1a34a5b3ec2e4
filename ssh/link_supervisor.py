"""Keeps the link to one machine up, and a probe running over it.

A lost link is retried with backoff and jitter, or at once on request. A failed host key check or
sign-in is never retried without the operator: repeated attempts can lock an account.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from core.errors import (
    LinkLost,
    LinkRefused,
    MachineError,
    NeedsTrust,
    NeedsYou,
    RequestFailed,
)
from core.events import LinkChanged
from core.frames import Frame
from core.ids import MachineName
from core.model.job import Job
from core.model.machine import LinkState
from core.ports import Heard, Reply, SignIn
from ssh.jobs import JOBS_AT_ONCE, do_job
from ssh.links.link import Link
from ssh.probe_session import ProbeOptions, ProbeSession

LAGGING = 10.0
"""Seconds of silence until a link counts as lagging."""
DOWN = 20.0
"""Seconds of silence until it is given up."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Backoff, seconds."""
GOOD = 10.0
"""Seconds that a session must last for the backoff to begin anew."""
ASLEEP = 15.0
"""Seconds that the wall clock may run ahead of ours: then this computer slept."""
CLOSING = 8.0
"""Seconds that closing may take at the end."""
OPEN = 40.0
"""Seconds that opening a link may take, whatever its own deadlines."""


class MakeLink(Protocol):
    """Makes a fresh link; `asking`: the operator is there to answer."""

    def __call__(self, *, asking: bool) -> Link:
        """Return a link that is not open yet."""
        ...


class Ramp:
    """Lets few connects begin at once: sshd drops bursts (MaxStartups)."""

    EVERYWHERE, EACH = 32, 5

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(self.EVERYWHERE)
        self._each: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncGenerator[None, None]:
        """Wait for a turn to connect to `address`."""
        each = self._each.setdefault(address, asyncio.Semaphore(self.EACH))
        if each.locked():
            await asyncio.sleep(random.uniform(0.0, 0.2))  # noqa: S311 - jitter
        async with each, self._all:
            yield


_RAMPS: WeakKeyDictionary[asyncio.AbstractEventLoop, Ramp] = WeakKeyDictionary()


def _ramp() -> Ramp:
    return _RAMPS.setdefault(asyncio.get_running_loop(), Ramp())


class LinkSupervisor:
    """The connection to one machine; implements `core.ports.MachineConnection`."""

    def __init__(
        self,
        machine: MachineName,
        *,
        address: str,
        make_link: MakeLink,
        options: ProbeOptions,
        trust: Callable[[str], None] | None = None,
        sign_in: Callable[[], Awaitable[SignIn | None]] | None = None,
    ) -> None:
        self._machine = machine
        self._address = address
        self._make_link = make_link
        self._options = options
        self._trust = trust
        self._sign_in = sign_in
        self._hear: Callable[[Heard], None] = _unheard
        self._session: ProbeSession | None = None
        self._state: LinkState | None = None
        self._again = asyncio.Event()
        self._asking = False
        self._needs: NeedsTrust | None = None
        self._failures = 0
        self._advice: str | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._link: Link | None = None
        self._working = asyncio.Semaphore(JOBS_AT_ONCE)

    @property
    def machine(self) -> MachineName:
        """Whose it is."""
        return self._machine

    async def run(self, hear: Callable[[Heard], None]) -> None:
        """See `core.ports.MachineConnection.run`."""
        self._hear = hear
        self._say(LinkState.CONNECTING)
        try:
            await self._keep()
        finally:
            if self._closing:
                await asyncio.wait(self._closing, timeout=CLOSING)

    async def _keep(self) -> None:
        while True:
            asking, self._asking = self._asking, False
            self._again.clear()
            try:
                await self._until_asked(asyncio.create_task(self._once(asking=asking)))
            except MachineError as error:
                await self._after(error)
            else:
                self._failures = 0

    def send(self, frame: Frame) -> bool:
        """See `core.ports.MachineConnection.send`."""
        return self._session is not None and self._session.send(frame)

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """See `core.ports.MachineConnection.request`."""
        if self._session is None or not self._session.is_up:
            raise RequestFailed(f"not sent: the link to {self._machine} is down")
        return await self._session.request(frame, deadline=deadline)

    async def work(self, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """See `core.ports.MachineConnection.work`."""
        if job.changes and self._options.read_only:
            raise RequestFailed(f"not sent: {self._machine} is read-only")
        link = self._link
        if link is None:
            raise RequestFailed(f"not sent: the link to {self._machine} is down")
        async with self._working:
            return await do_job(
                self._machine, link, job, python=self._options.python, deadline=deadline
            )

    def retry_now(self) -> None:
        """See `core.ports.MachineConnection.retry_now`."""
        if self._state is LinkState.UP:
            return
        self._asking = self._state is LinkState.NEEDS_YOU
        self._try_now()

    def accept_key(self, fingerprint: str) -> None:
        """See `core.ports.MachineConnection.accept_key`."""
        needs = self._needs
        if needs is None or needs.fingerprint != fingerprint or self._trust is None:
            return
        self._trust(needs.known_hosts_line)
        self._needs = None
        self._try_now()

    async def sign_in(self) -> SignIn | None:
        """See `core.ports.MachineConnection.sign_in`."""
        if self._sign_in is None or self._state is not LinkState.NEEDS_YOU:
            return None
        return await self._sign_in()

    # -- inside

    def _try_now(self) -> None:
        self._again.set()
        if self._state not in {None, LinkState.CONNECTING}:
            self._say(LinkState.CONNECTING)

    def _say(
        self, state: LinkState, error: MachineError | None = None, *, retry_at: float | None = None
    ) -> None:
        self._state = state
        self._hear(
            LinkChanged(
                at=time.time(),
                machine=self._machine,
                state=state,
                reason=error.message if error is not None else None,
                advice=(error.advice or None) if error is not None else self._advised(state),
                retry_at=retry_at,
                fingerprint=error.fingerprint if isinstance(error, NeedsTrust) else None,
            )
        )

    async def _until_asked(self, once: asyncio.Task[None]) -> None:
        """Run `once` until it fails, or until the operator asks for a fresh try."""
        asked = asyncio.create_task(self._again.wait())
        try:
            await asyncio.wait({once, asked}, return_when=asyncio.FIRST_COMPLETED)
            if once.done():
                once.result()
        finally:
            asked.cancel()
            once.cancel()
            with contextlib.suppress(MachineError, asyncio.CancelledError):
                await once

    async def _once(self, *, asking: bool) -> None:
        link = self._make_link(asking=asking)
        session = ProbeSession(self._machine, link, self._options)
        begun = time.monotonic()
        try:
            await self._open(link)
            self._session, self._link = session, link
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen(session, link))
                tasks.create_task(self._mind(session))
        except* MachineError as group:
            if session.is_up or time.monotonic() - begun > GOOD:
                self._failures = 0
            raise _inner(group) from None
        finally:
            self._session = self._link = None
            self._close(link)

    def _close(self, link: Link) -> None:
        """Close `link` beside what follows: a dead one takes its time."""
        closing = asyncio.create_task(link.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _open(self, link: Link) -> None:
        try:
            async with _ramp().turn(self._address), asyncio.timeout(OPEN):
                await link.open()
        except TimeoutError as error:
            raise LinkLost(
                self._machine, f"{self._machine} did not answer within {OPEN:.0f} s"
            ) from error

    async def _listen(self, session: ProbeSession, link: Link) -> None:
        def hear(frame: Frame) -> None:
            if frame.kind == "hello":
                self._advice = link.advice()
                self._say(LinkState.UP)
            elif self._state is LinkState.LAGGING:
                self._say(LinkState.UP)
            self._hear(frame)

        await session.run(hear)

    def _advised(self, state: LinkState) -> str | None:
        return self._advice if state is LinkState.UP else None

    async def _mind(self, session: ProbeSession) -> None:
        """Notice silence, and that this computer slept."""
        ahead = time.time() - time.monotonic()
        while True:
            await asyncio.sleep(1.0)
            if not session.is_up:
                continue
            drift = time.time() - time.monotonic() - ahead
            silent = time.monotonic() - session.heard_at
            if drift > ASLEEP:
                raise LinkLost(self._machine, "this computer slept: a fresh connection is made")
            ahead += drift
            if silent > DOWN:
                raise LinkLost(self._machine, f"no word from {self._machine} for {silent:.0f} s")
            if silent > LAGGING and self._state is LinkState.UP:
                error = LinkLost(self._machine, f"no word from {self._machine} for {silent:.0f} s")
                self._say(LinkState.LAGGING, error)
                session.beat()

    async def _after(self, error: MachineError) -> None:
        if isinstance(error, NeedsTrust):
            self._needs = error
            await self._wait_for_operator(LinkState.NEEDS_TRUST, error)
        elif isinstance(error, NeedsYou):
            await self._wait_for_operator(LinkState.NEEDS_YOU, error)
        elif isinstance(error, LinkRefused):
            await self._wait_for_operator(LinkState.REFUSED, error)
        else:
            pause = self._pause()
            self._failures += 1
            self._say(LinkState.DOWN, error, retry_at=time.time() + pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._again.wait()

    async def _wait_for_operator(self, state: LinkState, error: MachineError) -> None:
        self._failures = 0
        self._say(state, error)
        await self._again.wait()

    def _pause(self) -> float:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self._failures)
        return longest * random.uniform(0.7, 1.0)  # noqa: S311 - jitter


def fresh_desk() -> str:
    """Return the mark of one connection's probes: a new probe ends a former one of its own."""
    return secrets.token_hex(8)


def with_lease(options: ProbeOptions, lease: float) -> ProbeOptions:
    """Return `options` with a shorter life for a probe that hears nothing, seconds."""
    return replace(options, lease=lease)


def _inner(group: BaseExceptionGroup[MachineError]) -> MachineError:
    inner = group.exceptions[0]
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner


def _unheard(_: Heard) -> None:
    return
