"""The desk of a command or the room, made from the config."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import TYPE_CHECKING

from cli.parser.command import GlobalOptions
from cli.wiring.clock import WallClock
from cli.wiring.log_access import log_variables
from core.config.model import Config, MachineConfig
from core.desk.desk import Desk
from core.desk.past import NOTHING, Past
from core.desk.recorder import Recorder
from core.events import MachineNamed
from core.ports import Ask, EventStore
from core.text import shown
from ssh.factory import connection_for
from storage.paths import paths

if TYPE_CHECKING:
    from core.act.service import ActionService
    from core.guide.runner import GuideRunner
    from core.launch.run.service import DeskLaunchService


@contextlib.contextmanager
def desk_of(
    config: Config,
    record: Path | None = None,
    *,
    event_store: EventStore | None = None,
    ask: Ask | None = None,
    past: Past = NOTHING,
) -> Generator[Desk, None, None]:
    """Make a desk for the config's machines; it does nothing until it runs.

    Args:
        config: The config, with the machines.
        record: The file to record events in, for `replay`; None: no recording.
        event_store: Stores events; None: nothing is stored.
        ask: Asks the operator for a passphrase or a code; None: nobody can be asked.
        past: What the history knows of the hours before.
    """
    clock = WallClock()
    known_hosts = paths().known_hosts
    connections = [
        connection_for(
            machine,
            known_hosts=known_hosts,
            read_only=config.read_only,
            ask=ask,
            watch=config.watch,
        )
        for machine in config.machines
    ]
    recorder = Recorder(record) if record is not None else None
    try:
        yield Desk(
            connections=connections,
            named=[named_machine(machine, config, clock.now()) for machine in config.machines],
            watch=config.watch,
            rules=config.judge,
            clock=clock,
            store=event_store,
            record=recorder,
            past=past,
            log_variables=log_variables,
        )
    finally:
        if recorder is not None:
            recorder.close()
    if recorder is not None:
        recorder.check()


@contextlib.asynccontextmanager
async def desk_running(
    config: Config,
    options: GlobalOptions,
    *,
    event_store: EventStore | None = None,
    past: Past = NOTHING,
) -> AsyncGenerator[Desk, None]:
    """Make a desk for the config's machines and run it during the block."""
    with desk_of(config, options.record, event_store=event_store, past=past) as desk:
        async with running(desk):
            yield desk


@contextlib.asynccontextmanager
async def running(
    desk: Desk,
    acting: "ActionService | None" = None,
    guiding: "GuideRunner | None" = None,
    launches: "DeskLaunchService | None" = None,
) -> AsyncGenerator[None, None]:
    """Run a desk during the block, together with its actions, guides and launches."""
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(desk.run(), name="desk")]
        if acting is not None:
            started.append(tasks.create_task(acting.run(), name="open orders"))
        if guiding is not None:
            started.append(tasks.create_task(guiding.run(), name="guides"))
        if launches is not None:
            started.append(tasks.create_task(launches.run(), name="runs"))
        try:
            yield
        finally:
            for each in started:
                each.cancel()


def named_machine(machine: MachineConfig, config: Config, at: float) -> MachineNamed:
    """Return the event that names a machine of the config."""
    return MachineNamed(
        at=at,
        machine=machine.name,
        address=_address(machine),
        kind=machine.link,
        tags=machine.tags,
        read_only=machine.read_only or config.read_only,
        production=machine.production,
    )


def _address(machine: MachineConfig) -> str:
    """Return how evalroom reaches a machine, as text for people."""
    if machine.link == "command":
        return shown(" ".join(machine.command)) if machine.command else "this computer"
    user = f"{machine.user}@" if machine.user else ""
    port = f":{machine.port}" if machine.port else ""
    return f"{user}{machine.host or machine.name}{port}"
