"""After a time away the first key shows what changed, and does nothing else."""

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from core.views.look import look_at, look_of_json, look_to_json
from tests.support.fleets import NOW, judged_after, task_row, tasks_seen
from tests.support.room_panes import WIDE
from tests.support.rooms import FakeRoom, MemoryStore, app_on, screen_text, shows
from tests.support.stalls import stalled_fleet
from tui.app import RoomApp
from tui.controllers.since import (
    AWAY_S,
    POLL_WAIT_S,
    SAVE_EVERY_S,
    SETTLE_S,
    SinceController,
)
from tui.dialogs.since import SinceDialog


def away_app(monkeypatch: pytest.MonkeyPatch) -> tuple[FakeRoom, RoomApp, list[float]]:
    room, clock = FakeRoom(stalled_fleet()), [0.0]
    app = app_on(room)
    since = SinceController(app, room, clock=lambda: clock[0])
    monkeypatch.setattr(app.controllers, "_since", since)
    return room, app, clock


async def test_the_first_key_after_a_time_away_shows_what_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room, app, clock = away_app(monkeypatch)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("j")
        clock[0] += AWAY_S - 1
        seen = tasks_seen(task_row(done=60, errored=3, flying=2, total=100), at=NOW + 800)
        room.become(judged_after(seen, fleet=room.fleet))
        await pilot.press("j")
        assert not isinstance(app.screen, SinceDialog), "nobody was away"
        clock[0] += AWAY_S
        more = tasks_seen(task_row(done=70, errored=5, flying=2, total=100), at=NOW + 900)
        room.become(judged_after(more, fleet=room.fleet))
        await pilot.press("q")
        await shows(pilot, "2 more samples errored")
        assert "Since you looked" in screen_text(app)
        assert "Leave" not in screen_text(app)
        await pilot.press("q")
        await pilot.pause()
        assert not isinstance(app.screen, SinceDialog)
        assert "Leave" not in screen_text(app), "the key closes it, and does nothing else"
        await pilot.press("L")
        await shows(pilot, "2 more samples errored")
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, SinceDialog)


async def test_where_nothing_changed_the_key_does_what_it_always_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, app, clock = away_app(monkeypatch)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("j")
        clock[0] += 10 * AWAY_S
        await pilot.press("question_mark")
        await shows(pilot, "Move down one row")
        await pilot.press("escape", "L")
        await shows(pilot, "have not been away")


class Started:
    """A room that is opened again, with the look before in its store."""

    def __init__(self, *, ago: float, has_polled: bool = True) -> None:
        before = stalled_fleet(seconds=200)
        more = tasks_seen(task_row(done=60, errored=3, flying=2, total=100), at=NOW + 800)
        self.store = MemoryStore(look_to_json(look_at(before, NOW - ago)))
        self.room = FakeRoom(judged_after(more, fleet=before))
        self.room.has_polled = has_polled
        self.clock = [0.0]
        self.app = app_on(self.room)
        self.since = self.controller()

    def controller(self) -> SinceController:
        return SinceController(self.app, self.room, lambda: self.clock[0], self.store)

    def second(self, seconds: float) -> None:
        self.clock[0] += seconds
        self.since.second(is_free=not isinstance(self.app.screen, SinceDialog))


async def opened(started: Started, then: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    started.app.controllers._since = started.since  # pyright: ignore[reportPrivateUsage]
    async with started.app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        await then(pilot)


async def test_a_restart_after_a_time_away_shows_what_changed_once_it_was_polled() -> None:
    started = Started(ago=AWAY_S + 1, has_polled=False)

    async def look(pilot: Pilot[None]) -> None:
        started.second(10)
        await pilot.pause()
        assert not isinstance(started.app.screen, SinceDialog), "not polled yet"
        started.room.has_polled = True
        started.second(1)
        started.second(SETTLE_S)
        await shows(pilot, "3 more samples errored")
        assert "Since you looked" in screen_text(started.app)
        await pilot.press("j")
        await pilot.pause()
        assert not isinstance(started.app.screen, SinceDialog)
        await pilot.press("L")
        await shows(pilot, "3 more samples errored")

    await opened(started, look)


async def test_a_machine_that_can_not_be_polled_delays_it_for_a_while_only() -> None:
    started = Started(ago=86_400.0, has_polled=False)

    async def look(pilot: Pilot[None]) -> None:
        started.second(POLL_WAIT_S)
        await shows(pilot, "(1d 0h ago)")

    await opened(started, look)


async def test_who_types_at_the_start_is_told_of_the_key_instead() -> None:
    started = Started(ago=AWAY_S + 1)

    async def look(pilot: Pilot[None]) -> None:
        started.second(1)
        await pilot.press("j")
        started.second(SETTLE_S - 0.5)
        started.clock[0] += 0.5
        await pilot.press("j")
        started.second(0.1)
        await shows(pilot, "Press L to see what changed since")
        await pilot.press("L")
        await shows(pilot, "3 more samples errored")

    await opened(started, look)


async def test_a_restart_within_ten_minutes_shows_nothing() -> None:
    started = Started(ago=AWAY_S - 60)

    async def look(pilot: Pilot[None]) -> None:
        started.second(1)
        started.second(POLL_WAIT_S)
        await pilot.pause()
        assert not isinstance(started.app.screen, SinceDialog)

    await opened(started, look)


async def test_a_look_is_stored_when_a_key_came_and_not_before_the_old_one_is_told() -> None:
    started = Started(ago=AWAY_S + 1, has_polled=False)

    async def look(pilot: Pilot[None]) -> None:
        before = started.store.view
        started.second(1)
        await pilot.press("j")
        started.since.save()
        assert started.store.view == before, "a crash now must not lose what changed"
        started.room.has_polled = True
        started.second(1)
        started.second(SETTLE_S)
        await pilot.press("j")
        started.second(SAVE_EVERY_S)
        stored = look_of_json(started.store.view)
        assert stored is not None
        assert stored.at == started.room.now()

    await opened(started, look)


async def test_what_changed_while_nobody_closed_it_is_added_to_it() -> None:
    started = Started(ago=AWAY_S + 1)

    async def look(pilot: Pilot[None]) -> None:
        started.second(1)
        started.second(SETTLE_S)
        await shows(pilot, "3 more samples errored")
        more = tasks_seen(task_row(done=60, errored=9, flying=2, total=100), at=NOW + 900)
        started.room.become(judged_after(more, fleet=started.room.fleet))
        started.clock[0] += AWAY_S
        await pilot.press("j")
        await shows(pilot, "9 more samples errored")
        await pilot.press("j")
        await pilot.pause()
        assert not isinstance(started.app.screen, SinceDialog)

    await opened(started, look)
