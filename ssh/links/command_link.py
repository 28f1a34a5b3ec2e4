"""The command link: runs a command of the config that starts a shell on the machine.

An empty command means this computer. `["ssh", ...]` is for hosts that asyncssh can't reach (MFA,
hardware keys); `docker exec -i`, `kubectl exec -i`, `sudo -u` and `srun --overlap` also work.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import PurePath

from core.errors import HostKeyRefused, LinkLost, LinkRefused, MachineError, NeedsYou
from core.ids import MachineName
from core.text import shown
from ssh.links.agent import AgentWatch, environment_with
from ssh.links.control_master import ControlMaster
from ssh.links.link import SHELL
from ssh.links.ssh_command import (
    effective_options,
    has_remote_command,
    link_options,
    option_words,
    takes_ssh_options,
    unlent_options,
)

MAX_READ_BYTES = 65_536
LOGIN_TIMEOUT_S = 15.0
"""How long an ssh may take to log in, seconds."""
CLOSE_TIMEOUT_S = 2.0
"""How long a program may take to end after each of: closed input, SIGTERM, SIGKILL; seconds."""


def shell_command(
    command: tuple[str, ...], options: dict[str, str] | None = None
) -> tuple[str, ...]:
    """Return the full argument list: `command` followed by the shell.

    ssh gets BatchMode, so that it never prompts on the terminal, and no pseudo-terminal.

    Args:
        command: The command of the config.
        options: More options for ssh.
    """
    if takes_ssh_options(command):
        flags = option_words({"BatchMode": "yes", **(options or {})})
        command = (command[0], "-T", *flags, *command[1:])
    return (*command, SHELL)


class ChildProgram:
    """A child process on this computer, in its own session."""

    def __init__(self, machine: MachineName, child: asyncio.subprocess.Process) -> None:
        self._machine = machine
        self._child = child
        assert child.stdin is not None  # noqa: S101 - all three are pipes
        assert child.stdout is not None  # noqa: S101
        assert child.stderr is not None  # noqa: S101
        self._in, self._out, self._err = child.stdin, child.stdout, child.stderr

    @property
    def pid(self) -> int:
        """The child's process id on this computer."""
        return self._child.pid

    async def write(self, data: bytes) -> None:
        """See `ssh.links.link.Program.write`."""
        try:
            self._in.write(data)
            await self._in.drain()
        except (OSError, RuntimeError) as error:
            raise LinkLost(self._machine, f"the command of {self._machine} ended") from error

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
        try:
            await self._end()
        finally:
            # A grandchild may hold the pipes open, or evalroom ends: close our ends anyway.
            transport = getattr(self._child, "_transport", None)
            if isinstance(transport, asyncio.SubprocessTransport):
                transport.close()

    async def _end(self) -> None:
        for signal_number in (None, signal.SIGTERM, signal.SIGKILL):
            if self._child.returncode is None and signal_number is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._child.pid, signal_number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._child.wait()
                    return


async def _read(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.read(MAX_READ_BYTES)
    except OSError:
        return b""


class CommandLink:
    """Starts programs with the command of the config, or on this computer."""

    def __init__(
        self,
        machine: MachineName,
        command: tuple[str, ...],
        agent: AgentWatch | None = None,
        master: ControlMaster | None = None,
    ) -> None:
        self._machine = machine
        self._configured = command
        self._command = shell_command(command)
        self._agent = agent or AgentWatch()
        self._master = master or ControlMaster(command)
        self._environment: Mapping[str, str] | None = None
        self._programs: list[ChildProgram] = []

    async def open(self) -> None:
        """See `ssh.links.link.Link.open`. Checks the command, and asks ssh for its options.

        Raises:
            LinkRefused: The command contains a NUL character.
        """
        if any("\0" in word for word in self._command):
            raise LinkRefused(
                self._machine,
                f"the command of {self._machine} contains a NUL character",
                f"remove it from `command` of {self._machine} in the config",
            )
        if takes_ssh_options(self._configured):
            options = await effective_options(self._configured)
            agent = await self._agent.query(options.get("identityagent", (None,))[0])
            self._environment = environment_with(agent)
            around = await self._master.options(options, self._environment)
            unlent = unlent_options(self._configured, options)
            fit = {**around, **link_options(options), **unlent}
            self._command = shell_command(self._configured, fit)

    async def start(self) -> ChildProgram:
        """See `ssh.links.link.Link.start`."""
        try:
            child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=MAX_READ_BYTES,
                env=self._environment,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            raise LinkRefused(
                self._machine,
                f"can't run {self._command[0]} on this computer: {error.strerror}",
                f"check `command` of {self._machine} in the config",
            ) from error
        except OSError as error:
            raise LinkLost(
                self._machine, f"can't start {self._command[0]}: {error.strerror}"
            ) from error
        program = ChildProgram(self._machine, child)
        self._programs.append(program)
        return program

    async def close(self) -> None:
        """See `ssh.links.link.Link.close`."""
        programs, self._programs = self._programs, []
        await asyncio.gather(*(program.close() for program in programs))

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        """See `ssh.links.link.Link.explain`."""
        if len(self._command) == 1:
            return None
        error = explain_stderr(
            self._machine,
            self._command[0],
            status,
            stderr,
            has_more=takes_ssh_options(self._configured) and has_remote_command(self._configured),
        )
        if isinstance(error, NeedsYou) and self._master.is_avoided:
            self._master.was_rejected()
            words = f"{error.message}; evalroom uses the ControlMaster again"
            return LinkLost(self._machine, words)
        problem = self._agent.seen.problem() if takes_ssh_options(self._configured) else None
        if isinstance(error, NeedsYou) and _DENIED_TEXT in stderr and problem is not None:
            error.message = f"{error.message} ({problem})"
        return error

    @property
    def login_timeout(self) -> float:
        """See `ssh.links.link.Link.login_timeout`: an ssh without a master logs in first."""
        is_login = takes_ssh_options(self._configured) and not self._master.is_used
        return LOGIN_TIMEOUT_S if is_login else 0.0

    async def came_up(self) -> None:
        """See `ssh.links.link.Link.came_up`."""
        await self._master.came_up()

    async def went_silent(self) -> None:
        """See `ssh.links.link.Link.went_silent`."""
        await self._master.went_silent()

    def advice(self) -> str | None:
        """See `ssh.links.link.Link.advice`."""
        return None


_PRESS_R = "press r: evalroom then runs the same ssh in your terminal, where it can ask you"
_RUN_BY_HAND = "run the same command once in a terminal, then press r"
_KEY_CHANGED_TEXTS = ("REMOTE HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY")
_DENIED_TEXT = "Permission denied"
_SIGN_IN_TEXTS = (
    _DENIED_TEXT,
    "Too many authentication failures",
    "Host key verification failed",
    "a password is required",
    "no askpass program",
    "not in the sudoers file",
    "is not allowed to",
    "unknown user",
)
_SSH_FAILED = 255
"""The exit status of ssh's own failures; others are those of the program over there."""
_SILENT_TEXTS = (
    "timed out",
    "No route to host",
    "Network is unreachable",
    "not responding",
    "Temporary failure in name resolution",
)
"""Texts of a network that carries nothing."""
_UNREACHABLE_TEXTS = (
    "Could not resolve hostname",
    "Connection refused",
    "Connection reset",
    "Connection closed",
    "timed out",
    "No route to host",
    "Network is unreachable",
)


def explain_stderr(
    machine: MachineName,
    program: str,
    status: int | None,
    stderr: str,
    *,
    has_more: bool = False,
) -> MachineError | None:
    """Return the error that a link's command reports, in its own words.

    None: the command reached the machine, whose shell or account failed. Only ssh reports this, by
    a status other than 255; a failure of any other command may pass by itself.

    Args:
        machine: For messages.
        program: The first word of the command.
        status: Its exit status; None if there was none.
        stderr: The end of its standard error, untrusted.
        has_more: Whether an ssh runs another such command on its host, such as `docker exec`.
    """
    words = shown(" ".join(stderr.split()), 300)
    if any(text in stderr for text in _KEY_CHANGED_TEXTS):
        return HostKeyRefused(
            machine,
            f"the host key of {machine} changed or is revoked: {words}",
            "ask the machine's owner; if the new key is right, remove the old line from your "
            "known_hosts, then press r",
        )
    if any(text in stderr for text in _SIGN_IN_TEXTS):
        return NeedsYou(
            machine,
            f"{program} can't log in to {machine} without you: {words}",
            _PRESS_R if PurePath(program).name == "ssh" else _RUN_BY_HAND,
        )
    is_silent = any(text in stderr for text in _SILENT_TEXTS)
    if any(text in stderr for text in _UNREACHABLE_TEXTS) or (status is None and not stderr):
        why = f"can't reach {machine}: {words or 'the connection ended'}"
        return LinkLost(machine, why, is_silent=is_silent)
    is_ssh_program = takes_ssh_options((program,))
    if is_ssh_program and status != _SSH_FAILED and not has_more:
        return None
    name = shown(PurePath(program).name, 60)
    how = "a signal ended it" if status is None else f"exit {status}"
    why = f"{name} can't reach {machine} ({how}): {words or 'no output'}"
    return LinkLost(machine, why, is_silent=is_silent)
