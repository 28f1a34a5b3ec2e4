"""`evalroom sessions`: the tmux sessions of runs; `end NAME` ends one."""

from cli.commands.desk_protocols import DeskWorker
from cli.commands.first_poll import first_poll
from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.runs import EndSessionCommand, SessionsCommand
from cli.render.plain import print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from core.confirmation import words_to_confirm
from core.errors import UsageWrong
from core.launch.engines.tmux_sessions import end_effect
from core.launch.run.sessions import MachineSession, list_sessions
from core.launch.run.sessions import end_session as end_on_machine
from core.text import shown
from core.views.pages.moments import moment


def sessions(command: SessionsCommand, options: GlobalOptions) -> int:
    """Run `evalroom sessions`; return the exit status."""

    async def work() -> int:
        async with desk_running(config_of(options), options) as desk:
            return await print_sessions(desk, timeout=command.timeout, as_json=command.as_json)

    return run_loop(work())


def end_session(command: EndSessionCommand, options: GlobalOptions) -> int:
    """Run `evalroom sessions end`; return the exit status."""

    async def work() -> int:
        async with desk_running(config_of(options), options) as desk:
            return await end_one(desk, command)

    return run_loop(work())


async def print_sessions(desk: DeskWorker, *, timeout: float, as_json: bool) -> int:
    """Print the sessions on every machine; return the exit status."""
    found = await _found(desk, timeout)
    if as_json:
        print_json({"sessions": [_json(each) for each in found]})
    else:
        print_lines([_line(each) for each in found] or ["no sessions"])
    return 0


async def end_one(desk: DeskWorker, command: EndSessionCommand) -> int:
    """End a session once confirmed: while its eval runs, by the session's name, else by a yes.

    Raises:
        UsageWrong: No session has that name, or several have.
        NotConfirmed: Nobody agreed.
    """
    name = command.name
    found = [each for each in await _found(desk, command.timeout) if each.session.name == name]
    if len(found) != 1:
        several = f"{len(found)} sessions are" if found else "no session is"
        raise UsageWrong(f"{several} called {shown(name, 60)}", "see: evalroom sessions")
    [one] = found
    print_lines([_line(one), f"  ending it means: {end_effect(one.session)}"])
    await confirm(
        command.consent,
        question=f"end {shown(name, 80)}",
        words="" if one.session.has_ended else words_to_confirm("end", [name]),
        otherwise="the session was not ended",
    )
    await end_on_machine(desk, one)
    print_lines([f"{shown(name, 80)} was ended"])
    return 0


async def _found(desk: DeskWorker, timeout: float) -> tuple[MachineSession, ...]:
    await first_poll(desk, timeout)
    up = [m.name for m in desk.fleet.machines.values() if m.link.is_up]
    return await list_sessions(desk, up)


def _json(found: MachineSession) -> dict[str, object]:
    session = found.session
    return {
        "machine": found.machine,
        "name": session.name,
        "run_id": session.run,
        "created": session.created,
        "attached": session.attached,
        "has_ended": session.has_ended,
        "status": session.status,
    }


def _line(found: MachineSession) -> str:
    session = found.session
    state = "ended" if session.has_ended else "running"
    attached = f", attached {session.attached}" if session.attached else ""
    run = f"  run {shown(session.run, 60)}" if session.run else ""
    name = shown(session.name, 80)
    return (
        f"{shown(found.machine)}  {name}  {state}{attached}  since {moment(session.created)}{run}"
    )
