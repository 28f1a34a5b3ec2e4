"""Ends the process: the signals that ask for it, and a timer in case something hangs."""

import os
import signal
import sys
import termios
import threading
import time

GRACE_S = 2.0
"""The process ends at most this long after it was asked to."""
_GIVING_BACK_S = 0.2
"""Restoring the terminal may take this long before the process ends."""
LEAVING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


def end_after(seconds: float, status: int) -> None:
    """End the process after `seconds`, whatever hangs; the terminal is restored first."""
    stdin = sys.__stdin__
    fd = stdin.fileno() if stdin is not None and not stdin.closed else -1
    timer = threading.Timer(seconds, _end, (fd, status))
    timer.daemon = True
    timer.start()


def _end(fd: int, status: int) -> None:
    # A write to a stalled terminal never returns, so a thread does it and is abandoned.
    threading.Thread(target=_give_back, args=(fd,), daemon=True).start()
    time.sleep(_GIVING_BACK_S)
    os._exit(status)


def _give_back(fd: int) -> None:
    try:
        mode = termios.tcgetattr(fd)
        mode[3] |= termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        os.write(2, b"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?7h")
    except (termios.error, OSError):
        pass
