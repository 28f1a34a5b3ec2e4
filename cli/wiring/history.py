"""The history of an operator: the database, opened for a command or the room."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.render.plain import print_note
from cli.wiring.brief_store import BriefStore
from cli.wiring.clock import WallClock
from core.config.model import Config
from core.desk.past import NOTHING, Past
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
from storage.told import ToldRecord

if TYPE_CHECKING:
    from core.act.ports import OrderStore
    from core.guide.guide_store import GuideStore
    from core.launch.run.run_store import RunStore
    from core.notify.claims import Claims

_PATIENCE_S = 0.2
"""How long the first frame waits while another program locks the history, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The open history.

    Attributes:
        event_store: Stores events; None: the history could not be opened.
        order_store: Stores orders; None: not opened, and no action can be sent.
        guide_store: Stores guides; None: not opened, and no guide can start.
        run_store: Stores runs; None: not opened, and nothing can be launched.
        told: Which addresses heard of which findings; None: not opened.
        run_ids: The ids of the runs that this operator launched with evalroom.
        warning: A problem to show the operator; empty: none.
        is_busy: Whether another program locks the history; reading it would wait.
    """

    event_store: Journal | None = None
    order_store: "OrderStore | None" = None
    guide_store: "GuideStore | None" = None
    run_store: "RunStore | None" = None
    told: "Claims | None" = None
    run_ids: frozenset[str] = frozenset()
    warning: str = ""
    is_busy: bool = False

    def require(self) -> None:
        """Fail where a command is about what the history holds.

        Raises:
            StorageError: The history could not be opened.
        """
        if self.event_store is None:
            raise StorageError(self.warning or "the history can't be opened")

    @property
    def brief_store(self) -> BriefStore | None:
        """The store of events for a command that watches for a moment only."""
        return BriefStore(self.event_store) if self.event_store is not None else None


@contextlib.asynccontextmanager
async def history_of(
    config: Config, places: Paths, own_runs: frozenset[str] = frozenset()
) -> AsyncGenerator[History, None]:
    """Open the history for the block; an error becomes `History.warning`.

    Args:
        config: The config.
        places: Where its database is.
        own_runs: The ids of runs that this operator launched, besides those in the history.
    """
    database = Database(places.database)
    warning, is_busy = "", False
    try:
        await database.open(timeout=_PATIENCE_S)
    except DatabaseBusy as error:
        is_busy = True
        warning = f"nothing is stored while the history is locked: {error.sentence}"
    except StorageError as error:
        yield History(warning=f"nothing is stored: {error.sentence}", run_ids=own_runs)
        return
    order_store = OrderJournal(database)
    try:
        moved = database.moved_aside
        if moved:
            warning = f"the history was unusable and was moved to {moved.name}"
        try:  # reading a locked history would delay the first frame
            run_ids = frozenset[str]() if is_busy else await order_store.run_ids()
        except StorageError:
            run_ids = frozenset[str]()
        yield History(
            event_store=Journal(database, limit_mib=config.storage.limit_mib, clock=WallClock()),
            order_store=order_store,
            guide_store=Guides(database),
            run_store=SqliteRunStore(database),
            told=ToldRecord(database),
            run_ids=run_ids | own_runs,
            warning=warning,
            is_busy=is_busy,
        )
    finally:
        await database.close()


async def past_of(config: Config, history: History) -> Past:
    """Return what the open history knows of the hours for which ended evals are kept."""
    if history.event_store is None or history.is_busy:
        return NOTHING
    try:
        return await history.event_store.past(WallClock().now() - config.watch.keep_gone)
    except StorageError:
        return NOTHING


async def keep_at_once(config: Config, event: Event) -> None:
    """Store one event, from a command that stores nothing else.

    A failure is printed on standard error, and the command goes on.
    """
    async with history_of(config, paths()) as history:
        warning = history.warning
        try:
            if history.event_store is not None:
                await history.event_store.keep([event])
        except StorageError as error:
            warning = f"nothing is stored: {error.sentence}"
    if warning:
        print_note(shown(warning, 400))
