"""What changed since the operator looked: run by run, in order."""

import json
from typing import Any

import pytest

from core.fleet import Fleet
from core.views.look import look_at, look_of_json, look_to_json
from core.views.since import since_lines
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
    log_read,
    named,
    process_gone,
    process_seen,
    samples_seen,
    task_row,
    tasks_seen,
)
from tests.support.stalls import hanging, stalled_fleet


def texts(before: Fleet, now: Fleet) -> list[str]:
    return ["".join(span.text for span in line) for line in since_lines(look_at(before, NOW), now)]


def test_nothing_is_said_where_nothing_changed() -> None:
    fleet = stalled_fleet()
    assert texts(fleet, fleet) == []
    later = judged_after(samples_seen(hanging(), at=NOW + 720), fleet=fleet)
    assert texts(fleet, later) == []


def test_each_run_comes_with_what_happened_to_it_in_order() -> None:
    before = judged_after(
        named(), link(), process_seen(), tasks_seen(task_row(done=40, flying=2, total=100))
    )
    now = judged_after(
        samples_seen(hanging(), at=NOW + 650),
        samples_seen(hanging(), at=NOW + 700),
        tasks_seen(task_row(done=60, errored=3, flying=2, total=100), at=NOW + 800),
        fleet=before,
    )
    lines = texts(before, now)
    assert "h100-1" in lines[0]
    assert any("20 more samples done, now 60 of 100" in line for line in lines)
    assert any("3 more samples errored" in line for line in lines)
    assert any("opened: alarm stall of sample 1/1: bash has run" in line for line in lines)


def test_an_end_and_a_closing_are_said() -> None:
    before = stalled_fleet()
    now = judged_after(process_gone(at=NOW + 900), log_read("error", at=NOW + 901), fleet=before)
    lines = texts(before, now)
    assert any("is over: error" in line for line in lines)
    assert any("closed: stall of sample 1/1" in line for line in lines)
    assert any("opened: alarm" in line for line in lines)


def test_of_more_tasks_than_are_stored_none_is_called_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.views.look.MAX_TASKS", 3)
    rows = [task_row(f"t{number}", done=3, total=9) for number in range(5)]
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(*rows))
    assert texts(fleet, fleet) == []
    stored = look_of_json(json.loads(json.dumps(look_to_json(look_at(fleet, NOW)))))
    assert stored is not None
    assert len(stored.tasks) == 3
    assert since_lines(stored, fleet) == ()


def test_a_new_task_is_said_with_its_counts() -> None:
    before = judged_after(named(), link())
    now = judged_after(process_seen(), tasks_seen(task_row(done=3, total=9)), fleet=before)
    assert any("is new: 3 of 9 done" in line for line in texts(before, now))


def test_a_look_that_was_stored_tells_the_same() -> None:
    before = stalled_fleet(seconds=200)
    now = judged_after(
        samples_seen(hanging(), at=NOW + 700),
        tasks_seen(task_row(done=60, errored=3, flying=2, total=100), at=NOW + 800),
        fleet=before,
    )
    look = look_at(before, NOW + 200)
    stored = look_of_json(json.loads(json.dumps(look_to_json(look))))
    assert stored is not None
    assert stored == look
    lines = since_lines(stored, now)
    assert lines == since_lines(look, now)
    said = ["".join(span.text for span in line) for line in lines]
    assert any("worsened: alarm stall of sample 1/1" in line for line in said)


@pytest.mark.parametrize("stored", [{}, {"look": 3}, {"look": {"at": "x"}}, {"look": {"at": None}}])
def test_a_damaged_look_is_no_look(stored: dict[str, Any]) -> None:
    assert look_of_json(stored) is None
