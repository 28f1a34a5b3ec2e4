"""Life in a terminal: it may go away, stall, or be one of many programs' that share it.

Textual's driver spins when its terminal hung up, and blocks the whole program when it stalls;
this one reports the first and drops frames for the second.
"""

import base64
import contextlib
import os
import signal
import sys
import termios
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any, cast

from core.text import Shown, shown
from tui.terminal.textual_internals import OpenDriver

GRACE = 2.0
"""Seconds between the wish to exit and the end of the process, whatever hangs."""
_GIVING_BACK = 0.2
_ESC = "\x1b"
_NO_SIZE = (80, 25)
_SCREEN_PART = 700
"""GNU screen passes on no longer string than this, bytes."""


class RoomDriver(OpenDriver):
    """Textual's driver, which says when the terminal is gone and never blocks on a slow one."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
        self.write_to(cast("IO[str]", _Careful(sys.__stderr__, self._gone)))
        self.is_gone = False
        self.has_dropped = False
        """Frames were dropped: the screen is to be drawn anew."""

    def write(self, data: str) -> None:
        """Hand one whole frame or sequence to the terminal; drop it where that would block."""
        if self.is_gone or not self.is_writing:
            return
        if self.is_full:
            self.has_dropped = True
            return
        self.hand_over(data)

    def close(self) -> None:
        """End the writing thread; leave it behind where the terminal takes nothing more."""
        self.stop_writing(_GIVING_BACK)

    def look(self) -> bool:
        """Look whether the terminal is still there; False once it is gone."""
        if self.input_tty and not self.is_gone:
            try:
                termios.tcgetattr(self.fileno)
            except (termios.error, OSError, ValueError):
                self.is_gone = True
        return not self.is_gone

    def terminal_size(self) -> tuple[int, int]:
        """Return the terminal's size; one that knows none has the size that Rich gives it.

        Textual's own guess is a line less, and each of the two resized the screen for the other.
        """
        width, height = super().terminal_size()
        with contextlib.suppress(OSError):
            told = os.get_terminal_size(self.fileno)
            width, height = told.columns or _NO_SIZE[0], told.lines or _NO_SIZE[1]
        return width, height

    def read_input(self) -> None:
        """Read what is typed; where the terminal goes away, say so and end."""
        try:
            super().read_input()
        except (OSError, ValueError):
            self._gone()

    def _gone(self) -> None:
        self.is_gone = True


class _Careful:
    """The terminal as a file that tells of its end instead of raising."""

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


def title_sequence(title: Shown) -> str:
    """Return what sets the terminal's title."""
    return f"{_ESC}]2;{title}\a"


KEEP_TITLE, RESTORE_TITLE = f"{_ESC}[22;2t", f"{_ESC}[23;2t"
"""The terminal keeps its title, and takes it back, where it knows how."""


def clipboard_sequences(
    text: str, environ: Mapping[str, str], limit: int
) -> tuple[str, ...] | None:
    """Return what asks the terminal to take `text` into its clipboard (OSC 52).

    Inside tmux it goes out bare, for `set-clipboard on`, and wrapped, for `allow-passthrough
    on`; inside GNU screen wrapped in pieces.

    Returns:
        None: it is longer than `limit` bytes once encoded, and nothing is to be sent.
    """
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if len(encoded) > limit:
        return None
    bare = f"{_ESC}]52;c;{encoded}\a"
    if environ.get("TMUX"):
        return (bare, f"{_ESC}Ptmux;{bare.replace(_ESC, _ESC * 2)}{_ESC}\\")
    if environ.get("STY"):
        pieces = [bare[at : at + _SCREEN_PART] for at in range(0, len(bare), _SCREEN_PART)]
        return tuple(f"{_ESC}P{piece}{_ESC}\\" for piece in pieces)
    return (bare,)


def end_after(seconds: float, status: int) -> None:
    """End the process after `seconds`, whatever hangs; the terminal is given back first."""
    stdin = sys.__stdin__
    fd = stdin.fileno() if stdin is not None and not stdin.closed else -1
    timer = threading.Timer(seconds, _end, (fd, status))
    timer.daemon = True
    timer.start()


def _end(fd: int, status: int) -> None:
    # Writing to a terminal that stalls never returns, so a thread does it and is left behind.
    threading.Thread(target=_give_back, args=(fd,), daemon=True).start()
    time.sleep(_GIVING_BACK)
    os._exit(status)


def _give_back(fd: int) -> None:
    try:
        mode = termios.tcgetattr(fd)
        mode[3] |= termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        os.write(2, b"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?7h")
    except (termios.error, OSError):
        pass


LEAVING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


def report_of(error: BaseException) -> str:
    """Return an error and where it came from, without any value of a local variable."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return "".join(lines)


def sentence_of(error: BaseException) -> Shown:
    """Return an error as one harmless line."""
    return shown(f"{type(error).__name__}: {error}", 300)
