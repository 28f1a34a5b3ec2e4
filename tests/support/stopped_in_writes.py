"""A room that gets SIGCONT while it holds the lock of a write to its terminal, a few times."""

import os
import runpy
import signal
import sys

from tui.terminal.textual_internals import OpenDriver

_FIRST, _LAST = 20, 24
"""The first and last write to which it happens."""
_hand_over = OpenDriver.hand_over
_writes = 0


def _signalled(self: OpenDriver, data: str) -> None:
    global _writes  # noqa: PLW0603 - one room in this process
    _writes += 1
    queue = self._queue  # pyright: ignore[reportPrivateUsage]
    if queue is not None and _FIRST <= _writes <= _LAST:
        with queue.mutex:
            os.kill(os.getpid(), signal.SIGCONT)
    _hand_over(self, data)


if __name__ == "__main__":
    OpenDriver.hand_over = _signalled  # type: ignore[method-assign]
    sys.argv = ["rooms", "busy"]
    runpy.run_module("tests.support.rooms", run_name="__main__")
