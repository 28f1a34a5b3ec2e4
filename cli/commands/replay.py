"""`evalroom replay FILE`: play a recording in the room."""

import asyncio
import itertools

from cli.exit_status import keep_crash
from cli.parser.command import GlobalOptions
from cli.parser.room import ReplayCommand
from cli.wiring.clock import WallClock
from cli.wiring.config import config_of
from cli.wiring.room import replay_services
from cli.wiring.terminal import need_a_terminal, trust_the_terminal
from core.desk.replay import ReplayDesk, read_recording
from tui.app import RoomApp


def replay(command: ReplayCommand, options: GlobalOptions) -> int:
    """Run `evalroom replay`; return the exit status.

    Raises:
        UsageWrong: There is no terminal.
    """
    need_a_terminal()
    return asyncio.run(_replay(command, options))


async def _replay(command: ReplayCommand, options: GlobalOptions) -> int:
    """Play a recording in the room."""
    trust_the_terminal()
    config = config_of(options)
    events = read_recording(command.file)
    first = list(itertools.islice(events, 1))  # a wrong file is an error before the room opens
    desk = ReplayDesk(itertools.chain(first, events), clock=WallClock(), speed=command.speed)
    app = RoomApp(
        replay_services(desk),
        screen=config.screen,
        keys=config.keys,
        keep_crash=keep_crash,
        leaving="Leaving does not change the recording.",
    )
    return await app.run_in_terminal()
