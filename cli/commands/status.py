"""`evalroom status` and `evalroom machines`: poll everything once and print it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.machines import MachinesCommand
from cli.parser.observation import StatusCommand
from cli.render.fleet_json import machine_row, status_answer
from cli.render.plain import print_json, print_lines, table_lines, terminal_room
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.past import past_unopened
from core import format as fmt
from core.fleet import Fleet
from core.model.machine import InspectFound, Machine, ToolState
from core.model.task import Task, TaskState
from core.text import shown
from core.views.header.totals import header_totals
from core.views.slow_polls import slow_poll_words, slow_polls
from core.views.tables.machines import machines_table
from core.views.tables.processes import processes_table
from core.views.tables.tasks import tasks_table

_FACTS_BRIEF_S = 5.0
"""They come with the second part of the probe, which a thin link carries in 3 s."""
_FACTS_LONG_S = 12.0
_LOGS_S = 15.0
_POLL_EVERY_S = 0.02
_MAX_STALE_REASONS = 20

NOBODY_REACHED = 3
"""The exit status when no machine could be reached."""


def status(command: StatusCommand, options: GlobalOptions) -> int:
    """Run `evalroom status`; return the exit status."""

    async def work() -> int:
        config = config_of(options)
        async with desk_running(config, options, past=past_unopened(config)) as desk:
            return await print_status(desk, timeout=command.timeout, as_json=command.as_json)

    return run_loop(work())


def machines(command: MachinesCommand, options: GlobalOptions) -> int:
    """Run `evalroom machines`; return the exit status."""

    async def work() -> int:
        async with desk_running(config_of(options), options) as desk:
            return await print_machines(desk, timeout=command.timeout, as_json=command.as_json)

    return run_loop(work())


async def print_status(desk: DeskReader, *, timeout: float, as_json: bool) -> int:
    """Print the fleet after one poll of everything; return the exit status.

    3 when no machine could be reached.
    """
    await first_poll(desk, timeout)
    await _until(desk, _has_facts, min(timeout, _FACTS_BRIEF_S))
    await _until_logs_are_read(desk, min(timeout, _LOGS_S))
    fleet, now = desk.fleet, desk.now()
    if as_json:
        print_json(status_answer(fleet, now))
    else:
        print_lines(status_lines(fleet, now, terminal_room()))
    return _exit_status(fleet)


async def print_machines(desk: DeskReader, *, timeout: float, as_json: bool) -> int:
    """Print each machine's facts and problems after one poll; return the exit status."""
    await first_poll(desk, timeout)
    await _until(desk, _has_tools, min(timeout, _FACTS_LONG_S))
    fleet, now = desk.fleet, desk.now()
    if as_json:
        rows = [machine_row(each, now) for each in fleet.machines.values()]
        print_json({"as_of": now, "machines": rows})
    else:
        lines: list[str] = []
        for machine in fleet.machines.values():
            lines += [*machine_lines(machine), ""]
        print_lines(lines[:-1])
    return _exit_status(fleet)


def _has_facts(machine: Machine) -> bool:
    return machine.facts is not None


def _has_tools(machine: Machine) -> bool:
    """Whether a machine's facts have arrived, and each of its tools answered or hangs."""
    facts = machine.facts
    if facts is None:
        return False
    states = (facts.inspect.state, facts.docker.state, facts.gpu_state)
    return ToolState.UNKNOWN not in states


async def _until(desk: DeskReader, is_ready: Callable[[Machine], bool], seconds: float) -> None:
    """Wait until all reached machines are ready, at most `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(each.is_reached and not is_ready(each) for each in _all(desk)):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_EVERY_S)


async def _until_logs_are_read(desk: DeskReader, seconds: float) -> None:
    """Wait until the logs of processes that are gone were read, at most `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(_is_unread(desk.fleet, each) for each in desk.fleet.tasks.values()):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_EVERY_S)


def _is_unread(fleet: Fleet, task: Task) -> bool:
    is_reached = fleet.is_up(task.key.machine)
    return is_reached and task.state is TaskState.FINISHING and fleet.is_gone(task.key.process)


def _all(desk: DeskReader) -> list[Machine]:
    return list(desk.fleet.machines.values())


def _exit_status(fleet: Fleet) -> int:
    return 0 if any(each.is_reached for each in fleet.machines.values()) else NOBODY_REACHED


def status_lines(fleet: Fleet, now: float, room: int | None) -> list[str]:
    """Return the fleet as lines of at most `room` cells; None: no limit, for a pipe."""
    totals = " · ".join("".join(span.text for span in group) for group in header_totals(fleet, now))
    lines = [totals, "", *table_lines(machines_table(fleet, now), room)]
    troubled = [
        each for each in fleet.machines.values() if each.link.reason and not each.is_reached
    ]
    for machine in troubled:
        lines.append(f"  {shown(machine.name)}: {shown(machine.link.reason)}")
        if machine.link.advice:
            lines.append(f"    {shown(machine.link.advice)}")
    for machine in fleet.machines.values():
        if machine.left_out.is_any:
            why = f"it sends more than evalroom keeps; left out: {machine.left_out.words}"
            lines.append(f"  {shown(machine.name)}: {why}")
    if fleet.processes:
        lines += ["", *table_lines(processes_table(fleet, now), room), *_stale_reasons(fleet)]
    return [*lines, "", *table_lines(tasks_table(fleet, now), room)]


def _stale_reasons(fleet: Fleet) -> list[str]:
    """Return why rows of processes stand still: reads that failed, and polls that wait long."""
    lines: list[str] = []
    for process in fleet.processes.values():
        where = f"  {shown(process.key.machine)} {process.key.pid}"
        if process.trouble and not process.is_gone:
            lines.append(f"{where}: {shown(process.trouble, 400)}")
        for what, poll in slow_polls(fleet, process):
            lines.append(f"{where}: {shown(what)} {slow_poll_words(poll)}")
    left_out = len(lines) - _MAX_STALE_REASONS
    more = [f"  and {left_out} more reasons; --json has all of them"] if left_out > 0 else []
    return [*lines[:_MAX_STALE_REASONS], *more]


def machine_lines(machine: Machine) -> list[str]:
    """Return one machine as lines, each a label and a value."""
    link = machine.link
    facts, probe = machine.facts, machine.probe
    pairs: list[tuple[str, object]] = [
        ("link", f"{link.state} ({machine.kind}, {machine.address})")
    ]
    if link.reason:
        pairs.append(("why", link.reason))
    if probe is not None:
        pairs += [
            ("host", f"{probe.host} ({probe.platform}), as {probe.user}"),
            ("probe", f"pid {probe.pid}, Python {probe.python}"),
            ("clock", fmt.clock_offset(probe.clock_offset)),
        ]
    if facts is not None:
        pairs.append(("inspect", _inspect(facts.inspect, machine)))
        gpus = [f"{gpu.index} {gpu.name}{' (lost)' if gpu.lost else ''}" for gpu in facts.gpus]
        pairs.append(("GPUs", ", ".join(gpus) or _tool(facts.gpu_state, facts.gpu_error)))
        if facts.gpus and facts.gpu_error:
            pairs.append(("warning", facts.gpu_error))
        docker = facts.docker
        number = max(docker.total, len(docker.containers))
        running = f"{docker.version}, {fmt.plural(number, 'container')}"
        is_ok = docker.state is ToolState.OK
        pairs.append(("Docker", running if is_ok else _tool(docker.state, docker.error)))
    if link.advice:
        pairs.append(("advice", link.advice))
    lines = [str(shown(machine.name))]
    return lines + [f"  {label:<8}{shown(value, 400)}" for label, value in pairs]


def _tool(state: ToolState, error: str | None) -> str:
    if state is ToolState.ABSENT:
        return "none"
    if state is ToolState.UNKNOWN:
        return "no answer yet"
    return f"{state}: {error}" if error else str(state)


def _inspect(found: InspectFound, machine: Machine) -> str:
    if found.state is ToolState.OK:
        return found.version or "unknown"
    why = found.error or str(found.state)
    if found.state is ToolState.ABSENT:
        return f"{why}; a launch brings its own, unless the config sets `python` of {machine.name}"
    return why
