"""What an operator does in the room, told with keys."""

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from core.events import Dismissed, FindingsAcknowledged, LogUnreadable
from core.fleet import Fleet
from core.ids import MachineName, SampleKey, TaskKey
from core.model.finding import Finding
from core.model.machine import LinkState
from core.ports import SignIn
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    judged_after,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.rooms import (
    FakeRoom,
    MemoryStore,
    app_on,
    busy_fleet,
    screen_lines,
    screen_text,
    services_on,
    shows,
)
from tui.app import RoomApp
from tui.panes.lines import LinesPane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen

WIDE = (140, 42)


def table(app: RoomApp, name: str) -> TablePane:
    return app.screen.query_one(f"#{name}", TablePane)


def front(app: RoomApp) -> PanesScreen:
    found = app.front
    assert found is not None
    return found


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


async def test_a_finding_opens_what_it_is_about() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "down", "enter")
        await pilot.pause()
        assert front(app).place == task_key("t1", H1, 100)


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
                tone="warning",
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


async def test_copying_a_task_sends_its_log_location(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    written: list[str] = []
    monkeypatch.setattr(app, "write", written.append)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("y")
        await pilot.pause()
        assert any(text.startswith("\x1b]52;c;L2xvZ3MvdDEuZXZhbA==") for text in written)
        assert "Copied the" in screen_text(app)
        assert "copied" not in screen_text(app)


async def test_an_unknown_host_key_is_accepted_by_typing_the_machines_name() -> None:
    fleet = fleet_after(
        named(), link(LinkState.NEEDS_TRUST, fingerprint="SHA256:abc", reason="new")
    )
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("1", "T")
        await shows(pilot, "SHA256:abc")
        await pilot.press(*"yes", "enter")
        assert not [each for each in room.asked if each[0] == "accept"]
        await pilot.press(*"h100-1", "enter")
        await pilot.pause()
        assert ("accept", (H1, "SHA256:abc")) in room.asked


async def test_a_link_is_retried_at_once() -> None:
    room = FakeRoom(busy_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("1", "r")
        await pilot.pause()
        assert ("retry", MachineName("a100-us")) in room.asked


async def test_the_process_of_a_running_task_is_polled_at_once() -> None:
    fleet = fleet_after(
        named(), link(), process_seen(socket_path="/c/1.sock"), tasks_seen(task_row())
    )
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("2", "r")
        await shows(pilot, "Polling process")
        (process,) = fleet.processes
        assert ("poll", process) in room.asked


async def test_the_log_of_an_ended_task_is_read_again_by_the_same_key() -> None:
    unread = LogUnreadable(at=NOW, task=task_key(), reason="the file does not exist")
    room = FakeRoom(
        fleet_after(named(), link(), process_seen(), tasks_seen(task_row()), process_gone(), unread)
    )
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await shows(pilot, "unreadable")
        await pilot.press("2", "r")
        await shows(pilot, "Reading its log again.")
        assert room.asked[-1] == ("read log", task_key())


async def test_without_a_terminal_to_lend_only_the_command_to_sign_in_is_shown() -> None:
    room = FakeRoom(fleet_after(named(), link(LinkState.NEEDS_YOU, reason="Permission denied")))
    room.signs_in = SignIn(("ssh", "h100-1", "true"), is_kept=True)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("1", "r")
        await shows(pilot, "can't lend its terminal")
        assert not [each for each in room.asked if each[0] == "retry"]


async def test_a_process_that_is_gone_is_dismissed() -> None:
    fleet = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()), process_gone())
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("D")
        await pilot.pause()
        (posted,) = [each for name, each in room.asked if name == "post"]
        assert isinstance(posted, Dismissed)
        assert not table(app, "tasks").rows


async def test_ctrl_c_and_q_ask_before_they_leave() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("ctrl+c", "ctrl+c", "ctrl+c")
        await pilot.pause()
        assert app.is_running
        assert "Leave evalroom?" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "Leave evalroom?" not in screen_text(app)
        await pilot.press("q", "enter")
        await pilot.pause()
    assert app.return_code == 0


async def test_help_lists_the_live_keys_as_they_are_mapped() -> None:
    app = app_on(FakeRoom(busy_fleet()), keys={"filter": "ctrl+f"})
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        text = screen_text(app)
        assert "^f" in text
        assert "Filter the rows" in text
        assert "Fetch and show the text that the agent" not in text


async def test_a_remapped_key_works_and_its_old_one_does_not() -> None:
    app = app_on(FakeRoom(busy_fleet()), keys={"mark": "m", "nosuch": "z"})
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("space")
        assert not table(app, "tasks").marks
        await pilot.press("m")
        assert table(app, "tasks").marks
        await shows(pilot, "nosuch")


async def test_the_palette_finds_commands_and_places() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("colon", *"gpqa", "enter")
        await pilot.pause()
        assert front(app).place == task_key("t3", MachineName("h100-2"), 200)
        await pilot.press("ctrl+p", *"theme-light", "enter")
        await pilot.pause()
        assert app.theme == "room-light"


async def test_a_key_acknowledges_the_findings_that_wait_for_the_operator() -> None:
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(task_row()))
    fleet = judged_after(process_gone(), log_read("error"), fleet=fleet)
    [waiting] = [each.id for each in fleet.findings if each.waits]
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "K")
        await pilot.pause()
        posted = FindingsAcknowledged(at=room.now(), findings=(waiting,))
        assert ("post", posted) in room.asked


@pytest.mark.parametrize("down", [0, 1, 2])
@pytest.mark.parametrize("typed", ["h100-1:twin", "twin"])
async def test_of_tasks_with_one_name_the_palette_opens_the_one_under_the_cursor(
    down: int, typed: str
) -> None:
    rows = [task_row(f"twin{number}", task="twin") for number in range(3)]
    fleet = fleet_after(named(), process_seen(), tasks_seen(*rows))
    app = app_on(FakeRoom(fleet))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("colon", *typed, *["down"] * down, "enter")
        await pilot.pause()
        assert front(app).place == task_key(f"twin{down}")


@pytest.mark.parametrize("key", ["a", "p", "P", "x", "e", "c", "u"])
@pytest.mark.parametrize("is_replay", [True, False])
async def test_without_hands_a_key_that_would_act_says_why(key: str, is_replay: bool) -> None:
    room = FakeRoom(busy_fleet())
    room.is_replay = is_replay
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.pause()
        asked = list(room.asked)
        await pilot.press(key)
        await shows(
            pilot, "This is a recording" if is_replay else "Nothing can be changed from here"
        )
        assert room.asked == asked


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


async def test_a_desk_that_fails_is_said_and_the_room_lives() -> None:
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
        asking = pilot.app.run_worker(app.ask("Passphrase for key \x1b[2J", False))
        await shows(pilot, "Passphrase for key ␛[2J")
        await pilot.press(*"secret")
        await pilot.pause()
        assert "secret" not in screen_text(app)
        await pilot.press("enter")
        assert await asking.wait() == "secret"
        asking = pilot.app.run_worker(app.ask("Password", False))
        await pilot.pause()
        await pilot.press("escape")
        assert await asking.wait() is None


async def test_an_empty_room_says_why_it_is_empty() -> None:
    app = app_on(FakeRoom(fleet_after(named())))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await shows(pilot, "no machine has answered yet")


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


async def test_the_choice_of_columns_names_those_that_find_no_room() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("2", "C")
        await shows(pilot, "queued  (does not fit now)")
        assert "model  (no room" not in screen_text(app)
