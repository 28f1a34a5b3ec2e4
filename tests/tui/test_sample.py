"""A sample opened: what is read, what is withheld, what is shown."""

import json
from typing import Any

from core.events import ContentRevealed
from core.ids import SampleKey
from tests.support.fleets import (
    NOW,
    fleet_after,
    link,
    named,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.rooms import FakeRoom, app_on, screen_text, shows
from tui.app import RoomApp

KEY = SampleKey(task_key("t1"), 1, 1)
EVAL = "/evals/e-t1/sample"
TRACE = "boom \x1b[31m\u202e at line 3"


def answers() -> dict[str, tuple[int, bytes]]:
    """Return what a process of a new Inspect answers, without and with content."""
    row: dict[str, Any] = {
        "sample_id": 1,
        "epoch": 1,
        "status": "error",
        "error_retries": [{}],
        "error": {},
    }
    row_with_content: dict[str, Any] = {
        **row,
        "error": {"message": TRACE},
        "error_retries": [{"message": "first try"}],
    }
    call = {"event": "tool", "uuid": "a", "timestamp": 1.0, "function": "bash", "has_error": True}
    model = {"event": "model", "uuid": "b", "timestamp": 2.0, "model": "m", "pending": True}
    events = {"events": [call, model], "next": "bm9uZQ", "done": False}
    full = {**events, "events": [{**call, "result": "ls\n/root"}, model]}
    talk = {
        "as_of": 1.0,
        "status": "running",
        "count": 1,
        "messages": [{"index": 0, "role": "user"}],
    }
    store = {
        "as_of": 1.0,
        "status": "running",
        "count": 1,
        "store": {"turn": {"type": "number", "size": 1}},
    }
    id_ = "?sample_id=1&epoch=1"
    bodies: dict[str, Any] = {
        f"{EVAL}/events{id_} content": full,
        f"{EVAL}/events{id_}": events,
        f"{EVAL}/messages{id_}": talk,
        f"{EVAL}/store{id_}": store,
        f"{EVAL}{id_} content": row_with_content,
        f"{EVAL}{id_}": row,
    }
    return {path: (200, json.dumps(body).encode()) for path, body in bodies.items()}


def opened(**more: Any) -> tuple[FakeRoom, RoomApp]:
    fleet = fleet_after(
        named(), link(), process_seen(), tasks_seen(task_row()), samples_seen(sample(1))
    )
    room = FakeRoom(fleet)
    room.answers = answers()
    app = app_on(room, **more)
    return room, app


def reads(room: FakeRoom) -> list[str]:
    return [what for name, what in room.asked if name == "read"]


def revealed(room: FakeRoom) -> list[ContentRevealed]:
    return [what for name, what in room.asked if name == "post"]


async def test_nothing_is_read_before_a_sample_is_opened() -> None:
    room, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert reads(room) == []


async def test_each_tab_reads_what_it_shows_and_no_content() -> None:
    room, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await shows(pilot, "withheld; ! shows it")
        for key, words in (("2", "bash"), ("3", "user"), ("4", "turn")):
            await pilot.press(key)
            await shows(pilot, words)
        assert "in progress" not in screen_text(app)
        assert reads(room)
        assert not any("content" in path for path in reads(room))


async def test_content_is_fetched_only_after_the_key_and_shown_harmless() -> None:
    room, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await shows(pilot, "withheld; ! shows it")
        assert not revealed(room)
        await pilot.press("exclamation_mark")
        await shows(pilot, "boom ␛[31m⟦202E⟧ at line 3")
        assert revealed(room) == [ContentRevealed(at=NOW, sample=KEY, eval_id="e-t1")]
        assert "content=true" in reads(room)[-1]
        assert "first try" in screen_text(app)
        await pilot.press("2")
        await shows(pilot, "/root")
        assert "written by the agent: untrusted" in screen_text(app)


async def test_content_is_forgotten_when_the_sample_is_left() -> None:
    room, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await shows(pilot, "withheld; ! shows it")
        await pilot.press("exclamation_mark")
        await shows(pilot, "boom")
        await pilot.press("escape")
        await pilot.pause()
        app.go(KEY)
        await shows(pilot, "withheld; ! shows it")
        assert "boom" not in screen_text(app)
        assert "content" not in reads(room)[-1]


async def test_a_process_that_does_not_answer_says_so_in_the_tab() -> None:
    room, app = opened()
    room.answers = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await pilot.press("3")
        await shows(pilot, "the process does not answer")


async def test_the_summary_says_too_why_a_sample_could_not_be_read() -> None:
    room, app = opened()
    room.answers = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await shows(pilot, "the process does not answer")
        assert "generating" in screen_text(app)


async def test_a_lack_of_an_older_inspect_is_reported_with_the_upgrade_of_its_own_python() -> None:
    python = "/opt/my venv/bin/python"
    room, app = opened()
    room.happen(process_seen(python=python))
    room.answers[f"{EVAL}/store?"] = (404, b'{"detail":"Not Found"}')
    room.answers = {path: answer for path, answer in room.answers.items() if "/store?s" not in path}
    async with app.run_test(size=(240, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await pilot.press("4")
        await shows(pilot, f"'{python}' -m pip install -U 'inspect-ai>=0.3.265'")
        assert "with the python" not in screen_text(app)


async def test_events_are_filtered_with_the_lines_below_them() -> None:
    _, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await pilot.press("2", "exclamation_mark")
        await shows(pilot, "result: ls")
        await pilot.press("slash", *"ROOT", "enter")
        await shows(pilot, "1 of 2 match")
        assert "bash" in screen_text(app)
        assert "in progress" not in screen_text(app)
        await pilot.press("slash", "home", "exclamation_mark", "enter")
        await shows(pilot, "in progress")
        assert "bash" not in screen_text(app)
        await pilot.press("escape")
        await shows(pilot, "result: ls")
        assert "of 2 match" not in screen_text(app)


async def test_messages_are_filtered_and_a_filter_that_nothing_fits_says_so() -> None:
    _, app = opened()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await pilot.press("3")
        await shows(pilot, "1 message")
        await pilot.press("slash", *"zzz")
        await shows(pilot, "nothing matches the filter")
        await pilot.press("escape")
        await shows(pilot, "user")


async def test_only_keys_that_work_on_a_tab_are_in_its_help() -> None:
    _, app = opened()
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.pause()
        app.go(KEY)
        await pilot.press("question_mark")
        await shows(pilot, "Go to the next pane.")
        assert "Filter the rows" not in screen_text(app)
        await pilot.press("escape", "2", "question_mark")
        await shows(pilot, "Filter the rows")
        assert "Choose the column" not in screen_text(app)


async def test_an_opened_task_reads_its_knobs() -> None:
    room, app = opened()
    room.answers["/tasks/t1/config"] = (
        200,
        json.dumps({"max_samples": {"limit": 10, "in_use": 4, "adjustable": True}}).encode(),
    )
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        app.go(KEY.task)
        await shows(pilot, "max samples")
        assert "4 of 10" in screen_text(app)
