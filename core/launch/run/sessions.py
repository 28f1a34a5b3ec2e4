"""Sessions on machines: listed, and ended by an operator who saw what that means."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import JobFailed, RequestFailed, UsageWrong
from core.ids import MachineName
from core.launch.engines.session import (
    Session,
    end_words,
    is_gone,
    is_session_name,
    list_words,
    sessions_of,
)
from core.launch.run import launcher_client
from core.model.job import Worker
from core.text import shown


@dataclass(frozen=True, slots=True)
class Found:
    """A session and where it is."""

    machine: MachineName
    session: Session


async def sessions(worker: Worker, machines: Iterable[MachineName]) -> tuple[Found, ...]:
    """Return the sessions of ours on these machines; one that can't be asked has none."""
    told = await asyncio.gather(*(_sessions(worker, name) for name in machines))
    return tuple(each for found in told for each in found)


async def _sessions(worker: Worker, machine: MachineName) -> tuple[Found, ...]:
    try:
        status, out, _ = await launcher_client.words(worker, machine, list_words(), changes=False)
    except RequestFailed:
        return ()
    return tuple(Found(machine, each) for each in sessions_of(out)) if status == 0 else ()


async def end(worker: Worker, found: Found) -> None:
    """End a session and all that runs in it; one that is gone already does no harm.

    Raises:
        UsageWrong: It is none of ours.
        RequestFailed: It may have been ended.
        JobFailed: It can't be ended.
    """
    name = found.session.name
    if not is_session_name(name):
        raise UsageWrong(f"{shown(name, 60)} is no session of evalroom")
    status, _, err = await launcher_client.words(worker, found.machine, end_words(name))
    if status != 0 and not is_gone(err):
        raise JobFailed(f"session {shown(name)} can't be ended: {shown(err, 200)}")
