"""Runs a program in the foreground, on the terminal that evalroom lends it.

evalroom keeps running in the background: it keeps its links and handles events, but draws nothing.
Ctrl+C goes to the program. Ctrl+Z is disabled, because it would also stop evalroom and all its
links.
"""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from core.text import Shown

ENDING_S = 1.0
"""When evalroom is left, a program has this long to end before the next signal."""
BACK = Shown("Press Enter to return to evalroom.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program in the foreground ended.

    Attributes:
        status: Its exit status; None if a signal ended it or it was not started.
        was_given_up: Whether Ctrl+C was pressed.
        never_ran: Why it could not be started; None if it was.
    """

    status: int | None = None
    was_given_up: bool = False
    never_ran: str | None = None


async def run_program(words: Sequence[str], line: Shown, given_up: asyncio.Event) -> ProgramEnd:
    """Run a program on the terminal, and wait for its end.

    If the program fails without Ctrl+C, wait for Enter, so that its output can be read.

    Args:
        words: The program and its arguments; it shares our session and process group.
        line: Printed first: what runs and why.
        given_up: Set by Ctrl+C.
    """
    out = sys.__stdout__
    assert out is not None  # noqa: S101 - the app has a terminal
    terminal = out.fileno()
    with _kept_modes(terminal):
        _say(f"\n{line}\n")
        try:
            child = await asyncio.create_subprocess_exec(*words)
        except OSError as error:
            return ProgramEnd(never_ran=error.strerror or type(error).__name__)
        try:
            status = await child.wait()
        finally:
            if child.returncode is None:
                await _end(child)
        if status != 0 and not given_up.is_set():
            _say(f"\n{BACK}\n")
            await _enter(given_up)
            given_up.clear()
    return ProgramEnd(status=status if status >= 0 else None, was_given_up=given_up.is_set())


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.__stdout__.write(text)  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess]
        sys.__stdout__.flush()  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess]


async def _end(child: asyncio.subprocess.Process) -> None:
    for end in (child.terminate, child.kill):
        with contextlib.suppress(ProcessLookupError):
            end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ENDING_S):
                await child.wait()
                return


async def _enter(given_up: asyncio.Event) -> None:
    """Wait for a line, or Ctrl+C."""
    loop = asyncio.get_running_loop()
    stdin = sys.__stdin__
    assert stdin is not None  # noqa: S101 - the app has a terminal
    loop.add_reader(stdin.fileno(), given_up.set)
    try:
        await given_up.wait()
    finally:
        loop.remove_reader(stdin.fileno())


@contextmanager
def _kept_modes(terminal: int) -> Generator[None]:
    """Disable Ctrl+Z; afterwards restore the terminal's modes, whatever the program did to them.

    Unread input is discarded: it was meant for the program and may be a secret.
    """
    try:
        before = termios.tcgetattr(terminal)
        modes = termios.tcgetattr(terminal)
        modes[6][termios.VSUSP] = os.fpathconf(terminal, "PC_VDISABLE").to_bytes()
        termios.tcsetattr(terminal, termios.TCSAFLUSH, modes)
    except (termios.error, OSError):  # the terminal is gone; the driver notices by itself
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
