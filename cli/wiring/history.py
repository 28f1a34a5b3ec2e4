"""The history of an operator: the database, opened for a command or the room."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.render.plain import print_note
from cli.wiring.clock import WallClock
from core.config.model import Config
from core.errors import StorageError
from core.events import Event
from core.text import shown
from storage.database import Database
from storage.guides import Guides
from storage.journal import Journal
from storage.orders import OrderJournal
from storage.paths import Paths, paths
from storage.runs import SqliteRunStore
from storage.schema import DatabaseBusy

if TYPE_CHECKING:
    from core.act.ports import OrderStore
    from core.guide.guide_store import GuideStore
    from core.launch.run.run_store import RunStore
    from core.ports import EventStore

_PATIENCE_S = 0.2
"""How long the first frame waits for another program that has the history locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The open history.

    Attributes:
        keeping: Stores events; None: the history could not be opened.
        book: Stores orders; None like `keeping`, and then no action is sent.
        guides: Stores guides; None like `keeping`, and then no guide begins.
        run_book: Stores runs; None like `keeping`, and then nothing is launched.
        runs: The ids of the runs that this operator's evalroom launched.
        said: What is wrong with it, for the operator; empty: nothing.
    """

    keeping: "EventStore | None" = None
    book: "OrderStore | None" = None
    guides: "GuideStore | None" = None
    run_book: "RunStore | None" = None
    runs: frozenset[str] = frozenset()
    said: str = ""


@contextlib.asynccontextmanager
async def history_of(config: Config, places: Paths) -> AsyncGenerator[History, None]:
    """Open the history for the block; an error becomes `History.said`."""
    database = Database(places.database)
    said, is_busy = "", False
    try:
        await database.open(timeout=_PATIENCE_S)
    except DatabaseBusy as error:
        is_busy = True
        said = f"nothing is stored until it is free: {error.sentence}"
    except StorageError as error:
        yield History(said=f"nothing is stored: {error.sentence}")
        return
    book = OrderJournal(database)
    try:
        moved = database.moved_aside
        said = f"the history was unusable and was moved to {moved.name}" if moved else said
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


async def keep_at_once(config: Config, event: Event) -> None:
    """Store one event, from a command that stores nothing else.

    A failure is printed on standard error, and the command goes on.
    """
    async with history_of(config, paths()) as history:
        said = history.said
        try:
            if history.keeping is not None:
                await history.keeping.keep([event])
        except StorageError as error:
            said = f"nothing is stored: {error.sentence}"
    if said:
        print_note(shown(said, 400))
