"""Waits until the app is idle: nothing is ready to run, and nothing waits to be drawn.

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

from tests.support.clocks import DIALOG_CLOCK
from tui.dialogs import guarded_dialog

_LONGEST_S = 2.0
"""The most processor time to wait: beside a desk on real evals there is always something to do.

On a loaded machine it lasts longer, as all else does.
"""
_SCREEN_S = 120.0
"""The most seconds until a screen has taken a key; a loaded machine may need more than 30."""
_KEY_S = 20.0
"""How long a key may take until the next one is handled: on a loaded machine it is not stuck."""
_NOTICE_S = 600.0
"""A notice stays on screen until a test has looked for it, however slowly the test runs."""


async def app_idle(*_: float) -> None:
    """Wait until the app could only be moved by a timer, by another thread or from outside."""
    ready: Any = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    end = time.thread_time() + _LONGEST_S
    while time.thread_time() < end:
        await asyncio.sleep(0)
        if ready:
            continue
        room = active_app.get()
        if room.screen_stack:
            room.screen._on_timer_update()  # pyright: ignore[reportPrivateUsage] - it draws
        if not ready:
            return


@pytest.fixture(scope="session", autouse=True)
def keys_wait_for_idle() -> Iterator[None]:
    """A pilot's keys and pauses wait until the app is idle, and dialogs use `DIALOG_CLOCK`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "wait_for_idle", app_idle)
        patch.setattr(pilot, "wait_for_idle", app_idle)
        waits: Any = vars(pilot.Pilot)["_wait_for_screen"]  # for its timeout
        patch.setattr(waits, "__defaults__", (_SCREEN_S,))
        patch.setattr(guarded_dialog, "time", DIALOG_CLOCK)
        patch.setattr(app.App, "NOTIFICATION_TIMEOUT", _NOTICE_S)
        patch.setattr("tui.terminal.key_queue.KEY_TIMEOUT_S", _KEY_S)
        patch.setattr("tui.draw_pace._EASE", 0.0)  # what happened is drawn at once
        yield
