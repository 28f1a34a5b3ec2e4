"""The command link: an argument prefix that starts a program somewhere.

Empty, it is this computer. `["ssh", ...]` serves hosts that need what a library does not know;
`docker exec -i`, `kubectl exec -i`, `sudo -u`, `srun --overlap` reach the rest.
"""

import asyncio
import contextlib
import os
import signal
from pathlib import PurePath

from core.errors import LinkLost, LinkRefused, MachineError, NeedsYou
from core.ids import MachineName
from core.text import shown
from ssh.links.link import SHELL

CHUNK = 65536
CLOSING = 2.0
"""Seconds that a program has to end by itself once its input is closed."""

_SSH = frozenset({"ssh", "autossh"})


def full_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments that start the shell.

    ssh gets BatchMode, so that nothing takes the terminal unasked, and no pseudo-terminal.
    """
    if command and PurePath(command[0]).name in _SSH:
        command = (command[0], "-T", "-o", "BatchMode=yes", *command[1:])
    return (*command, SHELL)


class LocalProgram:
    """A child of ours, in a session of its own."""

    def __init__(self, machine: MachineName, child: asyncio.subprocess.Process) -> None:
        self._machine = machine
        self._child = child
        assert child.stdin is not None  # noqa: S101 - all three are pipes
        assert child.stdout is not None  # noqa: S101
        assert child.stderr is not None  # noqa: S101
        self._in, self._out, self._err = child.stdin, child.stdout, child.stderr

    @property
    def pid(self) -> int:
        """Of the child here."""
        return self._child.pid

    async def write(self, data: bytes) -> None:
        """See `ssh.links.link.Program.write`."""
        try:
            self._in.write(data)
            await self._in.drain()
        except (OSError, RuntimeError) as error:
            raise LinkLost(self._machine, f"the program for {self._machine} ended") from error

    async def read(self) -> bytes:
        """See `ssh.links.link.Program.read`."""
        return await _read(self._out)

    async def read_error(self) -> bytes:
        """See `ssh.links.link.Program.read_error`."""
        return await _read(self._err)

    async def wait(self) -> int | None:
        """See `ssh.links.link.Program.wait`."""
        status = await self._child.wait()
        return status if status >= 0 else None

    async def close(self) -> None:
        """See `ssh.links.link.Program.close`."""
        with contextlib.suppress(OSError, RuntimeError):
            self._in.close()
        for sign in (None, signal.SIGTERM, signal.SIGKILL):
            if self._child.returncode is None and sign is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._child.pid, sign)
            try:
                async with asyncio.timeout(CLOSING):
                    await self._child.wait()
            except TimeoutError:
                continue
            break
        # A grandchild may hold the pipes open; ours are closed all the same.
        transport = getattr(self._child, "_transport", None)
        if isinstance(transport, asyncio.SubprocessTransport):
            transport.close()


async def _read(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.read(CHUNK)
    except OSError:
        return b""


class CommandLink:
    """Starts programs by a command of the config, or on this computer."""

    def __init__(self, machine: MachineName, command: tuple[str, ...]) -> None:
        self._machine = machine
        self._command = full_command(command)
        self._programs: list[LocalProgram] = []

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`; there is nothing to connect.

        Raises:
            LinkRefused: The command can't be one.
        """
        if any("\0" in word for word in self._command):
            raise LinkRefused(
                self._machine, f"the command of {self._machine} holds a NUL character"
            )

    async def start(self) -> LocalProgram:
        """See `ssh.links.link.Link.start`."""
        try:
            child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=CHUNK,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            raise LinkRefused(
                self._machine,
                f"{self._command[0]} can't be run here: {error.strerror}",
                f"look at `command` of {self._machine} in the config",
            ) from error
        except OSError as error:
            raise LinkLost(self._machine, f"{self._command[0]} did not start: {error}") from error
        program = LocalProgram(self._machine, child)
        self._programs.append(program)
        return program

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        for program in self._programs:
            await program.close()
        self._programs.clear()

    def explain(self, status: int | None, said: str) -> MachineError | None:
        """See `ssh.links.link.Link.explain`."""
        if len(self._command) == 1:
            return None
        return explained(self._machine, self._command[0], status, said)

    def advice(self) -> str | None:
        """See `ssh.links.link.Link.advice`."""
        return None


_ASKS = "press r on it in the room: the same ssh then runs in your terminal and asks you there"
_BY_HAND = "run the same command once in a terminal, then press r"
_CHANGED = ("REMOTE HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY")
_YOURS = (
    "Permission denied",
    "Too many authentication failures",
    "Host key verification failed",
    "a password is required",
    "no askpass program",
)
_LOST = (
    "Could not resolve hostname",
    "Connection refused",
    "Connection reset",
    "Connection closed",
    "timed out",
    "No route to host",
    "Network is unreachable",
)


def explained(
    machine: MachineName, program: str, status: int | None, said: str
) -> MachineError | None:
    """Return what ssh, sudo and their like mean by what they `said`; None: nothing known."""
    words = shown(" ".join(said.split()), 300)
    if any(text in said for text in _CHANGED):
        return LinkRefused(
            machine,
            f"the host key of {machine} changed: {words}",
            "if that is right, mend your known_hosts by hand, then retry",
        )
    if any(text in said for text in _YOURS):
        return NeedsYou(
            machine,
            f"{program} can't log in to {machine} by itself: {words}",
            _ASKS if PurePath(program).name == "ssh" else _BY_HAND,
        )
    if any(text in said for text in _LOST) or (status is None and not said):
        return LinkLost(machine, f"{machine} is not reached: {words or 'the connection ended'}")
    return None
