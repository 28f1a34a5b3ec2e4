"""The event loop of a headless command, and the signals that end it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tui.terminal.shutdown import ended_by_signals

GRACE_S = 30.0
"""A command ends at most this long after a signal: links and a demo's eval take time to end."""


def run_loop(work: Coroutine[Any, Any, int], *, grace_s: float = GRACE_S) -> int:
    """Run `work` and return its exit status.

    SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel it, so that it cleans up; the status is then 128 +
    signal. A command that does not end within `grace_s` seconds is killed, and soon after a
    second SIGINT too.
    """

    async def guarded() -> int:
        whole = asyncio.ensure_future(work)
        got: list[int] = []

        def leave(status: int) -> None:
            got.append(status)
            whole.cancel()

        with ended_by_signals(leave, grace_s=grace_s, has_screen=False):
            try:
                return await whole
            except asyncio.CancelledError:
                if not got:
                    raise
                return got[0]

    return asyncio.run(guarded())
