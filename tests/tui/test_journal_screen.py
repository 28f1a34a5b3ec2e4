"""The journal of orders on screen, with real keys."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from core.act.order_query import OrderQuery
from core.errors import StorageError
from core.events import OrderEnded, OrderGiven
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey
from core.model.action import Action, Verb
from core.model.order import Order, OrderState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, NOW, process_key, task_key
from tests.support.hostile_fleets import HOSTILE
from tests.support.orders import HERE, order
from tests.support.rooms import FakeRoom, MemoryStore, app_on, screen_text, services_on, shows
from tui.app import RoomApp
from tui.navigation import JOURNAL, Place
from tui.screens.journal import JournalScreen

WIDE = (150, 40)
FIRST = order("a1", at=NOW - 60, target=task_key("t1", H1, 100), reason="rate limits")
SECOND = replace(
    order("b2", at=NOW - 30, target=process_key(H1, 101), name="h100-1 101"),
    action=Action(verb=Verb.INTERRUPT),
    command="kill -INT 101",
    state=OrderState.UNKNOWN,
    message="no answer",
)
OLD = replace(order("c3", at=NOW - 90_000), name="h100-9 gone_task", state=OrderState.DONE)


class ScriptedOrders:
    """What the screen asks of `ActionService`: the journal."""

    def __init__(self, *orders: Order) -> None:
        self.orders = orders
        self.asked: list[OrderQuery] = []
        self.fails = False
        self.instance = HERE

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def select(self, wanted: OrderQuery) -> Sequence[Order]:
        self.asked.append(wanted)
        if self.fails:
            raise StorageError("the disk failed")
        return wanted.among(self.orders)


def room_with(*orders: Order) -> FakeRoom:
    room = FakeRoom(busy_fleet())
    room.happen(*(OrderGiven(at=each.at, order=each) for each in orders))
    return room


def opened_on(room: FakeRoom, orders: ScriptedOrders | None = None, **more: Any) -> RoomApp:
    return app_on(room, services=services_on(room, acting=orders, **more))


def journal(app: RoomApp) -> JournalScreen:
    assert isinstance(app.screen, JournalScreen)
    return app.screen


async def write_to(pilot: Pilot[None], name: Path | str) -> None:
    """Ask to write what is shown, to this file."""
    await pilot.press("w")
    await shows(pilot, "Write 1 order")
    pilot.app.screen.query_one(Input).value = str(name)
    await pilot.press("enter")


def place(app: RoomApp) -> Place:
    """Return the place on screen."""
    assert app.front is not None
    return app.front.place


def ids(app: RoomApp) -> list[str]:
    return [each.id for each in journal(app).shown_orders()]


async def test_a_key_opens_it_and_the_ways_back_are_those_of_any_place() -> None:
    app = opened_on(room_with(FIRST, SECOND))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "Journal of orders")
        text = screen_text(app)
        for words in ("interrupt", "unknown", "no answer", "h100-1 101", "2 open · 2 total"):
            assert words in text
        await pilot.press("escape")
        await shows(pilot, "1 Machines")
        await pilot.press("left_square_bracket", "right_square_bracket", "J", "J")
        await shows(pilot, "Journal of orders")
        await pilot.press("left_square_bracket")
        await shows(pilot, "1 Machines")
        await pilot.press("right_square_bracket")
        await shows(pilot, "Journal of orders")


async def test_the_palette_opens_it() -> None:
    app = opened_on(room_with(FIRST))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(":", *"journal", "enter")
        await shows(pilot, "Journal of orders")


async def test_the_page_shows_the_order_under_the_cursor() -> None:
    app = opened_on(room_with(FIRST, SECOND))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "kill -INT 101")
        await pilot.press("j")
        await shows(pilot, "inspect ctl task pause t1")
        text = screen_text(app)
        for words in ("Ada", "rate limits", "POST /tasks/t1/pause", "launched by someone else"):
            assert words in text


async def test_older_orders_come_from_the_book_and_what_is_settled_wins() -> None:
    ended = replace(SECOND, state=OrderState.DONE, message="the process has ended")
    orders = ScriptedOrders(ended, OLD)
    app = opened_on(room_with(FIRST, SECOND), orders)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "gone_task")
        assert ids(app) == ["b2", "a1", "c3"]
        assert "the process has ended" in screen_text(app)
        assert orders.asked[0].limit >= 1_000


async def test_an_order_that_is_given_and_ends_is_seen_at_once_and_the_cursor_stays() -> None:
    room = room_with(FIRST)
    app = opened_on(room, ScriptedOrders(OLD))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "gone_task")
        await pilot.press("j")
        room.happen(OrderGiven(at=NOW, order=order("d4", at=NOW, name="h100-2 new_one")))
        await shows(pilot, "new_one")
        assert ids(app) == ["d4", "a1", "c3"]
        assert journal(app).order == OLD
        done = OrderEnded(at=NOW + 1, order="d4", state=OrderState.FAILED, message="too busy")
        room.happen(done)
        await shows(pilot, "too busy")


async def test_an_unreadable_journal_is_reported_and_known_orders_are_shown() -> None:
    orders = ScriptedOrders()
    orders.fails = True
    app = opened_on(room_with(FIRST), orders)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J")
        await shows(pilot, "the disk failed")
        assert ids(app) == ["a1"]


async def test_nothing_was_given_yet() -> None:
    app = opened_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J")
        await shows(pilot, "no orders yet")
        await pilot.press("enter", "y", "w")
        await shows(pilot, "No order to write")


async def test_enter_opens_what_the_order_went_to() -> None:
    sample = SampleKey(task_key("t1", H1, 100), 17, 1)
    gone = ProcessKey(MachineName("h100-9"), 1, "x")
    model = ModelKey(process_key(H1, 100), "openai/gpt-5")
    given = (
        order("s", at=4, target=sample),
        order("g", at=3, target=gone),
        order("m", target=model),
    )
    app = opened_on(room_with(*given[::-1]))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J", "enter")
        await pilot.pause()
        assert place(app) == sample
        await pilot.press("escape", "j", "enter")
        await shows(pilot, "no longer known")
        assert journal(app).targets() == ()
        await pilot.press("j")
        assert journal(app).targets() == (model,)
        assert set(journal(app).rows_shown()) == {sample, model}
        await pilot.press("enter")
        await pilot.pause()
        assert place(app) == model.process


async def test_the_equivalent_command_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[tuple[str, str]] = []
    app = opened_on(room_with(SECOND))

    def copy(text: str, what: str) -> None:
        copied.append((text, what))

    monkeypatch.setattr(app, "copy", copy)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "y copy")
        await pilot.press("y")
        await pilot.pause()
    assert copied == [("kill -INT 101", "command")]


async def test_the_shown_orders_are_written_for_the_operator_alone(tmp_path: Path) -> None:
    file = tmp_path / "orders.jsonl"
    app = opened_on(room_with(FIRST, SECOND))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J", "/", *"rate", "enter")
        await write_to(pilot, file)
        await shows(pilot, "Wrote 1 order")
        [written] = [json.loads(line) for line in file.read_text().splitlines()]
        assert (written["id"], written["reason"], written["state"]) == (
            "a1",
            "rate limits",
            "sending",
        )
        assert file.stat().st_mode & 0o777 == 0o600


async def test_a_file_that_is_there_is_replaced_after_a_yes_alone(tmp_path: Path) -> None:
    file, link = tmp_path / "kept.txt", tmp_path / "orders.jsonl"
    file.write_text("mine")
    link.symlink_to(file)
    app = opened_on(room_with(FIRST))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J")
        for key in ("enter", "escape", "n", "y"):
            assert link.is_symlink()
            await write_to(pilot, link)
            await shows(pilot, "already exists")
            await pilot.press(key)
            await pilot.pause()
        await shows(pilot, "Wrote 1 order")
        assert not link.is_symlink()
        assert json.loads(link.read_text())["id"] == "a1"
        assert link.stat().st_mode & 0o777 == 0o600
        assert file.read_text() == "mine"


@pytest.mark.parametrize("name", ["/nowhere/at/all/x", "~nobody-here/x", "/tmp"])
async def test_a_file_that_can_not_be_written_is_reported(name: str) -> None:
    app = opened_on(room_with(FIRST))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("J")
        await write_to(pilot, name)
        if name == "/tmp":
            await shows(pilot, "already exists")
            await pilot.press("y")
        await shows(pilot, "can't be written" if name[0] == "/" else "is not a file name")


async def test_the_file_is_given_up() -> None:
    app = opened_on(room_with(FIRST))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J", "w")
        await shows(pilot, "Write 1 order")
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, JournalScreen)


async def test_a_narrow_terminal_shows_the_list_then_the_order() -> None:
    app = opened_on(room_with(FIRST, SECOND))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("J")
        await shows(pilot, "Journal of orders")
        assert "kill -INT 101" not in screen_text(app)
        await pilot.press("2")
        await shows(pilot, "kill -INT 101")


async def test_it_opens_again_where_it_was_left() -> None:
    store = MemoryStore()
    app = opened_on(room_with(FIRST), views=store)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "Journal of orders")
        assert place(app) == JOURNAL
    again = opened_on(room_with(FIRST), views=MemoryStore(json.loads(json.dumps(store.view))))
    async with again.run_test(size=WIDE) as pilot:
        await shows(pilot, "Journal of orders")


async def test_an_order_that_is_hostile_in_every_text_is_shown_harmless() -> None:
    evil = replace(
        order("x" + HOSTILE, target=SampleKey(task_key("t1", H1, 100), HOSTILE, 1)),
        name=HOSTILE,
        request=HOSTILE,
        command=HOSTILE,
        preview=HOSTILE,
        reason=HOSTILE,
        message=HOSTILE,
        basis={HOSTILE: HOSTILE},
    )
    app = opened_on(room_with(evil))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("J")
        await shows(pilot, "Journal of orders")
        text = screen_text(app)
        assert not {each for each in text if each != "\n" and not each.isprintable()}
        assert "\u202e" not in text
