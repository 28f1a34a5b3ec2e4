"""The asyncssh link: one SSH connection to a machine, each program on a channel of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncssh

from core.config.model import MachineConfig
from core.errors import LinkLost, MachineError, NeedsYou
from core.ports import Ask
from ssh.links.agent import AgentWatch
from ssh.links.asyncssh_auth import Credentials
from ssh.links.errors import as_machine_errors, machine_error
from ssh.links.hop_login import CLOSE_TIMEOUT_S, Connected, HopLogin
from ssh.links.jump_hosts import JumpHosts, Seat, Way
from ssh.links.link import SHELL, Link, LinkFactory
from ssh.links.ssh_config import Hop, resolve_route

MAX_READ_BYTES = 65_536
MAX_CHANNELS = 4
"""Most programs at once on one connection: sshd's MaxSessions is 10 by default, or less."""
CHANNEL_TIMEOUT_S = 10.0
"""Timeout of opening a channel, seconds; asyncssh has none of its own."""


class ChannelProgram:
    """A program on a channel of an SSH connection."""

    def __init__(
        self,
        machine: MachineConfig,
        process: "asyncssh.SSHClientProcess[bytes]",
        free: Callable[[], Awaitable[None]],
    ) -> None:
        self._machine = machine.name
        self._process = process
        self._free = free
        self._closed = False

    async def write(self, data: bytes) -> None:
        """See `ssh.links.link.Program.write`."""
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (OSError, asyncssh.Error) as error:
            raise LinkLost(
                self._machine, f"the connection to {self._machine} closed while sending"
            ) from error

    async def read(self) -> bytes:
        """See `ssh.links.link.Program.read`."""
        return await self._read(self._process.stdout)

    async def read_error(self) -> bytes:
        """See `ssh.links.link.Program.read_error`."""
        return await self._read(self._process.stderr)

    async def _read(self, stream: "asyncssh.SSHReader[bytes]") -> bytes:
        try:
            return await stream.read(MAX_READ_BYTES)
        except (OSError, asyncssh.Error, asyncssh.BreakReceived, asyncssh.SignalReceived):
            return b""

    async def wait(self) -> int | None:
        """See `ssh.links.link.Program.wait`."""
        with contextlib.suppress(OSError, asyncssh.Error):
            await self._process.wait_closed()
        status = self._process.exit_status
        return status if status is not None and status >= 0 else None

    async def close(self) -> None:
        """See `ssh.links.link.Program.close`."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            self._process.stdin.write_eof()
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._process.wait_closed()
        self._process.close()
        await self._free()


class AsyncsshLink:
    """A link over one asyncssh connection, through the jump hosts of ssh_config."""

    def __init__(
        self,
        machine: MachineConfig,
        *,
        known_hosts: Path,
        credentials: Credentials,
        ask: Ask | None,
        agent: AgentWatch | None = None,
        jumps: JumpHosts | None = None,
    ) -> None:
        self._machine = machine
        self._own_known_hosts = known_hosts
        self._credentials = credentials
        self._ask = ask
        self._agent = agent or AgentWatch()
        self._jumps = jumps or JumpHosts()
        self._seat: Seat | None = None
        self._connected: Connected | None = None
        self._extras: list[Connected] = []
        self._running = 0
        self._route: tuple[Hop, ...] = ()
        self._free = asyncio.Semaphore(MAX_CHANNELS)

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`."""
        self._route = await resolve_route(self._machine)
        if len(self._route) > 1:
            self._seat = await self._take_seat(self._route[:-1])
        self._connected = await self._connect(self._ask)

    async def _connect(self, ask: Ask | None) -> Connected:
        """Connect to the machine itself."""
        before = self._seat.connection if self._seat is not None else None
        return await self._login(self._route[-1], self._credentials, ask).connect(before)

    def _login(self, hop: Hop, credentials: Credentials, ask: Ask | None) -> HopLogin:
        return HopLogin(
            self._machine,
            hop,
            is_target=hop is self._route[-1],
            own_known_hosts=self._own_known_hosts,
            credentials=credentials,
            ask=ask,
            agent=self._agent,
        )

    async def _login_to_jump(
        self,
        hop: Hop,
        before: "asyncssh.SSHClientConnection | None",
        credentials: Credentials,
    ) -> Connected:
        return await self._login(hop, credentials, self._ask).connect(before)

    async def _take_seat(self, jumps: tuple[Hop, ...]) -> Seat:
        """Join the connection to the last of the jump hosts."""
        way = Way(
            self._machine.name,
            self._own_known_hosts,
            self._login_to_jump,
            is_interactive=self._ask is not None,
            on_reached=self._agent.help,
        )
        try:
            seat, typed = await self._jumps.join(jumps, way)
        except NeedsYou:
            await self._agent.query(jumps[-1].host.agent)  # another machine's login asked it
            raise
        self._credentials.passphrases.update(typed.passphrases)
        return seat

    async def start(self) -> ChannelProgram:
        """See `ssh.links.link.Link.start`."""
        machine = self._machine.name
        if self._connected is None:
            raise LinkLost(machine, f"the connection to {machine} is not open")
        connection = self._connected.connection
        async with asyncio.timeout(CHANNEL_TIMEOUT_S):
            await self._free.acquire()
        async with contextlib.AsyncExitStack() as undo:
            undo.callback(self._free.release)
            with as_machine_errors(machine):
                try:
                    process = await _process_on(connection)
                except asyncssh.ChannelOpenError as error:
                    if not self._running or connection.is_closed():
                        raise
                    process = await _process_on(await self._extra_connection(error, undo))
            self._running += 1
            undo.callback(self._count_down)
            free = undo.pop_all()
        return ChannelProgram(self._machine, process, free.aclose)

    async def _extra_connection(
        self, refused: asyncssh.ChannelOpenError, undo: contextlib.AsyncExitStack
    ) -> "asyncssh.SSHClientConnection":
        """Open another connection for one program: this one can hold no more (MaxSessions).

        `undo` closes it.

        Raises:
            ChannelOpenError: `refused`, if no other connection can be opened without a question.
        """
        try:
            extra = await self._connect(None)
        except MachineError as error:
            raise refused from error
        self._extras.append(extra)
        undo.push_async_callback(self._close_extra, extra)
        return extra.connection

    async def _close_extra(self, extra: Connected) -> None:
        if extra in self._extras:
            self._extras.remove(extra)
            await extra.close()

    def _count_down(self) -> None:
        self._running -= 1

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        open_now = [*([self._connected] if self._connected else ()), *self._extras]
        self._connected, self._extras = None, []
        for each in reversed(open_now):
            await each.close()
        seat, self._seat = self._seat, None
        if seat is not None:
            await seat.close()

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        """See `ssh.links.link.Link.explain`."""
        del stderr
        if status is None:
            return machine_error(
                self._machine.name,
                asyncssh.ConnectionLost("the channel closed before the shell started"),
            )
        return None

    @property
    def login_timeout(self) -> float:
        """See `ssh.links.link.Link.login_timeout`: `open` has logged in."""
        return 0.0

    async def came_up(self) -> None:
        """See `ssh.links.link.Link.came_up`."""
        if self._seat is not None:
            self._seat.is_used = True

    async def went_silent(self) -> None:
        """See `ssh.links.link.Link.went_silent`."""
        if self._seat is not None:
            self._seat.went_silent()

    def advice(self) -> str | None:
        """See `ssh.links.link.Link.advice`."""
        return self._route[-1].advice(self._machine) if self._route else None


async def _process_on(
    connection: "asyncssh.SSHClientConnection",
) -> "asyncssh.SSHClientProcess[bytes]":
    async with asyncio.timeout(CHANNEL_TIMEOUT_S):
        return await connection.create_process(
            SHELL, encoding=None, request_pty=False, x11_forwarding=False
        )


def asyncssh_link_factory(
    machine: MachineConfig,
    *,
    known_hosts: Path,
    ask: Ask | None,
    agent: AgentWatch,
    jumps: JumpHosts,
) -> LinkFactory:
    """Return the link factory of a machine; its links share the credentials that were typed."""
    credentials = Credentials()

    def make_link(*, interactive: bool) -> Link:
        return AsyncsshLink(
            machine,
            known_hosts=known_hosts,
            credentials=credentials,
            ask=ask if interactive else None,
            agent=agent,
            jumps=jumps,
        )

    return make_link
