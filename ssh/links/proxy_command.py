"""Runs a ProxyCommand as ssh does: by the user's shell, with `exec` before it.

asyncssh's own way would split the command without a shell, and mix its standard error into the
SSH stream.
"""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping

from core.text import shown

_MAX_ERROR_BYTES = 4096
_END_TIMEOUT_S = 1.0
"""How long the command may take to end after SIGTERM, seconds."""


class ProxyProcess:
    """A running ProxyCommand; `socket` is its standard input and output.

    Attributes:
        socket: Our end; the SSH connection owns it.
    """

    def __init__(self, child: asyncio.subprocess.Process, own_end: socket.socket) -> None:
        self._child = child
        self.socket = own_end
        self._errors = bytearray()
        self._reading = asyncio.create_task(self._read_errors())

    @classmethod
    async def start(cls, command: str, environment: Mapping[str, str]) -> "ProxyProcess":
        """Start `command`, whose tokens are expanded.

        Raises:
            OSError: The shell can't be started.
        """
        own_end, other_end = socket.socketpair()
        with contextlib.ExitStack() as undo, other_end:
            undo.callback(own_end.close)
            starting = asyncio.ensure_future(_start_shell(command, other_end, environment))
            try:
                child = await asyncio.shield(starting)
            except asyncio.CancelledError:
                _signal_group(await starting, signal.SIGKILL)  # else what it started would live on
                raise
            undo.pop_all()
        own_end.setblocking(False)
        return cls(child, own_end)

    async def _read_errors(self) -> None:
        assert self._child.stderr is not None  # noqa: S101 - it is a pipe
        while data := await self._child.stderr.read(_MAX_ERROR_BYTES):
            self._errors += data
            del self._errors[:-_MAX_ERROR_BYTES]

    async def failure(self) -> str | None:
        """Return how the command failed, with its last words; None: it still runs, or did well."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_TIMEOUT_S):
                await self._child.wait()
                await asyncio.shield(self._reading)
        words = shown(" ".join(bytes(self._errors).decode(errors="replace").split())[-300:], 300)
        status = self._child.returncode
        if not words and not status:
            return None
        ended = "still runs" if status is None else f"ended with exit {status}"
        return f"its ProxyCommand {ended}{f': {words}' if words else ''}"

    async def close(self) -> None:
        """End the command and all that it started. Takes bounded time and never raises."""
        with contextlib.suppress(OSError):
            self.socket.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            _signal_group(self._child, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_TIMEOUT_S):
                    await self._child.wait()
                    break
        self._reading.cancel()
        transport = getattr(self._child, "_transport", None)
        if isinstance(transport, asyncio.SubprocessTransport):
            transport.close()


async def _start_shell(
    command: str, end: socket.socket, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        environment.get("SHELL") or "/bin/sh",
        "-c",
        f"exec {command}",
        stdin=end.fileno(),
        stdout=end.fileno(),
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=environment,
    )


def _signal_group(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)
