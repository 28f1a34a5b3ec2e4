"""What the keys of the room ask of it: copy, retry, poll, accept, dismiss, leave."""

import pytest
from textual import events

from core.events import Dismissed, LogUnreadable
from core.finding_events import FindingsAcknowledged, FindingsMuted
from core.ids import MachineName
from core.model.machine import LinkState
from core.model.mute import Mute
from core.ports import SignIn
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    judged_after,
    link,
    log_read,
    named,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.room_panes import WIDE, front, table
from tests.support.rooms import FakeRoom, app_on, screen_text, shows
from tests.support.stalls import stalled_fleet
from tui.keys.table import KEYS
from tui.terminal.driver import RoomDriver
from tui.terminal.textual_internals import OpenDriver


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


async def test_the_desk_gives_way_to_each_key() -> None:
    room = FakeRoom(busy_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        before = room.given_way
        await pilot.press("j", "k")
        await pilot.pause()
        assert room.given_way == before + 2


def test_a_key_is_told_in_the_thread_that_reads_it_before_it_waits_for_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []

    def process(_driver: OpenDriver, message: object) -> None:
        told.append(message)

    monkeypatch.setattr(OpenDriver, "process_message", process)
    driver = RoomDriver.__new__(RoomDriver)
    driver.key_arrived = lambda: told.append("a key")
    key, other = events.Key("j", "j"), events.AppBlur()
    driver.process_message(key)
    driver.process_message(other)
    assert told == ["a key", key, other]


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
        assert ("read log", task_key()) in room.asked


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


async def test_a_key_mutes_the_kind_of_a_finding_for_the_time_that_is_chosen() -> None:
    fleet = stalled_fleet()
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "m")
        await shows(pilot, "this finding")
        await pilot.press("G", "enter")
        await shows(pilot, "2 hours")
        await pilot.press("j", "enter")
        await pilot.pause()
        [event] = [
            each for what, each in room.asked if what == "post" and isinstance(each, FindingsMuted)
        ]
        assert event.mute == Mute(until=room.now() + 7_200, kind="stall")


async def test_a_key_acknowledges_an_open_finding_that_closes_by_itself() -> None:
    fleet = stalled_fleet()
    [finding] = fleet.findings
    room = FakeRoom(fleet)
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "K")
        await pilot.pause()
        assert ("post", FindingsAcknowledged(at=room.now(), findings=(finding.id,))) in room.asked


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


async def test_the_report_on_the_selection_grows_to_the_whole_fleet() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("1", "i")
        await shows(pilot, "Triage: a100-us")
        report = screen_text(app).partition("Triage:")[2]
        assert "a100-us · down" in report
        assert "h100-1 · up" not in report
        await pilot.press("a")
        await shows(pilot, "h100-1 · up")
        await pilot.press("escape")
        await pilot.pause()
        assert "Triage" not in screen_text(app)


async def test_why_says_what_a_task_s_process_does() -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("2", "v")
        await shows(pilot, "Why:")
        assert "it answers" in screen_text(app)
        await pilot.press("escape", "1", "v")
        await shows(pilot, "Select a sample, a task or a process")


def test_the_keys_of_reports_mean_the_same_everywhere() -> None:
    for name in ("triage", "why"):
        [key] = [each for each in KEYS if each.name == name]
        assert [each.name for each in KEYS if each.keys == key.keys] == [name]
