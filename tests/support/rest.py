"""When the app has come to rest: nothing is ready to run, and nothing waits to be drawn.

Textual's pilot guesses it from the time of the processor, for 40 ms and more after every key; on a
loaded machine it takes a process that gets no processor for one that has nothing to do.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from textual import app, pilot
from textual._context import active_app

from tests.support.clocks import LOOKING
from tui.dialogs import guarded_dialog

_LONGEST = 2.0
"""Seconds to wait at most: beside a desk on real evals there is always something to do."""
_NOTICE_S = 600.0
"""A notice stays on screen until a test has looked for it, however slowly the test runs."""


async def rest(*_: float) -> None:
    """Wait until the app could only be moved by a timer, by another thread or from outside."""
    ready: Any = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end:
        await asyncio.sleep(0)
        if ready:
            continue
        room = active_app.get()
        if room.screen_stack:
            room.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage] - it draws
        if not ready:
            return


@pytest.fixture(scope="session", autouse=True)
def keys_wait_for_rest() -> Iterator[None]:
    """A pilot's keys and pauses wait for the app's rest, and dialogs live by `LOOKING`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "wait_for_idle", rest)
        patch.setattr(pilot, "wait_for_idle", rest)
        patch.setattr(guarded_dialog, "time", LOOKING)
        patch.setattr(app.App, "NOTIFICATION_TIMEOUT", _NOTICE_S)
        patch.setattr("tui.draw_pace._EASE", 0.0)  # what happened is drawn at once
        yield
