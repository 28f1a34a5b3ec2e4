"""A hostile sshd: it asks for what is the operator's, and opens channels that nobody asked for."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from core.config.model import MachineConfig
from core.ids import MachineName
from tests.support.sshd import keygen

MACHINE = MachineName("evil")
Attack = Callable[[asyncssh.SSHServerConnection], Awaitable[object]]


async def _forwarded(connection: asyncssh.SSHServerConnection) -> object:
    opened: Any = await connection.create_connection(asyncssh.SSHTCPSession, "127.0.0.1", 22)
    return opened


async def _agent(connection: asyncssh.SSHServerConnection) -> object:
    return await connection.open_agent_connection()


async def _x11(connection: asyncssh.SSHServerConnection) -> object:
    return await connection.create_x11_connection(asyncssh.SSHTCPSession)


async def _unix(connection: asyncssh.SSHServerConnection) -> object:
    opened: Any = await connection.create_unix_connection(asyncssh.SSHUNIXSession, "/run/x.sock")
    return opened


CHANNELS: dict[str, Attack] = {
    "forwarded port": _forwarded,
    "agent": _agent,
    "X11": _x11,
    "forwarded socket": _unix,
}


@dataclass
class HostileSshServer:
    """What a hostile sshd got.

    Attributes:
        port: Where it listens.
        known_hosts: A file with its key.
        opened: The channels that the client accepted.
        refused: The channels that it refused.
        answers: What the operator typed.
        variables: The environment that the client sent.
    """

    port: int = 0
    known_hosts: Path = Path()
    opened: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    answers: list[str] = field(default_factory=list[str])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    requests: list[str] = field(default_factory=list[str])

    def machine(self) -> MachineConfig:
        """The config of a machine that is this server."""
        return MachineConfig(
            name=MACHINE, host="127.0.0.1", port=self.port, user="ada", ssh_config="none"
        )


class _Server(asyncssh.SSHServer):
    def __init__(self, got: HostileSshServer, prompt: str) -> None:
        self._got = got
        self._prompt = prompt
        self._connection: asyncssh.SSHServerConnection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        del username
        return bool(self._prompt)

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, Sequence[tuple[str, bool]]]:
        del username, lang, submethods
        return "", "", "", [(self._prompt, False)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        del username
        self._got.answers += responses
        return True

    def auth_completed(self) -> None:
        task = asyncio.ensure_future(self._attack())
        self._tasks.add(task)

    async def _attack(self) -> None:
        assert self._connection is not None
        for name, attack in CHANNELS.items():
            try:
                await attack(self._connection)
            except asyncssh.Error:
                self._got.refused.append(name)
            else:
                self._got.opened.append(name)

    def server_requested(self, listen_host: str, listen_port: int) -> bool:
        self._got.requests.append(f"listen {listen_host}:{listen_port}")
        return False


@asynccontextmanager
async def hostile_ssh_server(folder: Path, prompt: str = "") -> AsyncGenerator[HostileSshServer]:
    """Run a hostile sshd for the block.

    Args:
        folder: Where its key is made.
        prompt: What it asks during the login; empty: it lets everybody in.
    """
    got = HostileSshServer()
    path = keygen(folder / "hostile_host")

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        got.variables.update(process.env)
        process.exit(0)

    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_factory=lambda: _Server(got, prompt),
        server_host_keys=[str(path)],
        process_factory=serve,
        encoding=None,
        agent_forwarding=True,
        x11_forwarding=True,
    )
    async with server:
        got.port = server.get_port()
        got.known_hosts = folder / "known_hosts"
        key = path.with_suffix(".pub").read_text()
        got.known_hosts.write_text(f"[127.0.0.1]:{got.port} {key}")
        yield got
