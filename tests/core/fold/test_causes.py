"""Why samples of a running task errored: merged, bounded, and replaced by what the log tells."""

import pytest

from core.fleet import Fleet
from core.fold.causes import MAX_KNOWN
from core.model.log_summary import ErrorGroup
from tests.support.fleets import (
    NOW,
    causes_seen,
    fleet_after,
    log_read,
    logged,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

pytestmark = pytest.mark.pure


def _fleet() -> Fleet:
    return fleet_after(process_seen(), tasks_seen(task_row(errored=3)))


def _errors(fleet: Fleet) -> tuple[ErrorGroup, ...]:
    return fleet.tasks[task_key()].errors


def test_answers_are_merged_and_each_sample_counts_once() -> None:
    first = causes_seen((1, 1, "E: bad"), (2, 1, "E: worse"))
    fleet = fleet_after(first, causes_seen((2, 1, "E: bad"), (3, 2, "E: bad")), fleet=_fleet())
    assert _errors(fleet) == (ErrorGroup("E: bad", 3, (1, 1)),)


def test_a_sample_that_runs_again_has_no_cause() -> None:
    fleet = fleet_after(causes_seen((1, 1, "E: bad"), (2, 1, "E: bad")), fleet=_fleet())
    again = samples_seen(sample(1), sample(2, status="error"), at=NOW + 1)
    fleet = fleet_after(again, causes_seen(at=NOW + 2), fleet=fleet)
    assert _errors(fleet) == (ErrorGroup("E: bad", 1, (2, 1)),)


def test_causes_of_another_attempt_are_dropped() -> None:
    fleet = fleet_after(tasks_seen(task_row(eval_id="e-2", errored=1)), fleet=_fleet())
    assert _errors(fleet_after(causes_seen((1, 1, "E: bad")), fleet=fleet)) == ()
    mine = fleet_after(causes_seen((1, 1, "E: bad")), fleet=_fleet())
    retried = fleet_after(tasks_seen(task_row(eval_id="e-2")), fleet=mine)
    assert _errors(retried) == ()


def test_many_samples_are_bounded_and_the_newest_stay() -> None:
    rows = [(number, 1, f"E{number % 3}") for number in range(MAX_KNOWN + 50)]
    fleet = _fleet()
    for at in range(0, len(rows), 50):
        fleet = fleet_after(causes_seen(*rows[at : at + 50]), fleet=fleet)
    known = fleet.tasks[task_key()].causes.of
    assert len(known) == MAX_KNOWN
    assert (MAX_KNOWN + 49, 1) in known
    assert (0, 1) not in known


def test_what_the_log_tells_replaces_them() -> None:
    groups = (ErrorGroup("E: of the log", 3, (1, 1)),)
    fleet = fleet_after(
        causes_seen((1, 1, "E: bad")), log_read("error", samples=logged(errors=groups)),
        causes_seen((1, 1, "E: late")), fleet=_fleet(),
    )  # fmt: skip
    assert _errors(fleet) == groups


def test_causes_of_an_unknown_task_change_nothing() -> None:
    before = Fleet()
    assert fleet_after(causes_seen((1, 1, "E: bad")), fleet=before).tasks == before.tasks
