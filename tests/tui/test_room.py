"""What an operator does in the room, with real keys."""

from typing import Any

import pytest
from rich.cells import cell_len

from core.ids import MachineName, SampleKey, TaskKey
from core.model.question import Question, machine_question
from core.text import Shown
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import (
    H1,
    fleet_after,
    link,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.room_panes import WIDE, front, table
from tests.support.rooms import (
    FakeRoom,
    MemoryStore,
    app_on,
    screen_lines,
    screen_text,
    services_on,
    shows,
)
from tui.app import RoomApp
from tui.panes.lines import LinesPane
from tui.panes.table import TablePane


def app_with(store: MemoryStore) -> RoomApp:
    room = FakeRoom(busy_fleet())
    return app_on(room, services=services_on(room, views=store))


async def test_the_room_opens_on_the_tasks_with_every_pane_in_view() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        text = screen_text(app)
        for words in ("1 Machines", "2 Tasks", "3 Samples of gdm_intercode_ctf", "4 Findings"):
            assert words in text
        assert "4 machines 1 down 1 lagging" in text
        assert front(app).panes[front(app).current].id == "tasks"


async def test_every_line_is_exactly_as_wide_as_the_terminal() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        for line in screen_lines(app):
            assert cell_len(line) == WIDE[0]


async def test_moving_to_another_task_shows_its_samples_and_focuses_it() -> None:
    room = FakeRoom(busy_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("j")
        await shows(pilot, "3 Samples of cybench")
        assert room.asked[-1] == ("focus", table(app, "tasks").cursor_key)


async def test_digits_and_tab_walk_the_panes() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        for key, pane in (
            ("1", "machines"),
            ("tab", "tasks"),
            ("4", "findings"),
            ("tab", "machines"),
        ):
            await pilot.press(key)
            assert front(app).panes[front(app).current].id == pane


async def test_a_narrow_terminal_shows_one_pane_at_a_time() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "swe_bench_verified")
        assert "a100-us" in screen_text(app)
        await pilot.press("3")
        await shows(pilot, "retry 6 in 0:45")
        assert "swe_bench_verified" not in screen_text(app)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
async def test_the_key_of_the_help_is_in_the_bar_at_every_width(width: int) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(width, 24), notifications=True) as pilot:
        await pilot.pause()
        assert screen_lines(app)[-1].rstrip().endswith("? help")
        await pilot.press("enter")
        await pilot.pause()
        assert screen_lines(app)[-1].rstrip().endswith("? help")


@pytest.mark.parametrize("size", [(39, 24), (80, 9), (20, 5), (1, 1), (2, 3)])
async def test_a_tiny_terminal_says_so(size: tuple[int, int]) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert "Tasks" not in screen_text(app)
        if size[0] >= 10:
            assert "too small" in screen_text(app)


async def test_a_storm_of_sizes_ends_in_a_whole_screen() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        for width, height in ((30, 8), (200, 60), (1, 1), (80, 24), (101, 21), WIDE):
            await pilot.resize_terminal(width, height)
        await shows(pilot, "4 Findings")
        assert "3 Samples" in screen_text(app)


async def test_enter_goes_in_and_escape_goes_back() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("1", "j", "j", "enter")
        await pilot.pause()
        assert front(app).place == H1
        assert "Processes" in screen_text(app)
        await pilot.press("2", "enter")
        await pilot.pause()
        assert front(app).place == process_key(H1, 100)
        await pilot.press("2", "enter")
        await pilot.pause()
        assert front(app).place == task_key("t1", H1, 100)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(front(app).place, SampleKey)
        for _ in range(4):
            await pilot.press("escape")
            await pilot.pause()
        assert front(app).place is None


async def test_brackets_walk_the_history() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        task = front(app).place
        assert isinstance(task, TaskKey)
        await pilot.press("left_square_bracket")
        await pilot.pause()
        assert front(app).place is None
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert front(app).place == task


async def test_a_finding_opens_and_from_there_its_subject() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "down", "enter")
        await shows(pilot, "open the task")
        await pilot.press("enter")
        await pilot.pause()
        assert front(app).place == task_key("t1", H1, 100)


async def test_the_last_view_is_found_again() -> None:
    store = MemoryStore()
    first = app_with(store)
    async with first.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("j", "j", "S", "3", "slash", "1", "enter", "2", "enter")
        await pilot.pause()
        place = front(first).place
    second = app_with(store)
    async with second.run_test(size=WIDE, notifications=True) as pilot:
        second.room.happen()  # type: ignore[attr-defined]
        await pilot.pause()
        assert front(second).place == place
        await pilot.press("escape")
        await pilot.pause()
        tasks = second.screen_stack[0].query_one("#tasks", TablePane)
        assert tasks.cursor_key == place
        assert tasks.arrangement.is_reversed
        assert table(second, "samples").arrangement.filter == "1"


@pytest.mark.parametrize(
    "view", [{"place": 7, "pane": "x"}, {"arrangements": {"tasks": [1]}}, {"task": ["task"]}]
)
async def test_a_view_that_is_not_a_view_is_left_out(view: dict[str, Any]) -> None:
    app = app_with(MemoryStore(view))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await shows(pilot, "2 Tasks")


async def test_a_failing_desk_is_reported_and_the_room_goes_on() -> None:
    room = FakeRoom(busy_fleet())
    room.fails = RuntimeError("no more events")
    kept: list[str] = []

    def keep(report: str) -> None:
        kept.append(report)

    app = app_on(room, keep_crash=keep)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        await pilot.press("j")
        room.happen(named(MachineName("new")))
        await shows(pilot, "the desk stopped")
        assert "new" in screen_text(app)
        assert "RuntimeError: no more events" in kept[0]


async def test_a_question_of_a_machine_is_answered_or_given_up() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        asked = machine_question("h1", "", "Password \x1b[2J", is_seen=False)
        asking = pilot.app.run_worker(app.ask(asked))
        await shows(pilot, "Password ␛[2J")
        await pilot.press(*"secret")
        await pilot.pause()
        assert "secret" not in screen_text(app)
        await pilot.press("enter")
        assert await asking.wait() == "secret"
        asking = pilot.app.run_worker(app.ask(Question(text=Shown("Password"))))
        await pilot.pause()
        await pilot.press("escape")
        assert await asking.wait() is None


async def test_an_empty_room_says_why_it_is_empty() -> None:
    app = app_on(FakeRoom(fleet_after(named())))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await shows(pilot, "no machine has answered yet")


async def test_long_text_scrolls_by_its_keys() -> None:
    many = [sample(number, status="completed") for number in range(5)]
    key = task_key("t1")
    fleet = fleet_after(
        named(), link(), process_seen(), tasks_seen(task_row()), samples_seen(*many, task=key)
    )
    app = app_on(FakeRoom(fleet))
    async with app.run_test(size=(100, 14)) as pilot:
        await pilot.press("enter", "1")
        await pilot.pause()
        page = app.screen.query_one("#task-page", LinesPane)
        await pilot.press("G")
        assert page.top > 0
        await pilot.press("g")
        assert page.top == 0


async def test_a_replay_says_that_it_is_one() -> None:
    room = FakeRoom(busy_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        assert "replay" not in screen_lines(app)[0]
        room.is_replay = True
        room.become(busy_fleet())
        await shows(pilot, "replay  ·  4 machines")
