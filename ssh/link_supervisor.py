"""Keeps the link to one machine up, and a probe running over it.

A lost link is retried with backoff and jitter, or at once on request. So is a link that was up
before and is refused now: its container restarts, or its host shuts down. A failed host key check
or sign-in is never retried without the operator: repeated attempts can lock an account.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

from core.errors import (
    HostKeyRefused,
    LinkLost,
    LinkRefused,
    MachineError,
    NeedsTrust,
    NeedsYou,
    RequestFailed,
    first_error,
)
from core.events import LinkChanged
from core.frames import Frame
from core.ids import MachineName
from core.model.job import Job
from core.model.machine import LinkState
from core.ports import Received, Reply, SignIn
from core.read_only import frame_reads
from ssh.first_of import first_of
from ssh.home_logs import NO_INSPECT, HomeLogs
from ssh.jobs import MAX_JOBS_PER_LINK, do_job
from ssh.links.agent import AgentWatch
from ssh.links.link import Link, LinkFactory
from ssh.probe_session import ProbeOptions, ProbeSession
from ssh.read_pace import ReadGate

LAGGING_AFTER_S = 10.0
"""After this long without data a link counts as lagging, seconds."""
DOWN_AFTER_S = 20.0
"""After this long without data a link is given up, seconds."""
FIRST_BACKOFF_S, MAX_BACKOFF_S = 1.0, 60.0
"""The first and the longest pause between attempts, seconds; it doubles each time."""
SILENT_BACKOFF_S = 3.0
"""The longest pause while the network is silent, seconds, so that the link is back soon after."""
SILENT_FOR_S = 1800.0
"""After an outage of this long the usual pauses hold for a silent network too, seconds."""
STABLE_AFTER_S = 10.0
"""A session that sent `hello` and lasted this long resets the backoff, seconds."""
SLEEP_DRIFT_S = 15.0
"""If the wall clock runs ahead of the monotonic clock by more seconds, this computer slept."""
CLOSE_TIMEOUT_S = 8.0
"""How long to wait for links to close when the supervisor ends, seconds."""
OPEN_TIMEOUT_S = 600.0
"""Last limit for opening a link, seconds. The link's own timeouts are far shorter, for each of its
jump hosts, and leave the operator time to type a password."""


class ConnectLimiter:
    """Limits how many connects run at once: sshd drops bursts of them (MaxStartups)."""

    MAX_TOTAL, MAX_PER_ADDRESS = 32, 5

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(self.MAX_TOTAL)
        self._each: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def slot(self, address: str) -> AsyncGenerator[None, None]:
        """Hold a slot for connecting to `address`; waits until one is free."""
        each = self._each.setdefault(address, asyncio.Semaphore(self.MAX_PER_ADDRESS))
        if each.locked():
            await asyncio.sleep(random.uniform(0.0, 0.2))  # noqa: S311 - jitter
        async with each, self._all:
            yield


_LIMITERS: WeakKeyDictionary[asyncio.AbstractEventLoop, ConnectLimiter] = WeakKeyDictionary()


def _limiter() -> ConnectLimiter:
    return _LIMITERS.setdefault(asyncio.get_running_loop(), ConnectLimiter())


class LinkSupervisor:
    """The connection to one machine; implements `core.ports.MachineConnection`."""

    def __init__(
        self,
        machine: MachineName,
        *,
        address: str,
        make_link: LinkFactory,
        options: ProbeOptions,
        accept: Callable[[str], None] | None = None,
        sign_in: Callable[[], Awaitable[SignIn | None]] | None = None,
        agent: AgentWatch | None = None,
        on_asked: Callable[[], None] = lambda: None,
    ) -> None:
        self._machine = machine
        self._address = address
        self._make_link = make_link
        self._options = options
        self._accept = accept
        self._sign_in = sign_in
        self._agent = agent
        self._on_asked = on_asked
        self._receive: Callable[[Received], None] = _ignore
        self._session: ProbeSession | None = None
        self._state: LinkState | None = None
        self._retry = asyncio.Event()
        self._may_read, self._may_read_large = ReadGate(), ReadGate()
        self._interactive = False
        self._needs_trust: NeedsTrust | None = None
        self._failures = 0
        self._was_up = False
        self._clock_ahead = 0.0
        """The wall clock minus the monotonic clock at the last check, seconds."""
        self._lost_at: float | None = None
        """Start of the present outage, monotonic seconds; None: the link is up."""
        self._advice: str | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._link: Link | None = None
        self._home_logs = HomeLogs()
        self._job_slots = asyncio.Semaphore(MAX_JOBS_PER_LINK)

    @property
    def machine(self) -> MachineName:
        """The machine's name."""
        return self._machine

    async def run(self, receive: Callable[[Received], None]) -> None:
        """See `core.ports.MachineConnection.run`."""
        self._receive = receive
        self._report(LinkState.CONNECTING)
        try:
            await self._run_sessions()
        finally:
            await self._wait_closed()

    async def _run_sessions(self) -> None:
        while True:
            interactive, self._interactive = self._interactive, False
            self._retry.clear()
            if self._agent is not None:
                self._agent.forget_help()
            try:
                session = asyncio.create_task(self._run_session(interactive=interactive))
                await self._until_retry(session)
            except MachineError as error:
                await self._wait_after(error)
            else:
                self._failures = 0

    def send(self, frame: Frame) -> bool:
        """See `core.ports.MachineConnection.send`."""
        if self._options.read_only and not frame_reads(frame.kind):
            return False
        return self._session is not None and self._session.send(frame)

    async def request(self, frame: Frame, *, deadline: float) -> Reply:
        """See `core.ports.MachineConnection.request`."""
        if self._options.read_only and not frame_reads(frame.kind):
            raise RequestFailed(f"not sent: {self._machine} is read-only")
        if self._session is None or not self._session.is_up:
            raise RequestFailed(f"not sent: the link to {self._machine} is down")
        session = self._session
        reply = await session.request(frame, deadline=deadline)
        if frame.kind == "logs" and reply.error == NO_INSPECT:
            return await self._home_logs.answer(
                frame, reply, lambda each: session.request(each, deadline=deadline)
            )
        return reply

    async def work(self, job: Job, *, deadline: float) -> Mapping[str, Any]:
        """See `core.ports.MachineConnection.work`."""
        if job.changes and self._options.read_only:
            raise RequestFailed(f"not sent: {self._machine} is read-only")
        link = self._link
        if link is None:
            raise RequestFailed(f"not sent: the link to {self._machine} is down")
        async with self._job_slots:
            return await do_job(
                self._machine, link, job, python=self._options.python, deadline=deadline
            )

    def hold(self, *, is_held: bool) -> None:
        """See `core.ports.MachineConnection.hold`."""
        self._may_read.hold(is_held=is_held)

    def hold_large(self, *, is_held: bool) -> None:
        """See `core.ports.MachineConnection.hold_large`."""
        self._may_read_large.hold(is_held=is_held)

    def retry_now(self) -> None:
        """See `core.ports.MachineConnection.retry_now`."""
        if self._state is LinkState.UP:
            return
        self._interactive = self._state is LinkState.NEEDS_YOU
        self._try_now()

    def accept_key(self, fingerprint: str) -> None:
        """See `core.ports.MachineConnection.accept_key`."""
        needs = self._needs_trust
        if needs is None or needs.fingerprint != fingerprint or self._accept is None:
            return
        self._accept(needs.known_hosts_line)
        self._needs_trust = None
        self._try_now()

    async def sign_in(self) -> SignIn | None:
        """See `core.ports.MachineConnection.sign_in`."""
        if self._sign_in is None or self._state is not LinkState.NEEDS_YOU:
            return None
        return await self._sign_in()

    # -- inside

    def _try_now(self) -> None:
        self._on_asked()
        self._retry.set()
        if self._state not in {None, LinkState.CONNECTING}:
            self._report(LinkState.CONNECTING)

    def _report(
        self, state: LinkState, error: MachineError | None = None, *, retry_at: float | None = None
    ) -> None:
        self._state = state
        self._receive(
            LinkChanged(
                at=time.time(),
                machine=self._machine,
                state=state,
                reason=error.message if error is not None else None,
                advice=(error.advice or None) if error is not None else self._link_advice(state),
                retry_at=retry_at,
                fingerprint=error.fingerprint if isinstance(error, NeedsTrust) else None,
            )
        )

    async def _until_retry(self, session: asyncio.Task[None]) -> None:
        """Run `session` until it fails, or until the operator asks for a retry."""
        retry = asyncio.create_task(self._retry.wait())
        try:
            await asyncio.wait({session, retry}, return_when=asyncio.FIRST_COMPLETED)
            if session.done():
                session.result()
        finally:
            retry.cancel()
            session.cancel()
            with contextlib.suppress(MachineError, asyncio.CancelledError):
                await session

    async def _run_session(self, *, interactive: bool) -> None:
        link = self._make_link(interactive=interactive)
        session = ProbeSession(
            self._machine, link, self._options, self._may_read, self._may_read_large
        )
        started_at = time.monotonic()
        self._clock_ahead = time.time() - started_at
        try:
            await self._wait_closed()
            await self._open(link)
            self._session, self._link = session, link
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._relay_frames(session, link))
                tasks.create_task(self._watch_silence(session))
        except* MachineError as group:
            if session.had_hello and time.monotonic() - started_at > STABLE_AFTER_S:
                self._failures = 0
            error = first_error(group)
            if isinstance(error, LinkLost) and error.is_silent:
                await link.went_silent()
            raise error from None
        finally:
            self._session = self._link = None
            self._do_meanwhile(link.close())

    def _do_meanwhile(self, work: Coroutine[None, None, None]) -> None:
        """Do `work` in the background: closing a dead link takes seconds."""
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _wait_closed(self) -> None:
        """Wait for the former link to close, so that there is one try at a time."""
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSE_TIMEOUT_S)

    async def _open(self, link: Link) -> None:
        try:
            async with _limiter().slot(self._address), asyncio.timeout(OPEN_TIMEOUT_S):
                await link.open()
        except TimeoutError as error:
            raise LinkLost(
                self._machine, f"{self._machine} did not answer within {OPEN_TIMEOUT_S:.0f} s"
            ) from error

    async def _relay_frames(self, session: ProbeSession, link: Link) -> None:
        def relay(frame: Frame) -> None:
            self._check_awake()
            if frame.kind == "hello":
                self._was_up, self._lost_at = True, None
                self._do_meanwhile(link.came_up())
                self._advice = link.advice()
                self._report(LinkState.UP)
            elif self._state is LinkState.LAGGING:
                self._report(LinkState.UP)
            self._receive(frame)

        await session.run(relay)

    def _link_advice(self, state: LinkState) -> str | None:
        return self._advice if state is LinkState.UP else None

    async def _watch_silence(self, session: ProbeSession) -> None:
        """Detect a silent link, and that this computer slept."""
        while True:
            await asyncio.sleep(1.0)
            if not session.is_up or session.is_held:
                continue
            self._check_awake()
            silent = time.monotonic() - session.last_data_at
            if silent > DOWN_AFTER_S:
                why = f"no data from {self._machine} for {silent:.0f} s"
                raise LinkLost(self._machine, why, is_silent=True)
            if silent > LAGGING_AFTER_S and self._state is LinkState.UP:
                error = LinkLost(self._machine, f"no data from {self._machine} for {silent:.0f} s")
                self._report(LinkState.LAGGING, error)
                session.beat()

    def _check_awake(self) -> None:
        """Raise `LinkLost` if this computer slept since the last check.

        Frames that waited meanwhile are not passed on: they would show old rows as fresh.
        """
        ahead = time.time() - time.monotonic()
        drift, self._clock_ahead = ahead - self._clock_ahead, ahead
        if drift > SLEEP_DRIFT_S:
            raise LinkLost(self._machine, "this computer was asleep; evalroom reconnects")

    async def _wait_after(self, error: MachineError) -> None:
        if isinstance(error, NeedsTrust):
            self._needs_trust = error
            await self._wait_for_operator(LinkState.NEEDS_TRUST, error)
        elif isinstance(error, NeedsYou):
            await self._wait_for_operator(LinkState.NEEDS_YOU, error)
        elif isinstance(error, HostKeyRefused) or (
            isinstance(error, LinkRefused) and not self._was_up
        ):
            await self._wait_for_operator(LinkState.REFUSED, error)
        else:
            if isinstance(error, LinkRefused):
                error.advice = "evalroom tries again by itself, since this link was up before"
            backoff = self._backoff(error)
            self._failures += 1
            self._report(LinkState.DOWN, error, retry_at=time.time() + backoff)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(backoff):
                    await self._until_asked()

    async def _wait_for_operator(self, state: LinkState, error: MachineError) -> None:
        self._failures = 0
        self._report(state, error)
        if state is LinkState.NEEDS_YOU and self._agent is not None:
            await first_of(self._retry.wait(), self._agent.changed())
            self._on_asked()
        else:
            await self._until_asked()

    async def _until_asked(self) -> None:
        """Wait for the operator, or for another machine that reaches our jump host again."""
        helped = (self._agent.helped(),) if self._agent is not None else ()
        await first_of(self._retry.wait(), *helped)

    def _backoff(self, error: MachineError) -> float:
        now = time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        is_silent = isinstance(error, LinkLost) and error.is_silent
        is_soon = is_silent and now - self._lost_at < SILENT_FOR_S
        longest = SILENT_BACKOFF_S if is_soon else MAX_BACKOFF_S
        ceiling = min(longest, FIRST_BACKOFF_S * 2.0 ** min(self._failures, 10))
        return ceiling * random.uniform(0.7, 1.0)  # noqa: S311 - jitter


def new_desk_id() -> str:
    """Return a new id for one connection: a new probe ends older probes with the same id."""
    return secrets.token_hex(8)


def _ignore(_: Received) -> None:
    return
