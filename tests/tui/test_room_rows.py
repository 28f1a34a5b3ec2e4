"""Rows of the room: filter, sort order, columns, marks and the cursor."""

from dataclasses import replace

from core.fleet import Fleet
from core.ids import MachineName
from core.model.finding import Finding
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    link,
    named,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.room_panes import WIDE, front, table
from tests.support.rooms import FakeRoom, app_on, screen_text, shows


async def test_the_filter_is_typed_live_kept_by_enter_and_taken_away_by_escape() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("slash", *"cybench")
        await pilot.pause()
        assert len(table(app, "tasks").rows) == 2
        await pilot.press("enter")
        await shows(pilot, "/cybench")
        assert len(table(app, "tasks").rows) == 2
        await pilot.press("escape")
        await pilot.pause()
        assert len(table(app, "tasks").rows) == 7


async def test_a_filter_that_nothing_fits_says_so() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("slash", *"nosuch", "enter")
        await shows(pilot, "nothing matches the filter")


async def test_a_refresh_leaves_a_filter_being_typed_alone() -> None:
    room = FakeRoom(busy_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("slash", "c", "y")
        room.happen(named(MachineName("new")))
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        assert table(app, "tasks").arrangement.filter == "cyb"


async def test_sorting_is_chosen_from_a_list_and_turned_round() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("s", *["j"] * 3, "enter")
        await pilot.pause()
        tasks = table(app, "tasks")
        assert tasks.arrangement.sort == "task"
        names = [row.sort["task"] for row in tasks.rows]
        assert names == sorted(names)
        await pilot.press("S")
        await pilot.pause()
        assert [row.sort["task"] for row in tasks.rows] == sorted(names, reverse=True)


async def test_columns_are_chosen() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("C", "j", "space", "enter")
        await pilot.pause()
        assert table(app, "tasks").arrangement.hidden == frozenset({"machine"})


async def test_space_marks_rows_and_escape_takes_the_marks_away() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("space", "space")
        await pilot.pause()
        assert len(table(app, "tasks").chosen_keys) == 2
        assert "2 marked" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not table(app, "tasks").marks
        assert front(app).place is None


async def test_a_row_keeps_its_cursor_mark_and_place_through_refreshes() -> None:
    rows = [task_row(f"t{number}", task=f"task-{number:03}") for number in range(60)]
    fleet = fleet_after(named(), link(), process_seen(), tasks_seen(*rows))
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("G", "k", "k", "space", "k")
        await pilot.pause()
        tasks = table(app, "tasks")
        key, marks, line = tasks.cursor_key, set(tasks.marks), tasks.cursor - tasks.top
        worse = task_row("t5", task="task-005", errored=3)
        room.happen(
            tasks_seen(*(worse if row.task_id == "t5" else row for row in rows), at=NOW + 1)
        )
        await pilot.pause()
        assert tasks.rows[0].key == task_key("t5")
        assert (tasks.cursor_key, tasks.marks, tasks.cursor - tasks.top) == (key, marks, line)


async def test_a_new_finding_is_in_view_while_another_pane_is_the_current_one() -> None:
    fleet = fleet_after(named(), link(), process_seen(), tasks_seen(task_row("t1")))

    def with_findings(count: int) -> Fleet:
        found = (
            Finding(
                id=f"f{number}",
                kind="errors",
                severity="suspect",
                opened_at=NOW + number,
                machine=H1,
                text="1 of 9 samples errored",
            )
            for number in range(count)
        )
        return replace(fleet, findings=tuple(found))

    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        findings = table(app, "findings")
        for count in range(1, 21):
            room.become(with_findings(count))
            await pilot.pause()
            assert len(findings.rows) == count
            assert (findings.top, findings.cursor) == (0, 0)
        await pilot.press("4", "j", "j")
        await pilot.pause()
        key = findings.cursor_key
        await pilot.press("2")
        room.become(with_findings(40))
        await pilot.pause()
        assert (findings.top, findings.cursor_key) == (0, key)
        await pilot.press("4")
        await pilot.pause()
        assert findings.top <= findings.cursor < findings.top + findings.body_size.height
        assert findings.cursor_key == key


async def test_a_gone_row_gives_its_cursor_to_the_next() -> None:
    rows = [task_row(f"t{number}") for number in range(5)]
    room = FakeRoom(fleet_after(named(), link(), process_seen(), tasks_seen(*rows)))
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("j", "j")
        tasks = table(app, "tasks")
        room.become(
            replace(
                room.fleet, tasks={k: v for k, v in room.fleet.tasks.items() if k.task_id != "t2"}
            )
        )
        await pilot.pause()
        assert tasks.cursor_key == task_key("t3")
        room.become(Fleet())
        await pilot.pause()
        assert not tasks.chosen_keys


async def test_the_choice_of_columns_names_those_that_find_no_room() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("2", "C")
        await shows(pilot, "queued  (does not fit now)")
        assert "model  (no room" not in screen_text(app)
