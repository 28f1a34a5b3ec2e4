"""The asyncssh link: one SSH connection to a machine, each program on a channel of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import asyncssh

from core.config.model import MachineConfig
from core.errors import HostKeyRefused, LinkLost, MachineError, NeedsTrust, NeedsYou
from core.ports import Ask
from core.text import shown
from ssh.links.agent import AgentWatch, environment_with
from ssh.links.asyncssh_auth import AuthClient, Credentials
from ssh.links.asyncssh_options import connect_timeout, connection_options
from ssh.links.errors import as_machine_errors, machine_error
from ssh.links.link import SHELL, Link, LinkFactory
from ssh.links.login_keys import LoadedKeys, load_keys
from ssh.links.proxy_command import ProxyProcess
from ssh.links.ssh_config import Hop, resolve_route, ssh_words
from ssh.links.trust import (
    KnownHosts,
    read_known_hosts,
    revoked_key_error,
    strictly_refused_key_error,
    untrusted_key_error,
)

MAX_READ_BYTES = 65_536
LOGIN_TIMEOUT_S = 15.0
"""Timeout of key exchange and login without the operator, seconds."""
INTERACTIVE_LOGIN_TIMEOUT_S = 110.0
"""The same while the operator types a password, seconds; sshd allows 120."""
MAX_CHANNELS = 4
"""Most programs at once on one connection: sshd's MaxSessions is 10 by default, or less."""
CHANNEL_TIMEOUT_S = 10.0
"""Timeout of opening a channel, seconds; asyncssh has none of its own."""
CLOSE_TIMEOUT_S = 2.0
"""Timeout of a clean close, of a channel or of the connection, seconds."""
_AGENT_ADVICE = (
    "add the key to your ssh agent: evalroom then tries again by itself. Or press r to enter a "
    "passphrase or a password"
)


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
    ) -> None:
        self._machine = machine
        self._own_known_hosts = known_hosts
        self._credentials = credentials
        self._ask = ask
        self._agent = agent or AgentWatch()
        self._connections: list[asyncssh.SSHClientConnection] = []
        self._proxies: list[ProxyProcess] = []
        self._extras: list[asyncssh.SSHClientConnection] = []
        self._running = 0
        self._route: tuple[Hop, ...] = ()
        self._key_error: MachineError | None = None
        self._free = asyncio.Semaphore(MAX_CHANNELS)

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`."""
        self._route = await resolve_route(self._machine)
        for hop in self._route:
            before = self._connections[-1] if self._connections else None
            connected = await self._connect(hop, before, self._ask)
            self._connections.append(connected)

    async def _connect(
        self, hop: Hop, before: "asyncssh.SSHClientConnection | None", ask: Ask | None
    ) -> "asyncssh.SSHClientConnection":
        """Connect to one host of the route, over the connection to the host `before` it."""
        machine, host = self._machine.name, hop.host
        is_target = hop is self._route[-1]
        known = await asyncio.to_thread(
            read_known_hosts,
            machine,
            self._own_known_hosts,
            host.known_hosts,
            must_exist=is_target and self._machine.known_hosts is not None,
        )
        agent = await self._agent.query(host.agent)
        keys = await load_keys(
            self._machine,
            host,
            agent,
            self._credentials,
            ask,
            must_exist=is_target and self._machine.identity is not None,
        )
        login_timeout = INTERACTIVE_LOGIN_TIMEOUT_S if ask is not None else LOGIN_TIMEOUT_S
        proxy: ProxyProcess | None = None
        options = connection_options(
            self._machine, hop, known, keys, lambda: _LinkClient(self, hop, known, ask)
        )
        try:
            with as_machine_errors(machine, ssh_words(self._machine)):
                if host.proxy_command is not None:
                    environment = environment_with(agent)
                    proxy = await ProxyProcess.start(host.proxy_command, environment)
                    self._proxies.append(proxy)
                    options["sock"] = proxy.socket
                elif before is not None:
                    options["tunnel"] = before
                async with asyncio.timeout(connect_timeout(hop) + login_timeout + 5.0):
                    return await asyncssh.connect(**options, login_timeout=login_timeout)
        except MachineError as error:
            cause = error.__cause__
            if isinstance(cause, asyncssh.HostKeyNotVerifiable):
                raise self._host_key_error(known, hop, error) from cause
            if isinstance(error, NeedsYou):
                raise self._with_hints(keys, hop, error) from cause
            raise await self._with_place(hop, proxy, error) from cause
        finally:
            keys.close()

    def note_untrusted_key(self, hop: Hop, known: KnownHosts, key: asyncssh.SSHKey) -> None:
        """Record the error for a `key` of this handshake that is not trusted."""
        error = untrusted_key_error(
            self._machine.name, known, *hop.host.known_as, key, of=self._place(hop)
        )
        if isinstance(error, NeedsTrust) and hop.host.strict_host_key_checking == "true":
            error = strictly_refused_key_error(error)
        self._key_error = error

    def _place(self, hop: Hop) -> str:
        """Return the machine's name, or that of its jump host."""
        machine = self._machine.name
        is_target = hop is self._route[-1]
        return machine if is_target else f"{shown(hop.host.host, 80)}, a jump host of {machine},"

    def _host_key_error(self, known: KnownHosts, hop: Hop, error: MachineError) -> MachineError:
        if self._key_error is not None:
            return self._key_error
        revoked = known.match(hop.host.known_as[0], "", hop.host.known_as[1])[2]
        if "revoked" in error.message and revoked:
            return revoked_key_error(self._machine.name, revoked)
        return HostKeyRefused(
            self._machine.name,
            f"{error.message} (the key of {hop.host.host}, or its certificate)",
            f"run `ssh {hop.host.name}` once in a terminal to see which key fails",
        )

    def _with_hints(self, keys: LoadedKeys, hop: Hop, error: NeedsYou) -> NeedsYou:
        self._credentials.forget()
        hints = keys.hints()
        if hop is not self._route[-1]:
            hints.insert(0, f"at the jump host {shown(hop.host.address, 120)}")
        if not hints:
            return error
        advice = error.advice if keys.agent.problem() is None else _AGENT_ADVICE
        return NeedsYou(error.machine, f"{error.message} ({'; '.join(hints)})", advice)

    async def _with_place(
        self, hop: Hop, proxy: ProxyProcess | None, error: MachineError
    ) -> MachineError:
        """Add the jump host or the ProxyCommand to the reason, where one of them failed."""
        more = None
        if proxy is not None and isinstance(error, LinkLost):
            more = await proxy.failure()
        if more is not None:
            error.advice = f"check ProxyCommand of {shown(hop.host.name, 80)} in ssh_config"
        elif hop is not self._route[-1]:
            more = f"at the jump host {shown(hop.host.address, 120)}"
        if more is not None:
            error.message = f"{error.message} ({more})"
        return error

    async def start(self) -> ChannelProgram:
        """See `ssh.links.link.Link.start`."""
        machine = self._machine.name
        if not self._route or len(self._connections) < len(self._route):
            raise LinkLost(machine, f"the connection to {machine} is not open")
        async with asyncio.timeout(CHANNEL_TIMEOUT_S):
            await self._free.acquire()
        async with contextlib.AsyncExitStack() as undo:
            undo.callback(self._free.release)
            with as_machine_errors(machine):
                try:
                    process = await _process_on(self._connections[-1])
                except asyncssh.ChannelOpenError as error:
                    if not self._running or self._connections[-1].is_closed():
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
        before = self._connections[-2] if len(self._connections) > 1 else None
        proxies = len(self._proxies)
        try:
            extra = await self._connect(self._route[-1], before, None)
        except MachineError as error:
            raise refused from error
        self._extras.append(extra)
        undo.push_async_callback(self._close_extra, extra, self._proxies[proxies:])
        return extra

    async def _close_extra(
        self, extra: "asyncssh.SSHClientConnection", proxies: Sequence[ProxyProcess]
    ) -> None:
        if extra in self._extras:
            self._extras.remove(extra)
            await _close(extra)
        for proxy in proxies:
            if proxy in self._proxies:
                self._proxies.remove(proxy)
                await proxy.close()

    def _count_down(self) -> None:
        self._running -= 1

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        connections, self._connections = [*self._connections, *self._extras], []
        self._extras = []
        for connection in reversed(connections):
            await _close(connection)
        proxies, self._proxies = self._proxies, []
        for proxy in proxies:
            await proxy.close()

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

    async def went_silent(self) -> None:
        """See `ssh.links.link.Link.went_silent`."""

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


async def _close(connection: asyncssh.SSHClientConnection) -> None:
    connection.close()
    with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await connection.wait_closed()
            return
    connection.abort()


class _LinkClient(AuthClient):
    def __init__(self, link: AsyncsshLink, hop: Hop, known: KnownHosts, ask: Ask | None) -> None:
        super().__init__(hop.host, link._credentials, ask)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._link = link
        self._hop = hop
        self._known = known

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        del host, addr, port
        self._link.note_untrusted_key(self._hop, self._known, key)
        return False


def asyncssh_link_factory(
    machine: MachineConfig, *, known_hosts: Path, ask: Ask | None, agent: AgentWatch
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
        )

    return make_link
