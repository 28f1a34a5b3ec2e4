"""`evalroom triage [TARGET]` and `evalroom why TARGET`: reports from one poll of everything."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from cli.commands.desk_protocols import DeskReader
from cli.commands.process_reads import traced
from cli.commands.silence import found_target
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.observation import TriageCommand, WhyCommand
from cli.render.fleet_json import plain_json
from cli.render.plain import print_json, print_lines
from cli.render.triage import triage_answer
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.past import past_unopened
from core.act.target_expansion import ActionPlace
from core.act.target_grammar import place_named
from core.config.judge import JudgeConfig
from core.ctl.last_events import last_events
from core.errors import NoMachineReached, TargetUnclear
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, TaskKey
from core.model.task import TaskState
from core.text import Shown, shown
from core.views.cells import TextLine
from core.views.pages.detail_lines import dated_event
from core.views.triage.lines import triage_lines
from core.views.triage.report import Target
from core.views.triage.report import triage as report_on
from core.views.triage.why import why as report_why
from core.views.triage.why import why_lines

SAMPLES_WAIT_S = 10.0
"""The longest wait for the first poll of the samples, seconds."""
EVENTS_WAIT_S = 5.0
_EVERY_S = 0.02


def triage(command: TriageCommand, options: GlobalOptions) -> int:
    """Run `evalroom triage`; return the exit status."""

    async def work() -> int:
        config = config_of(options)
        async with desk_running(config, options, past=past_unopened(config)) as desk:
            return await print_triage(desk, command, config.judge)

    return run_loop(work())


async def print_triage(desk: DeskReader, command: TriageCommand, rules: JudgeConfig) -> int:
    """Print the report on a target; return the exit status.

    Raises:
        NoMachineReached: No machine answered, or the one of the target did not.
        TargetUnclear: The target fits nothing, or several things.
    """
    target = await target_of(desk, command.target, command.timeout)
    report = report_on(desk.fleet, target, rules, desk.now())
    if command.as_json:
        print_json(triage_answer(desk.fleet, report))
    else:
        print_lines([text_of(line) for line in triage_lines(desk.fleet, report)])
    return 0


def why(command: WhyCommand, options: GlobalOptions) -> int:
    """Run `evalroom why`; return the exit status."""

    async def work() -> int:
        config = config_of(options)
        async with desk_running(config, options, past=past_unopened(config)) as desk:
            return await print_why(desk, command, config.judge)

    return run_loop(work())


async def print_why(desk: DeskReader, command: WhyCommand, rules: JudgeConfig) -> int:
    """Print the report on a sample or a process; return the exit status.

    Raises:
        NoMachineReached: No machine answered, or the one of the target did not.
        TargetUnclear: The target fits nothing, several things, or neither of the two.
    """
    target = await target_of(desk, command.target, command.timeout)
    if not isinstance(target, SampleKey | ProcessKey):
        raise TargetUnclear(
            f"{shown(command.target, 80)} is neither a sample nor a process",
            "name TASK#ID/EPOCH or machine:PID; for the rest: evalroom triage",
        )
    await traced(desk, target if isinstance(target, ProcessKey) else target.task.process)
    events = await _last_events(desk, target) if isinstance(target, SampleKey) else ()
    report = report_why(desk.fleet, target, rules, desk.now(), events)
    if command.as_json:
        print_json(plain_json(report))
    else:
        print_lines([text_of(line) for line in why_lines(report)])
    return 0


async def _last_events(desk: DeskReader, key: SampleKey) -> Sequence[Shown]:
    """Return the last events of a sample as lines; none where they can't be read."""
    read = partial(desk.read, deadline=EVENTS_WAIT_S)
    return [dated_event(each) for each in await last_events(read, desk.fleet, key)]


async def target_of(desk: DeskReader, word: str | None, timeout: float) -> Target:
    """Poll everything once, with the samples, and return what a word names; None: everything.

    Raises:
        NoMachineReached: No machine answered, or the one that the target may be on did not.
        TargetUnclear: The word fits nothing, or several things.
    """
    until = asyncio.get_running_loop().time() + timeout
    polled = await desk.first_poll(timeout)
    if not desk.fleet.tasks and not any(each.is_reached for each in desk.fleet.machines.values()):
        raise NoMachineReached("no machine could be reached", "find out why: evalroom machines")
    with suppress(TimeoutError):
        async with asyncio.timeout(min(timeout, SAMPLES_WAIT_S)):
            while _waits_for_samples(desk):  # noqa: ASYNC110 - the fleet has no event for this
                await asyncio.sleep(_EVERY_S)
    if word is None:
        return None

    async def named() -> ActionPlace:
        return place_named(word, desk.fleet)

    place = await found_target(desk, named, polled=polled, until=until)
    match place:
        case ModelKey():
            return place.process
        case SampleKey() | TaskKey() | ProcessKey():
            return place
        case _:
            return MachineName(place)


def _waits_for_samples(desk: DeskReader) -> bool:
    fleet = desk.fleet
    return any(
        task.state is TaskState.RUNNING
        and task.samples_as_of is None
        and fleet.is_up(task.key.machine)
        for task in fleet.tasks.values()
    )


def text_of(line: TextLine) -> str:
    """Return a line of a report as plain text."""
    return "".join(span.text for span in line)
