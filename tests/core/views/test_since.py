"""What changed since the operator looked: run by run, in order."""

from core.fleet import Fleet
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
    return ["".join(span.text for span in line) for line in since_lines(before, now)]


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
    assert any("opened: alarm stall: bash has run" in line for line in lines)


def test_an_end_and_a_closing_are_said() -> None:
    before = stalled_fleet()
    now = judged_after(process_gone(at=NOW + 900), log_read("error", at=NOW + 901), fleet=before)
    lines = texts(before, now)
    assert any("is over: error" in line for line in lines)
    assert any("closed: stall" in line for line in lines)
    assert any("opened: alarm" in line for line in lines)


def test_a_new_task_is_said_with_its_counts() -> None:
    before = judged_after(named(), link())
    now = judged_after(process_seen(), tasks_seen(task_row(done=3, total=9)), fleet=before)
    assert any("is new: 3 of 9 done" in line for line in texts(before, now))
