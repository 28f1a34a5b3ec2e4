"""A room that gets SIGCONT while it holds the lock of a write to its terminal, a few times.

It makes the file that its only argument names once that is over.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

from tui.terminal.textual_internals import OpenDriver

_FIRST, _LAST = 20, 24
"""The first and last write to which it happens."""
_OVER = 80
"""A later write: the terminal was taken again long before it."""
_hand_over = OpenDriver.hand_over
_writes = 0
_marker = ""


def _signalled(self: OpenDriver, data: str) -> None:
    global _writes  # noqa: PLW0603 - one room in this process
    _writes += 1
    queue = self._queue  # pyright: ignore[reportPrivateUsage]
    if queue is not None and _FIRST <= _writes <= _LAST:
        with queue.mutex:
            os.kill(os.getpid(), signal.SIGCONT)
    elif _writes == _OVER:
        Path(_marker).touch()
    _hand_over(self, data)


if __name__ == "__main__":
    OpenDriver.hand_over = _signalled  # type: ignore[method-assign]
    _marker = sys.argv[1]
    sys.argv = ["rooms", "busy"]
    runpy.run_module("tests.support.rooms", run_name="__main__")
