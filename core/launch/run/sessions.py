"""Sessions on machines: listed, and ended by an operator who saw what that means."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import JobFailed, RequestFailed, UsageWrong
from core.ids import MachineName
from core.launch.engines.tmux_sessions import (
    TmuxSession,
    end_command,
    is_session_gone,
    is_session_name,
    list_command,
    parse_sessions,
)
from core.launch.run import launcher_client
from core.model.job import Worker
from core.text import shown


@dataclass(frozen=True, slots=True)
class MachineSession:
    """A session and where it is."""

    machine: MachineName
    session: TmuxSession


async def list_sessions(
    worker: Worker, machines: Iterable[MachineName]
) -> tuple[MachineSession, ...]:
    """Return the sessions of ours on these machines; one that can't be asked has none."""
    told = await asyncio.gather(*(_sessions(worker, name) for name in machines))
    return tuple(each for found in told for each in found)


async def _sessions(worker: Worker, machine: MachineName) -> tuple[MachineSession, ...]:
    try:
        status, out, _ = await launcher_client.run_command(
            worker, machine, list_command(), changes=False
        )
    except RequestFailed:
        return ()
    return (
        tuple(MachineSession(machine, each) for each in parse_sessions(out)) if status == 0 else ()
    )


async def end_session(worker: Worker, found: MachineSession) -> None:
    """End a session and all that runs in it; one that is gone already does no harm.

    Raises:
        UsageWrong: It is none of ours.
        RequestFailed: It may have been ended.
        JobFailed: It can't be ended.
    """
    name = found.session.name
    if not is_session_name(name):
        raise UsageWrong(f"{shown(name, 60)} is no session of evalroom")
    status, _, err = await launcher_client.run_command(worker, found.machine, end_command(name))
    if status != 0 and not is_session_gone(err):
        raise JobFailed(f"session {shown(name)} can't be ended: {shown(err, 200)}")
