"""A terminal driver that survives a terminal which goes away or stalls.

Textual's driver busy-loops after a hang-up, and blocks the whole program when the terminal stalls.
This one reports the hang-up, and drops frames while the terminal stalls.
"""

import contextlib
import os
import sys
import termios
from collections.abc import Callable
from typing import IO, Any, cast

from textual import events
from textual.message import Message

from tui.terminal.textual_internals import OpenDriver

_GIVING_BACK_S = 0.2
"""The writing thread has this long to end."""
_NO_SIZE = (80, 25)


def _nothing() -> None:
    pass


class RoomDriver(OpenDriver):
    """Textual's driver, but it reports a gone terminal and never blocks on a slow one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
        self.write_to(cast("IO[str]", _CarefulStream(sys.__stderr__, self._gone)))
        self.is_gone = False
        self.has_dropped = False
        """Whether frames were dropped, so that the screen must be redrawn."""
        self._is_taken = False
        self.key_arrived: Callable[[], None] = _nothing
        """Called in the thread that reads the terminal, before a key waits for its turn."""

    def process_message(self, message: Message) -> None:
        """Tell that a key arrived, and pass it on."""
        if isinstance(message, events.Key):
            self.key_arrived()
        super().process_message(message)

    def start_application_mode(self) -> None:
        """Take the terminal."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._is_taken = True

    def suspend_application_mode(self) -> None:
        """Give the terminal back for a while."""
        self._is_taken = False
        super().suspend_application_mode()

    def continued(self) -> None:
        """Take the terminal after a stop, and have the whole screen redrawn.

        After a stop that gave nothing back (`kill -STOP`), the shell may have used and set the
        terminal. It is given back first, or each stop would add a thread that reads keys.
        """
        if self._is_taken:
            self.suspend_application_mode()
        super().continued()
        self.has_dropped = True

    def write(self, data: str) -> None:
        """Write one whole frame or sequence; drop it if writing would block."""
        if self.is_gone or not self.is_writing:
            return
        if self.is_full:
            self.has_dropped = True
            return
        self.hand_over(data)

    def close(self) -> None:
        """End the writing thread; abandon it if the terminal accepts no more data."""
        self.stop_writing(_GIVING_BACK_S)

    def check(self) -> bool:
        """Check the terminal; return False once it is gone."""
        if self.input_tty and not self.is_gone:
            try:
                termios.tcgetattr(self.fileno)
            except (termios.error, OSError, ValueError):
                self.is_gone = True
        return not self.is_gone

    def terminal_size(self) -> tuple[int, int]:
        """Return the terminal's size; if it reports none, the default size of Rich.

        Textual's own default is one line less than Rich's, and the two kept resizing the screen.
        """
        width, height = super().terminal_size()
        with contextlib.suppress(OSError):
            reported = os.get_terminal_size(self.fileno)
            width, height = reported.columns or _NO_SIZE[0], reported.lines or _NO_SIZE[1]
        return width, height

    def read_input(self) -> None:
        """Read keys until the terminal goes away."""
        try:
            super().read_input()
        except (OSError, ValueError):
            self._gone()

    def _gone(self) -> None:
        self.is_gone = True


class _CarefulStream:
    """The terminal as a file; a failed write marks it as gone instead of raising."""

    def __init__(self, file: IO[str] | None, gone: Callable[[], None]) -> None:
        self._stream = file
        self._tell_gone = gone

    def write(self, text: str) -> None:
        try:
            if self._stream is not None:
                self._stream.write(text)
        except (OSError, ValueError):
            self._tell_gone()

    def flush(self) -> None:
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError):
            self._tell_gone()

    def fileno(self) -> int:
        return self._stream.fileno() if self._stream is not None else -1

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()
