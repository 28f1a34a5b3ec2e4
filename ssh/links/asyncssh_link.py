"""The asyncssh link: one SSH connection to a machine, each program on a channel of it."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh

from core.config.model import MachineConfig
from core.errors import LinkLost, LinkRefused, MachineError, NeedsYou
from core.ports import Ask
from ssh.links.asyncssh_auth import AuthClient, Credentials, LoadedKeys, agent_path, load_keys
from ssh.links.errors import as_machine_errors, machine_error
from ssh.links.link import SHELL, Link, LinkFactory
from ssh.links.ssh_config import SshHost, resolve_host
from ssh.links.trust import KnownHosts, read_known_hosts, revoked_key_error, untrusted_key_error

MAX_READ_BYTES = 65_536
CONNECT_TIMEOUT_S = 10.0
"""Timeout of the TCP connect, seconds."""
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
KEEPALIVE_EVERY_S, MAX_MISSED_KEEPALIVES = 5, 3
"""asyncssh gives a connection up after this many unanswered keepalives."""
CIPHERS = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
"""Preferred ciphers where ssh_config sets none; OpenSSH prefers them too. asyncssh would prefer
ChaCha20, which it partly computes in Python: six times the CPU per packet, at one packet for every
frame of up to two hundred machines."""


class ChannelProgram:
    """A program on a channel of an SSH connection."""

    def __init__(
        self,
        machine: MachineConfig,
        process: "asyncssh.SSHClientProcess[bytes]",
        free: Callable[[], None],
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
        self._free()


class AsyncsshLink:
    """A link over one asyncssh connection."""

    def __init__(
        self,
        machine: MachineConfig,
        *,
        known_hosts: Path,
        credentials: Credentials,
        ask: Ask | None,
    ) -> None:
        self._machine = machine
        self._own_known_hosts = known_hosts
        self._credentials = credentials
        self._ask = ask
        self._connection: asyncssh.SSHClientConnection | None = None
        self._host: SshHost | None = None
        self._key_error: MachineError | None = None
        self._auth: AuthClient | None = None
        self._free = asyncio.Semaphore(MAX_CHANNELS)

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`."""
        machine = self._machine.name
        host = await asyncio.to_thread(resolve_host, self._machine)
        self._host = host
        known = await asyncio.to_thread(
            read_known_hosts,
            machine,
            self._own_known_hosts,
            host.known_hosts,
            must_exist=self._machine.known_hosts is not None,
        )
        keys = await load_keys(machine, host, self._credentials, self._ask)
        login_timeout = INTERACTIVE_LOGIN_TIMEOUT_S if self._ask is not None else LOGIN_TIMEOUT_S
        try:
            with as_machine_errors(machine):
                async with asyncio.timeout(CONNECT_TIMEOUT_S + login_timeout + 5.0):
                    self._connection = await asyncssh.connect(
                        **self._options(host, known, keys), login_timeout=login_timeout
                    )
        except MachineError as error:
            cause = error.__cause__
            if isinstance(cause, asyncssh.HostKeyNotVerifiable):
                raise self._host_key_error(known, host, error) from cause
            if isinstance(error, NeedsYou):
                raise self._with_hints(keys, error) from cause
            raise

    def _options(self, host: SshHost, known: KnownHosts, keys: LoadedKeys) -> dict[str, Any]:
        options: dict[str, Any] = {
            "host": host.name,
            "config": list(host.paths),
            "known_hosts": known.match,
            "client_factory": lambda: self._client(host, known),
            "client_keys": list(keys.pairs),
            "agent_forwarding": False,
            "keepalive_interval": KEEPALIVE_EVERY_S,
            "keepalive_count_max": MAX_MISSED_KEEPALIVES,
            "connect_timeout": CONNECT_TIMEOUT_S,
        }
        if self._machine.user:
            options["username"] = self._machine.user
        if self._machine.port:
            options["port"] = self._machine.port
        if host.algorithms is None:
            options["server_host_key_algs"] = known.algorithms(host.alias, host.port)
        if host.ciphers is None:
            options["encryption_algs"] = CIPHERS
        if host.identities_only:
            own = [pair.public_data for pair in keys.pairs]
            options["agent_identities"] = [*keys.public, *own] or [b"none"]
        return options

    def _client(self, host: SshHost, known: KnownHosts) -> asyncssh.SSHClient:
        self._auth = _LinkClient(self, host, known)
        return self._auth

    def note_untrusted_key(
        self, host: str, port: int, known: KnownHosts, key: asyncssh.SSHKey
    ) -> None:
        """Record the error for a `key` of this handshake that is not trusted."""
        self._key_error = untrusted_key_error(self._machine.name, known, host, port, key)

    def _host_key_error(
        self, known: KnownHosts, host: SshHost, error: MachineError
    ) -> MachineError:
        if self._key_error is not None:
            return self._key_error
        revoked = known.match(host.alias, "", host.port)[2]
        if "revoked" in error.message and revoked:
            return revoked_key_error(self._machine.name, revoked)
        return LinkRefused(
            self._machine.name,
            f"{error.message} (the key of {host.host} or of a jump host, or a certificate)",
            f"run `ssh {host.name}` once in a terminal to see which key fails",
        )

    def _with_hints(self, keys: LoadedKeys, error: NeedsYou) -> NeedsYou:
        self._credentials.forget()
        hints: list[str] = []
        if keys.locked:
            hints.append(f"{', '.join(keys.locked)} needs a passphrase")
        if not keys.pairs and not keys.locked:
            hints.append("no usable key was found")
        if agent_path() is None:
            hints.append("no ssh agent is running")
        if not hints:
            return error
        return NeedsYou(error.machine, f"{error.message} ({'; '.join(hints)})", error.advice)

    async def start(self) -> ChannelProgram:
        """See `ssh.links.link.Link.start`."""
        machine = self._machine.name
        connection = self._connection
        if connection is None:
            raise LinkLost(machine, f"the connection to {machine} is not open")
        async with asyncio.timeout(CHANNEL_TIMEOUT_S):
            await self._free.acquire()
        with contextlib.ExitStack() as undo:
            undo.callback(self._free.release)
            with as_machine_errors(machine):
                async with asyncio.timeout(CHANNEL_TIMEOUT_S):
                    process = await connection.create_process(
                        SHELL, encoding=None, request_pty=False, x11_forwarding=False
                    )
            undo.pop_all()
        return ChannelProgram(self._machine, process, self._free.release)

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.close()
        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await connection.wait_closed()
                return
        connection.abort()

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        """See `ssh.links.link.Link.explain`."""
        del stderr
        if status is None:
            return machine_error(
                self._machine.name,
                asyncssh.ConnectionLost("the channel closed before the shell started"),
            )
        return None

    def advice(self) -> str | None:
        """See `ssh.links.link.Link.advice`."""
        return self._host.advice() if self._host is not None else None


class _LinkClient(AuthClient):
    def __init__(self, link: AsyncsshLink, host: SshHost, known: KnownHosts) -> None:
        super().__init__(host, link._credentials, link._ask)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._link = link
        self._known = known

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        del addr
        self._link.note_untrusted_key(host, port, self._known, key)
        return False


def asyncssh_link_factory(
    machine: MachineConfig, *, known_hosts: Path, ask: Ask | None
) -> LinkFactory:
    """Return the link factory of a machine; its links share the credentials that were typed."""
    credentials = Credentials()

    def make_link(*, interactive: bool) -> Link:
        return AsyncsshLink(
            machine,
            known_hosts=known_hosts,
            credentials=credentials,
            ask=ask if interactive else None,
        )

    return make_link
