"""`evalroom runs`, `evalroom run ID`, `evalroom output ID`: launched runs and their output."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.event_loop import run_loop
from cli.output import writing_output
from cli.parser.command import GlobalOptions
from cli.parser.runs import OutputCommand, RunCommand, RunsCommand
from cli.render.plain import print_json, print_lines, print_note
from cli.render.runs import example_json, example_lines, run_json, run_line, run_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.history import history_of
from cli.wiring.launches import launches_of
from core.config.model import Config
from core.desk.desk import Desk
from core.errors import UsageWrong
from core.launch.ports import OutputChunk
from core.launch.run.service import DeskLaunchService
from core.model.run import Run
from core.text import shown, shown_lines
from storage.paths import paths

_FOLLOW_EVERY_S = 1.0


def runs(command: RunsCommand, options: GlobalOptions) -> int:
    """Run `evalroom runs`; return the exit status."""

    async def work() -> int:
        async with launches_running(config_of(options), options) as (desk, launches):
            return await print_runs(
                desk, launches, timeout=command.timeout, as_json=command.as_json
            )

    return run_loop(work())


def run(command: RunCommand, options: GlobalOptions) -> int:
    """Run `evalroom run`; return the exit status."""

    async def work() -> int:
        async with launches_running(config_of(options), options) as (desk, launches):
            return await print_run(desk, launches, command)

    return run_loop(work())


def output(command: OutputCommand, options: GlobalOptions) -> int:
    """Run `evalroom output`; return the exit status."""

    async def work() -> int:
        async with launches_running(config_of(options), options) as (desk, launches):
            return await print_output(
                desk, launches, command.name, follow=command.follow, timeout=command.timeout
            )

    return run_loop(work())


@asynccontextmanager
async def launches_running(
    config: Config, options: GlobalOptions
) -> AsyncGenerator[tuple[Desk, DeskLaunchService], None]:
    """Run a desk during the block; yield it with its launch service.

    Raises:
        StorageError: The history of runs can't be opened.
    """
    async with history_of(config, paths()) as history:
        history.require()
        async with desk_running(config, options) as desk:
            yield desk, launches_of(desk, config, history)


async def print_runs(
    desk: DeskReader, launches: DeskLaunchService, *, timeout: float, as_json: bool
) -> int:
    """Print every known run, newest first; return the exit status."""
    await _looked(desk, launches, timeout)
    known = sorted(launches.registry.runs.values(), key=lambda run: run.at, reverse=True)
    if as_json:
        print_json({"as_of": desk.now(), "runs": [run_json(run) for run in known]})
    else:
        print_lines([run_line(run) for run in known] or ["nothing has been launched yet"])
    return 0


async def print_run(desk: DeskReader, launches: DeskLaunchService, command: RunCommand) -> int:
    """Print all that is known about a run; return the exit status.

    Raises:
        UsageWrong: The name fits no run, or several.
    """
    found = await known_run(desk, launches, command.name, command.timeout)
    examples = await launches.error_examples(found) if command.content else ()
    if command.as_json:
        print_json({**run_json(found), **({"errors": example_json(examples)} if examples else {})})
    else:
        print_lines([*run_lines(found), *example_lines(examples)])
    return 0


async def print_output(
    desk: DeskReader, launches: DeskLaunchService, name: str, *, follow: bool, timeout: float
) -> int:
    """Print the end of a run's output; with `follow`, print new output until the run has ended.

    Raises:
        UsageWrong: The name matches no run, or several; or `follow` is set and the run has a
            full-screen display.
        RequestFailed: The output can't be read.
    """
    found = await known_run(desk, launches, name, timeout)
    if follow:
        _refuse_a_screen(found)
    piece = await launches.output(found)
    _print(piece)
    if not piece.data and not follow:
        print_note(f"{found.id} printed nothing")
    while follow:
        now = launches.registry.runs[found.id]
        _refuse_a_screen(now)  # a run that was still being prepared may have one by now
        piece = await launches.output(now, start=piece.end)
        _print(piece)
        if not piece.data:
            if now.has_ended:
                break
            await asyncio.sleep(_FOLLOW_EVERY_S)
    return 0


def _refuse_a_screen(run: Run) -> None:
    if run.has_screen:
        raise UsageWrong(
            f"run {run.id} has a full-screen display, which can't be followed",
            f"use evalroom attach {run.id}, or leave out --follow to print the screen as it is now",
        )


async def known_run(
    desk: DeskReader, launches: DeskLaunchService, name: str, timeout: float
) -> Run:
    """Poll the machines once and return the run of this name.

    Raises:
        UsageWrong: The name fits no run, or several.
    """
    await _looked(desk, launches, timeout)
    return run_named(launches.registry.runs, name)


def _print(piece: OutputChunk) -> None:
    """Print text from a host, made harmless for the terminal."""
    text = shown_lines(piece.data.decode("utf-8", "replace"), len(piece.data) + 1)
    with writing_output():
        sys.stdout.write(text)
        sys.stdout.flush()


async def _looked(desk: DeskReader, launches: DeskLaunchService, timeout: float) -> None:
    await first_poll(desk, timeout)
    await launches.poll_once()


def run_named(known: Mapping[str, Run], name: str) -> Run:
    """Return the run with this id, or the only run whose id contains `name`.

    Raises:
        UsageWrong: The name fits no run, or several.
    """
    if name in known:
        return known[name]
    found = [run for run in known.values() if name and name in run.id]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(run.id for run in found[:5])
        raise UsageWrong(
            f"{shown(name, 60)} matches {len(found)} runs: {listed}", "type more of the ID"
        )
    raise UsageWrong(f"no run matches {shown(name, 60)}", "see: evalroom runs")
