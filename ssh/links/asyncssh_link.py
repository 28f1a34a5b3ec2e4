"""The asyncssh link: one supervised connection per machine, channels on it."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh

from core.config.model import MachineConfig
from core.errors import LinkLost, LinkRefused, MachineError, NeedsYou
from core.ports import Ask
from ssh.link_supervisor import MakeLink
from ssh.links.asyncssh_auth import KeysFound, Login, Secrets, agent_path, load_keys
from ssh.links.errors import as_machine_errors, translated
from ssh.links.link import SHELL, Link
from ssh.links.ssh_config import SshHost, resolved
from ssh.links.trust import KnownKeys, read_known, revoked_error, verdict

CHUNK = 65536
CONNECT = 10.0
"""Seconds for TCP."""
LOGIN = 15.0
"""Seconds for key exchange and login, when nobody is asked anything."""
LOGIN_ASKING = 110.0
"""Seconds for them with an operator who types; sshd gives 120."""
CHANNELS = 4
"""Programs at once on one connection: sshd's MaxSessions is 10, and may be less."""
OPENING = 10.0
"""Seconds for a channel to open; the library has no deadline there."""
CLOSING = 2.0
KEEPALIVE, MISSED = 5, 3
CIPHERS = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
"""Tried before the library's own order, where the user chose none. Both are among OpenSSH's own
first ones. ChaCha20, which it would prefer, is put together in Python: six times the CPU for each
packet, and a packet comes with every frame of two hundred machines."""


class AsyncsshProgram:
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
                self._machine, f"the connection to {self._machine} took no more"
            ) from error

    async def read(self) -> bytes:
        """See `ssh.links.link.Program.read`."""
        return await self._read(self._process.stdout)

    async def read_error(self) -> bytes:
        """See `ssh.links.link.Program.read_error`."""
        return await self._read(self._process.stderr)

    async def _read(self, stream: "asyncssh.SSHReader[bytes]") -> bytes:
        try:
            return await stream.read(CHUNK)
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
            async with asyncio.timeout(CLOSING):
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
        secrets: Secrets,
        ask: Ask | None,
    ) -> None:
        self._machine = machine
        self._own_known = known_hosts
        self._secrets = secrets
        self._ask = ask
        self._connection: asyncssh.SSHClientConnection | None = None
        self._host: SshHost | None = None
        self._distrust: MachineError | None = None
        self._login: Login | None = None
        self._free = asyncio.Semaphore(CHANNELS)

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`."""
        machine = self._machine.name
        host = await asyncio.to_thread(resolved, self._machine)
        self._host = host
        known = await asyncio.to_thread(
            read_known,
            machine,
            self._own_known,
            host.known_hosts,
            must_exist=self._machine.known_hosts is not None,
        )
        keys = await load_keys(machine, host, self._secrets, self._ask)
        patience = LOGIN_ASKING if self._ask is not None else LOGIN
        try:
            with as_machine_errors(machine):
                async with asyncio.timeout(CONNECT + patience + 5.0):
                    self._connection = await asyncssh.connect(
                        **self._options(host, known, keys), login_timeout=patience
                    )
        except MachineError as error:
            cause = error.__cause__
            if isinstance(cause, asyncssh.HostKeyNotVerifiable):
                raise self._not_trusted(known, host, error) from cause
            if isinstance(error, NeedsYou):
                raise self._not_let_in(keys, error) from cause
            raise

    def _options(self, host: SshHost, known: KnownKeys, keys: KeysFound) -> dict[str, Any]:
        options: dict[str, Any] = {
            "host": host.name,
            "config": list(host.paths),
            "known_hosts": known.match,
            "client_factory": lambda: self._client(host, known),
            "client_keys": list(keys.pairs),
            "agent_forwarding": False,
            "keepalive_interval": KEEPALIVE,
            "keepalive_count_max": MISSED,
            "connect_timeout": CONNECT,
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

    def _client(self, host: SshHost, known: KnownKeys) -> asyncssh.SSHClient:
        self._login = _Client(self, host, known)
        return self._login

    def judge(self, host: str, port: int, known: KnownKeys, key: asyncssh.SSHKey) -> None:
        """Note what an untrusted `key` of this very handshake means."""
        self._distrust = verdict(self._machine.name, known, host, port, key)

    def _not_trusted(self, known: KnownKeys, host: SshHost, error: MachineError) -> MachineError:
        if self._distrust is not None:
            return self._distrust
        revoked = known.match(host.alias, "", host.port)[2]
        if "revoked" in error.message and revoked:
            return revoked_error(self._machine.name, revoked)
        return LinkRefused(
            self._machine.name,
            f"{error.message} (a host on the way to {host.host}, or its certificate)",
            f"run `ssh {host.name}` once in a terminal and look at what it says",
        )

    def _not_let_in(self, keys: KeysFound, error: NeedsYou) -> NeedsYou:
        self._secrets.forget()
        hints: list[str] = []
        if keys.locked:
            hints.append(f"{', '.join(keys.locked)} wants its passphrase")
        if not keys.pairs and not keys.locked:
            hints.append("there is no usable key")
        if agent_path() is None:
            hints.append("no agent answers")
        if not hints:
            return error
        return NeedsYou(error.machine, f"{error.message} ({'; '.join(hints)})", error.advice)

    async def start(self) -> AsyncsshProgram:
        """See `ssh.links.link.Link.start`."""
        machine = self._machine.name
        connection = self._connection
        if connection is None:
            raise LinkLost(machine, f"the connection to {machine} is not open")
        async with asyncio.timeout(OPENING):
            await self._free.acquire()
        with contextlib.ExitStack() as undo:
            undo.callback(self._free.release)
            with as_machine_errors(machine):
                async with asyncio.timeout(OPENING):
                    process = await connection.create_process(
                        SHELL, encoding=None, request_pty=False, x11_forwarding=False
                    )
            undo.pop_all()
        return AsyncsshProgram(self._machine, process, self._free.release)

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.close()
        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(CLOSING):
                await connection.wait_closed()
                return
        connection.abort()

    def explain(self, status: int | None, said: str) -> MachineError | None:
        """See `ssh.links.link.Link.explain`."""
        del said
        if status is None:
            return translated(self._machine.name, asyncssh.ConnectionLost("it ended at the start"))
        return None

    def advice(self) -> str | None:
        """See `ssh.links.link.Link.advice`."""
        return self._host.advice() if self._host is not None else None


class _Client(Login):
    def __init__(self, link: AsyncsshLink, host: SshHost, known: KnownKeys) -> None:
        super().__init__(host, link._secrets, link._ask)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._link = link
        self._known = known

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        del addr
        self._link.judge(host, port, self._known, key)
        return False


def asyncssh_links(machine: MachineConfig, *, known_hosts: Path, ask: Ask | None) -> MakeLink:
    """Return what makes the links of a machine that is reached by asyncssh."""
    secrets = Secrets()

    def make_link(*, asking: bool) -> Link:
        return AsyncsshLink(
            machine, known_hosts=known_hosts, secrets=secrets, ask=ask if asking else None
        )

    return make_link
