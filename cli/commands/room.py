"""`evalroom` without a command: open the room with the machines of the config."""

import asyncio
import gc
import importlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cli.exit_status import keep_crash
from cli.parser.command import GlobalOptions
from cli.parser.room import RoomCommand
from cli.wiring.config import config_of
from cli.wiring.desk import desk_of
from cli.wiring.history import history_of, past_of
from cli.wiring.notifications import notifying
from cli.wiring.terminal import need_a_terminal, trust_the_terminal
from core.config.model import Config
from core.model.question import Question
from storage.paths import paths

if TYPE_CHECKING:
    from tui.app import RoomApp


def room(command: RoomCommand, options: GlobalOptions) -> int:
    """Run `evalroom`; return the exit status.

    Raises:
        UsageWrong: No terminal.
    """
    del command
    need_a_terminal()
    gc.disable()  # until the first frame, see `_collect_again`
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    return asyncio.run(_room(config_of(options), options))


async def _room(config: Config, options: GlobalOptions) -> int:
    """Open the room."""
    apps: list[RoomApp] = []

    trust_the_terminal()

    async def ask(question: Question) -> str | None:
        return await apps[0].ask(question) if apps else None

    places = paths()
    own_runs = frozenset({options.own_run} if options.own_run else ())
    async with history_of(config, places, own_runs) as history:
        past = await past_of(config, history)
        with desk_of(
            config, options.record, event_store=history.event_store, ask=ask, past=past
        ) as desk:
            if all(machine.link == "command" for machine in config.machines):
                desk.begin()
                await _load_screens()
            from cli.wiring.room import room_services  # noqa: PLC0415
            from tui import app as screens  # noqa: PLC0415

            app = screens.RoomApp(
                room_services(desk, config, history, places),
                screen=config.screen,
                keys=config.keys,
                keep_crash=keep_crash,
                leaving=options.leaving or screens.LEAVING,
                notice="nothing is stored" if history.event_store is None else "",
                greeting=history.warning,
            )
            apps.append(app)
            app.call_later(_collect_again, app)
            async with notifying(desk, config, history):
                return await app.run_in_terminal()


_STEPS = (
    *("rich.console", "textual.css.styles", "textual.app", "textual.widgets"),
    *("core.views.tables.tasks", "tui.screens.panes_screen", "tui.app"),
)
_TURNS = 5


async def _load_screens() -> None:
    """Import the screens in steps, so that probes can start in between.

    A thread would not help: both would wait for the interpreter lock.
    """
    for name in _STEPS:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        importlib.import_module(name)


_SWITCH_INTERVAL_S = 0.001
"""For `sys.setswitchinterval`: the screen waits so long for a thread that decodes, for each step
of a key's way, of which there are ten or more."""
_GC_THRESHOLD = (10_000, 20, 50)
"""For `gc.set_threshold`. Decoded data has no reference cycles, so refcounting frees it; a full
collection over 20,000 samples delayed keys by 0.2 s."""
_FULL_EVERY_S = 120.0
"""Seconds between two full collections. Lost connections and failed reads leave cycles, which
Python by itself would collect only after hours."""
_QUIET_S = 3.0
"""Seconds without a key before one of them."""


def _collect_again(app: "RoomApp") -> None:
    """Turn the garbage collector on again after the first frame, for newer objects only."""

    def drawn() -> None:
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLD)
        gc.enable()
        app.set_interval(1.0, FullCollections(lambda: app.quiet_for).tick)

    app.call_after_refresh(drawn)


class FullCollections:
    """Collects all garbage every two minutes, at a moment when nobody types.

    Args:
        quiet_for: Returns the seconds since the last key.
        clock: Returns the seconds of a clock that is never set.
    """

    def __init__(
        self, quiet_for: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet_for = quiet_for
        self._clock = clock
        self._collected_at = clock()

    def tick(self) -> None:
        """Collect where a collection is due; call it about once a second."""
        if self._clock() - self._collected_at < _FULL_EVERY_S or self._quiet_for() < _QUIET_S:
            return
        gc.collect()
        self._collected_at = self._clock()
