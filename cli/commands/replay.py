"""`evalroom replay FILE`: play a recording in the room."""

import asyncio
import itertools
from collections.abc import Iterator

from cli.exit_status import keep_crash
from cli.parser.command import GlobalOptions
from cli.parser.room import ReplayCommand
from cli.wiring.clock import WallClock
from cli.wiring.config import config_of
from cli.wiring.room import replay_services
from cli.wiring.terminal import need_a_terminal, trust_the_terminal
from core.desk.replay import ReplayDesk, read_recording
from core.events import Event
from tui.app import RoomApp


def replay(command: ReplayCommand, options: GlobalOptions) -> int:
    """Run `evalroom replay`; return the exit status.

    Raises:
        UsageWrong: No terminal.
        StorageError: The file can't be read, or is not a recording.
    """
    events = read_recording(command.file)
    first = list(itertools.islice(events, 1))  # a wrong file is an error before the room opens
    need_a_terminal()
    return asyncio.run(_replay(command, options, itertools.chain(first, events)))


async def _replay(command: ReplayCommand, options: GlobalOptions, events: Iterator[Event]) -> int:
    """Play a recording in the room."""
    trust_the_terminal()
    config = config_of(options)
    desk = ReplayDesk(events, clock=WallClock(), speed=command.speed)
    app = RoomApp(
        replay_services(desk),
        screen=config.screen,
        keys=config.keys,
        keep_crash=keep_crash,
        leaving="Leaving does not change the recording.",
    )
    return await app.run_in_terminal()
