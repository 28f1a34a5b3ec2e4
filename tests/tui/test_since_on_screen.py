"""After a time away the first key shows what changed, and does nothing else."""

import pytest

from tests.support.fleets import NOW, judged_after, task_row, tasks_seen
from tests.support.room_panes import WIDE
from tests.support.rooms import FakeRoom, app_on, screen_text, shows
from tests.support.stalls import stalled_fleet
from tui.app import RoomApp
from tui.controllers.since import AWAY_S, SinceController
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
