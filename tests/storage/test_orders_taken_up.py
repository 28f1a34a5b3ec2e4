"""Open orders of an evalroom that died, at the start of the next one, over a real journal."""

from dataclasses import replace
from pathlib import Path

from core.act.order_query import OrderQuery
from core.act.order_tracker import MAX_LOADED_ORDERS
from core.act.requests import Request
from core.act.service import ActionService
from core.errors import RequestFailed
from core.events import Event
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import ProcessKey, TaskKey
from core.model.log_summary import LogHeader
from core.model.order import OrderState, Outcome
from core.ports import Reply
from storage.database import Database
from storage.orders import OrderJournal
from tests.support.orders import HERE, order

DEAD = replace(HERE, pid=2, start="2")


class Desk:
    """A desk without a machine: it folds what is posted, and reaches nobody."""

    def __init__(self) -> None:
        self.fleet = Fleet()

    def now(self) -> float:
        return 100.0

    def monotonic(self) -> float:
        return 100.0

    def post(self, event: Event) -> None:
        self.fleet = fold(self.fleet, event)

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        raise RequestFailed(f"{process} {path} {deadline}")

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        raise AssertionError(f"nothing is ever sent again: {process} {request} {deadline}")

    async def log_header(self, task: TaskKey, *, deadline: float) -> LogHeader:
        raise RequestFailed(f"{task} {deadline}")


def acting(desk: Desk, database: Database | None) -> ActionService:
    book = None
    if database is not None:
        book = OrderJournal(database, alive=lambda instance, here: instance == here)
    return ActionService(desk, instance=HERE, store=book, post=desk.post)


async def test_an_unknown_outcome_is_reported_and_written(tmp_path: Path) -> None:
    async with Database.at(tmp_path / "data" / "history.sqlite3") as database:
        journal = OrderJournal(database)
        await journal.intend([order(name, instance=DEAD) for name in ("left", "doubted", "done")])
        doubt = Outcome(state=OrderState.UNKNOWN, message="no look can tell")
        await journal.end("doubted", doubt, 2.0)
        await journal.end("done", Outcome(state=OrderState.DONE, message="done"), 2.0)
        desk = Desk()
        taken = await acting(desk, database).take_up()
        assert sorted(each.id for each in taken) == ["doubted", "left"]
        kept = {each.id: each for each in await journal.recent(5)}
        assert {each.id: each for each in desk.fleet.orders} == kept
        assert kept["left"].state is OrderState.UNKNOWN
        assert "ended before the outcome was known" in kept["left"].message
        assert (kept["doubted"].message, kept["doubted"].ended_at) == ("no look can tell", 2.0)
        assert kept["done"].state is OrderState.DONE
        assert await acting(Desk(), database).take_up() == ()


async def test_open_orders_are_known_however_many_came_after_them(tmp_path: Path) -> None:
    async with Database.at(tmp_path / "data" / "history.sqlite3") as database:
        journal = OrderJournal(database)
        since = [order(f"n{n}", at=10.0 + n, instance=HERE) for n in range(MAX_LOADED_ORDERS)]
        await journal.intend([order("left", at=1.0, instance=DEAD), *since])
        desk = Desk()
        await acting(desk, database).take_up()
        assert len(desk.fleet.orders) == MAX_LOADED_ORDERS + 1
        assert desk.fleet.orders[-1].id == "left"
        assert desk.fleet.orders[-1].state is OrderState.UNKNOWN


async def test_without_a_journal_there_is_nothing_to_take_up_or_to_find() -> None:
    hands = acting(Desk(), None)
    assert await hands.take_up() == ()
    assert await hands.select(OrderQuery()) == ()
