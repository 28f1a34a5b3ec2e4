"""`evalroom watch`: print events, one per line, until interrupted."""

import asyncio
from contextlib import suppress

from cli.commands.desk_protocols import DeskReader
from cli.commands.watch_findings import print_findings
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.observation import WatchCommand
from cli.render.events import EventLines, event_row
from cli.render.plain import print_json_line, print_lines, print_note
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.history import history_of, past_of
from cli.wiring.notifications import notifying
from core.errors import UsageWrong
from core.events import Event
from core.fold.reflected import reflected
from core.text import shown
from storage.paths import paths


def watch(command: WatchCommand, options: GlobalOptions) -> int:
    """Run `evalroom watch`; return the exit status.

    Raises:
        UsageWrong: `--until` without `--findings`.
        NoMachineReached: `--until` is given, and no machine answered.
    """
    if command.until is not None and not command.findings:
        raise UsageWrong("--until works with --findings only", "add --findings, or use --for")

    async def work() -> int:
        config = config_of(options)
        async with history_of(config, paths()) as history:
            if history.warning:
                print_note(shown(history.warning, 400))
            past = await past_of(config, history)
            async with desk_running(
                config, options, event_store=history.event_store, past=past
            ) as desk:
                if command.findings:
                    async with notifying(desk, config, history):
                        return await print_findings(desk, command, options.config)
                return await print_events(desk, seconds=command.seconds, as_json=command.as_json)

    return run_loop(work())


async def print_events(desk: DeskReader, *, seconds: float | None, as_json: bool) -> int:
    """Print events as they come.

    Args:
        desk: A running desk.
        seconds: When to end; None: only when interrupted.
        as_json: Whether to print each event but heartbeats as a JSON object, instead of a sentence
            for each change.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    sentences = EventLines()

    def on_event(event: Event) -> None:
        kept = reflected(desk.fleet, event)
        try:
            if kept is None:
                return
            if as_json:
                row = event_row(kept)
                if row is not None:
                    print_json_line(row)
            else:
                print_lines(sentences.of(kept))
        except OSError as error:  # the reader of the pipe went away
            if not over.done():
                over.set_exception(error)

    stop = desk.listen(on_event)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await over
    finally:
        stop()
    return 0
