"""Builds the desk from the config: connections, history, actions."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.parser.arguments import Words
from core.errors import StorageError
from core.text import shown

if TYPE_CHECKING:
    from core.act.ports import OrderStore
    from core.act.service import ActionService
    from core.config.model import Config, MachineConfig
    from core.desk.desk import Desk
    from core.events import Event, MachineNamed
    from core.guide.guide_store import GuideStore
    from core.guide.runner import GuideRunner
    from core.launch.run.run_store import RunStore
    from core.launch.run.service import DeskLaunchService
    from core.ports import Ask, EventStore
    from storage.paths import Paths

_HELD = 0.2
"""Seconds for which the first frame waits for another program that holds the history."""


class WallClock:
    """`core.ports.Clock`."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()


@contextlib.contextmanager
def desk_of(
    config: "Config",
    words: Words,
    *,
    keeping: "EventStore | None" = None,
    ask: "Ask | None" = None,
) -> "Generator[Desk, None, None]":
    """A desk over the config's machines; it does nothing until it runs."""
    from core.desk.desk import Desk  # noqa: PLC0415
    from core.desk.recorder import Recorder  # noqa: PLC0415
    from ssh.factory import connection_for  # noqa: PLC0415
    from storage.paths import paths  # noqa: PLC0415

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
    recorder = Recorder(words.record) if words.record is not None else None
    try:
        yield Desk(
            connections=connections,
            named=[_named(machine, config, clock.now()) for machine in config.machines],
            watch=config.watch,
            clock=clock,
            keeping=keeping,
            record=recorder,
        )
    finally:
        if recorder is not None:
            recorder.close()


@contextlib.asynccontextmanager
async def running(
    desk: "Desk",
    acting: "ActionService | None" = None,
    guiding: "GuideRunner | None" = None,
    launches: "DeskLaunchService | None" = None,
) -> AsyncGenerator[None, None]:
    """Let a desk, the hands over it, its guides and its launches run within the block."""
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


def _named(machine: "MachineConfig", config: "Config", at: float) -> "MachineNamed":
    from core.events import MachineNamed  # noqa: PLC0415

    return MachineNamed(
        at=at,
        machine=machine.name,
        address=_address(machine),
        kind=machine.link,
        tags=machine.tags,
        read_only=machine.read_only or config.read_only,
        production=machine.production,
    )


def _address(machine: "MachineConfig") -> str:
    """How a machine is reached, for people."""
    if machine.link == "command":
        return shown(" ".join(machine.command)) if machine.command else "this computer"
    user = f"{machine.user}@" if machine.user else ""
    port = f":{machine.port}" if machine.port else ""
    return f"{user}{machine.host or machine.name}{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is durable, and what is to be said of it.

    Attributes:
        keeping: Takes events; None: the history can't be opened, and the room is.
        book: Takes orders; None with it: then nothing is ever sent.
        guides: Takes guides; None with it: then none is begun.
        run_book: Takes runs; None with it: then nothing is launched.
        runs: The ids of the runs that this operator's evalroom launched.
        said: A sentence for the operator; empty where all is well.
    """

    keeping: "EventStore | None" = None
    book: "OrderStore | None" = None
    guides: "GuideStore | None" = None
    run_book: "RunStore | None" = None
    runs: frozenset[str] = frozenset()
    said: str = ""


@contextlib.asynccontextmanager
async def history_of(config: "Config", places: "Paths") -> AsyncGenerator[History, None]:
    """Open the history for the block."""
    from storage.database import Database  # noqa: PLC0415
    from storage.guides import Guides  # noqa: PLC0415
    from storage.journal import Journal  # noqa: PLC0415
    from storage.orders import OrderJournal  # noqa: PLC0415
    from storage.runs import SqliteRunStore  # noqa: PLC0415
    from storage.schema import DatabaseBusy  # noqa: PLC0415

    database = Database(places.database)
    said, is_busy = "", False
    try:
        await database.open(timeout=_HELD)
    except DatabaseBusy as error:
        is_busy = True
        said = f"nothing is kept until it is free: {error.message} {error.advice}"
    except StorageError as error:
        yield History(said=f"nothing is kept: {error.message} {error.advice}")
        return
    book = OrderJournal(database)
    try:
        moved = database.moved_aside
        said = f"the history was unusable; it is kept as {moved.name}" if moved else said
        try:  # what is busy would hold up the first frame for as long as the database waits
            runs = frozenset[str]() if is_busy else await book.run_ids()
        except StorageError:
            runs = frozenset[str]()
        yield History(
            keeping=Journal(database, limit_mib=config.storage.limit_mib, clock=WallClock()),
            book=book,
            guides=Guides(database),
            run_book=SqliteRunStore(database),
            runs=runs,
            said=said,
        )
    finally:
        await database.close()


async def keep_at_once(config: "Config", event: "Event") -> None:
    """Put an event into the history from a command that keeps nothing else.

    Where that fails it is told, and the command goes on: as in a room without a history.
    """
    from storage.paths import paths  # noqa: PLC0415

    async with history_of(config, paths()) as history:
        said = history.said
        try:
            if history.keeping is not None:
                await history.keeping.keep([event])
        except StorageError as error:
            said = f"nothing is kept: {error.message} {error.advice}"
    if said:
        print(f"evalroom: {shown(said, 400)}", file=sys.stderr, flush=True)


def acting_of(desk: "Desk", history: History) -> "ActionService":
    """Return the operator's hands over a desk."""
    from core.act.service import ActionService  # noqa: PLC0415
    from storage.identity import this_instance  # noqa: PLC0415

    return ActionService(
        desk,
        instance=this_instance(),
        book=history.book,
        runs=history.runs,
        post=desk.post,
    )


def guiding_of(
    desk: "Desk", acting: "ActionService", history: History, *, dry_run: bool = False
) -> "GuideRunner":
    """Return the guides over a desk and its hands; of a dry run none is kept."""
    from core.guide.guide_store import ReadOnlyGuideStore  # noqa: PLC0415
    from core.guide.runner import GuideRunner  # noqa: PLC0415

    return GuideRunner(
        desk, acting, book=ReadOnlyGuideStore(history.guides) if dry_run else history.guides
    )
