"""The tmux sessions of evalroom on machines: lists them, and ends one."""

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
    """A session and its machine."""

    machine: MachineName
    session: TmuxSession


async def list_sessions(
    worker: Worker, machines: Iterable[MachineName]
) -> tuple[MachineSession, ...]:
    """Return evalroom's sessions on these machines; a machine that does not answer has none."""
    found = await asyncio.gather(*(_sessions_of(worker, name) for name in machines))
    return tuple(each for sessions in found for each in sessions)


async def _sessions_of(worker: Worker, machine: MachineName) -> tuple[MachineSession, ...]:
    try:
        status, out, _ = await launcher_client.run_command(
            worker, machine, list_command(), changes=False
        )
    except RequestFailed:
        return ()
    if status != 0:
        return ()
    return tuple(MachineSession(machine, each) for each in parse_sessions(out))


async def end_session(worker: Worker, found: MachineSession) -> None:
    """End a session and every program in it; a session that is gone is not an error.

    Raises:
        UsageWrong: It is not a session of evalroom.
        JobFailed: The machine can't end it.
        RequestFailed: No answer came; the session may have ended.
    """
    name = found.session.name
    if not is_session_name(name):
        raise UsageWrong(f"{shown(name, 60)} is not a session of evalroom")
    status, _, err = await launcher_client.run_command(worker, found.machine, end_command(name))
    if status != 0 and not is_session_gone(err):
        raise JobFailed(f"can't end the session {shown(name)}: {shown(err, 200)}")
