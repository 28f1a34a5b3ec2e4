"""`evalroom sessions`: the terminals that launches left on machines; one is ended after a yes."""

import sys

from cli.commands.desk_queries import Looker
from cli.commands.questions import answered
from cli.render.plain import print_json, print_lines
from core.errors import NotConfirmed, UsageWrong
from core.launch.engines.tmux_sessions import end_effect
from core.launch.run import sessions as of
from core.launch.run.sessions import MachineSession
from core.model.job import Worker
from core.text import shown
from core.views.pages.order_page import moment


async def sessions(desk: Looker, worker: Worker, *, timeout: float, as_json: bool) -> int:
    """Print the sessions on every machine; return the exit status."""
    found = await _found(desk, worker, timeout)
    if as_json:
        print_json({"sessions": [_json(each) for each in found]})
    else:
        print_lines([_line(each) for each in found] or ["there is no session"])
    return 0


async def end_session(
    desk: Looker, worker: Worker, name: str, *, yes: bool, confirm: str, timeout: float
) -> int:
    """End a session, once it is confirmed: of an eval that still runs, by its name.

    Raises:
        UsageWrong: There is none, or several.
        NotConfirmed: Nobody said so.
    """
    found = [each for each in await _found(desk, worker, timeout) if each.session.name == name]
    if len(found) != 1:
        several = f"{len(found)} sessions" if found else "no session"
        raise UsageWrong(f"there is {several} {shown(name, 60)}", "see: evalroom sessions")
    [one] = found
    print_lines([_line(one), f"  ends it: {end_effect(one.session)}"])
    is_lost = not one.session.has_ended
    if not ((is_lost and confirm == name) or (not is_lost and yes)):
        how = f"add --confirm {shown(repr(name), 80)}" if is_lost else "add --yes"
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise NotConfirmed("not confirmed: nothing is ended", how)
        question = f"type {shown(name, 80)} to end it: " if is_lost else "end it? [y/N] "
        answer = (await answered(question) or "").strip()
        if answer != name if is_lost else answer.lower() not in {"y", "yes"}:
            raise NotConfirmed("not confirmed: nothing is ended")
    await of.end_session(worker, one)
    print_lines([f"{shown(name, 80)} is ended"])
    return 0


async def _found(desk: Looker, worker: Worker, timeout: float) -> tuple[MachineSession, ...]:
    await desk.first_look(timeout)
    up = [m.name for m in desk.fleet.machines.values() if m.link.is_up]
    return await of.list_sessions(worker, up)


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
    seen = f", attached {session.attached}" if session.attached else ""
    run = f"  run {shown(session.run, 60)}" if session.run else ""
    name = shown(session.name, 80)
    return f"{shown(found.machine)}  {name}  {state}{seen}  since {moment(session.created)}{run}"
