"""The event loop of a headless command, and the signals that end it."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


def run_loop(work: Coroutine[Any, Any, int]) -> int:
    """Run `work` and return its exit status.

    SIGINT, SIGTERM and SIGHUP cancel it, so that it cleans up; the status is then 128 + signal.
    """

    async def guarded() -> int:
        loop = asyncio.get_running_loop()
        whole = asyncio.ensure_future(work)
        got: list[int] = []

        def leave(number: int) -> None:
            got.append(number)
            whole.cancel()

        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, leave, number)
        try:
            return await whole
        except asyncio.CancelledError:
            if not got:
                raise
            return 128 + got[0]

    return asyncio.run(guarded())
