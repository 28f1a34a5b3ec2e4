"""Findings on screen: the row's proposal, the page, its actions, and what is muted."""

import json
from dataclasses import replace

from core.desk.step import advance
from core.finding_events import FindingsAcknowledged, FindingsMuted
from core.model.mute import Mute
from core.views.pages.finding_page import finding_page
from core.views.tables.findings import MARKS_HELP, findings_table
from tests.support.fleets import NOW, task_key
from tests.support.room_panes import WIDE, front
from tests.support.rooms import FakeRoom, app_on, screen_text, services_on, shows
from tests.support.scripted_acting import ScriptedActing
from tests.support.stalls import stalled_fleet
from tui.screens.finding import FindingScreen


async def test_a_row_says_what_helps_and_enter_opens_the_evidence_and_its_preview() -> None:
    room = FakeRoom(stalled_fleet())
    acting = ScriptedActing(room)
    app = app_on(room, services=services_on(room, acting=acting))
    async with app.run_test(size=WIDE) as pilot:
        await shows(pilot, "→ cancel tool call")
        await pilot.press("4", "enter")
        await shows(pilot, "bash has run for over 10m")
        text = screen_text(app)
        for words in (
            "alarm", "suspect from 2m, alarm from 10m", "likely cause", "since",
            "it does something else, or ends", "Progress", "cancel and score", "open the sample",
            "evalroom act cancel-call",
        ):  # fmt: skip
            assert words in text, words
        await pilot.press("enter")
        await shows(pilot, "nothing has been sent")
        assert "Cancel tool call: sample 1/1 of gdm_intercode_ctf on h100-1" in screen_text(app)


async def test_the_page_opens_the_subject_and_its_keys_mute_the_finding() -> None:
    room = FakeRoom(stalled_fleet())
    app = app_on(room)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("4", "enter")
        await shows(pilot, "open the sample")
        assert isinstance(front(app), FindingScreen)
        await pilot.press("m")
        await shows(pilot, "this finding")
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert any(isinstance(each, FindingsMuted) for what, each in room.asked if what == "post")
        await pilot.press("G", "enter")
        await pilot.pause()
        [finding] = room.fleet.findings
        assert front(app).place == finding.sample


def test_what_is_acknowledged_or_muted_says_so_and_comes_after_the_others() -> None:
    fleet = stalled_fleet()
    [stall] = fleet.findings
    other = replace(stall, id="other", kind="disk", severity="suspect", sign="")
    fleet = replace(fleet, findings=(other, stall))
    assert [row.key for row in findings_table(fleet, NOW).rows] == [stall.id, "other"]
    seen = advance(fleet, FindingsAcknowledged(at=NOW + 700, findings=(stall.id,)))
    rows = findings_table(seen, NOW + 700).rows
    assert [row.key for row in rows] == ["other", stall.id]
    assert rows[1].cells["what"][0].text.startswith("(acknowledged) ")  # type: ignore[union-attr]
    mute = FindingsMuted(at=NOW + 700, id="m", mute=Mute(until=NOW + 900, kind="disk"))
    rows = findings_table(advance(seen, mute), NOW + 700).rows
    muted = next(row for row in rows if row.key == "other")
    assert muted.cells["what"][0].text.startswith("(muted until ")  # type: ignore[union-attr]


def test_a_page_shows_what_happened_around_its_finding() -> None:
    fleet = stalled_fleet()
    [stall] = fleet.findings
    near = replace(stall, id="near", kind="link", text="the link was lost", opened_at=NOW + 30)
    far = replace(near, id="far", text="long before", opened_at=NOW - 90_000)
    fleet = replace(fleet, findings=(stall, near, far))
    page = finding_page(fleet, stall.id, NOW + 700)
    text = " ".join(
        span.text  # type: ignore[union-attr]
        for section in page.sections
        for each in section.facts
        for span in each.value
    )
    assert "the link was lost" in text
    assert "long before" not in text
    assert "no longer kept" in str(finding_page(fleet, "none", NOW))


EVENTS = json.dumps(
    {
        "events": [
            {"event": "model", "model": "acme/m", "timestamp": NOW, "completion": "a secret"},
            {"event": "tool", "function": "bash", "timestamp": NOW + 1, "pending": True},
        ],
        "next": "c",
        "done": False,
    }
).encode()


def room_with_events() -> FakeRoom:
    room = FakeRoom(stalled_fleet())
    eval_id = room.fleet.tasks[task_key()].row.eval_id
    room.answers[f"/evals/{eval_id}/sample/events"] = (200, EVENTS)
    return room


async def test_a_low_terminal_shows_the_evidence_before_the_actions() -> None:
    app = app_on(room_with_events())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4", "enter")
        await shows(pilot, "bash has run for over 10m")
        await shows(pilot, "→ cancel tool call")
        await pilot.press("2")
        await shows(pilot, "open the sample")


async def test_the_page_has_the_last_events_of_the_sample_and_no_word_of_the_agent() -> None:
    room = room_with_events()
    app = app_on(room)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("4", "enter")
        await shows(pilot, "Last events of its sample")
        text = screen_text(app)
        assert "model acme/m" in text
        assert "tool bash, in progress" in text
        assert "a secret" not in text
        [path] = [what for how, what in room.asked if how == "read"]
        assert "tail=5" in path


async def test_why_a_sample_hangs_comes_with_its_last_events() -> None:
    app = app_on(room_with_events())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("4", "v")
        await shows(pilot, "tool bash, in progress")
        assert "a secret" not in screen_text(app)


async def test_the_help_on_findings_explains_their_marks() -> None:
    app = app_on(FakeRoom(stalled_fleet()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("question_mark", "G")
        await pilot.pause()
        assert MARKS_HELP not in screen_text(app)
        await pilot.press("escape", "4", "question_mark", "G")
        await shows(pilot, "! ? ·")
        assert "alarm (act on it)" in screen_text(app)
