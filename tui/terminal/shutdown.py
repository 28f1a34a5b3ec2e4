"""Ends the process: the signals that ask for it, and a last resort in case something hangs.

Neither needs the event loop: a host may have given it work for minutes, or an error blocks it.
"""

import _thread
import asyncio
import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE_S = 2.0
"""The room ends at most this long after it was asked to."""
AGAIN_GRACE_S = 0.5
"""After a second SIGINT the process ends at most this long after it."""
_GIVING_BACK_S = 0.2
"""Restoring the terminal may take this long before the process ends."""
LEAVING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
_ORDINARY_SCREEN = (
    b"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?7h"
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"
)


@contextmanager
def ended_by_signals(
    leave: Callable[[int], object], *, grace_s: float, has_screen: bool
) -> Generator[Callable[[], None]]:
    """Let signals end this process during the block, whatever the running event loop does.

    The first signal has `leave` called by the loop, with 128 + its number. If the process still
    runs `grace_s` later, it is ended with that status. A second SIGINT ends it in any case.

    Args:
        leave: Ends the work in an orderly way.
        grace_s: Seconds that this may take.
        has_screen: Whether the last resort restores a full-screen terminal too.

    Yields:
        Sets the handlers again, where a part of the block has replaced them.
    """
    loop = asyncio.get_running_loop()
    got: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        is_first = not got
        got.append(number)
        if is_first:
            end_after(grace_s, 128 + number, has_screen=has_screen)
            with suppress(RuntimeError):  # the loop is closed: nothing is left to end
                loop.call_soon_threadsafe(leave, 128 + number)
        elif number == signal.SIGINT and got.count(number) > 1:
            end_after(AGAIN_GRACE_S, 128 + number, has_screen=has_screen)

    def set_handlers() -> None:
        for each in LEAVING_SIGNALS:
            signal.signal(each, handle)

    before = {each: signal.getsignal(each) for each in LEAVING_SIGNALS}
    set_handlers()
    try:
        yield set_handlers
    finally:
        if not got:  # else the last resort is on its way, and a further signal has to do no harm
            for each, former in before.items():
                signal.signal(each, former if former is not None else signal.SIG_DFL)


def end_after(seconds: float, status: int, *, has_screen: bool) -> None:
    """End the process after `seconds`, whatever hangs; the terminal is restored first.

    A signal handler may call this: it takes no lock that the interrupted code may hold.

    Args:
        seconds: When to end it.
        status: Its exit status then.
        has_screen: Whether the terminal shows a full screen, which has to go.
    """
    _thread.start_new_thread(_end, (seconds, status, has_screen))


def _end(seconds: float, status: int, has_screen: bool) -> None:
    time.sleep(seconds)
    # A write to a stalled terminal never returns, so a thread does it and is abandoned.
    with suppress(RuntimeError):  # no more threads
        _thread.start_new_thread(_give_back, (has_screen,))
        time.sleep(_GIVING_BACK_S)
    os._exit(status)


def _give_back(has_screen: bool) -> None:
    stdin = sys.__stdin__
    with suppress(termios.error, OSError, ValueError):
        fd = stdin.fileno() if stdin is not None else -1
        mode = termios.tcgetattr(fd)
        mode[0] |= termios.ICRNL
        mode[3] |= termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(fd, termios.TCSANOW, mode)
    if has_screen:
        with suppress(OSError):
            os.write(2, _ORDINARY_SCREEN)
