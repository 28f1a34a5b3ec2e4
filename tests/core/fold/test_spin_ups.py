"""How long spin-ups took is remembered, if somebody watched their end."""

import pytest

from core.fleet import Fleet
from core.fold.spin_ups import MAX_KNOWN, NEWEST, timed_spin_ups, with_spin_up
from core.task_events import SpinUpTimed
from tests.support.fleets import (
    NOW,
    fleet_after,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

pytestmark = pytest.mark.pure
BEGUN = task_row(started_at=NOW)


def _timed(*polls: tuple[float, int]) -> list[float]:
    """Return the spin-ups that polls show: (seconds after the start, completed samples)."""
    fleet = fleet_after(process_seen(), tasks_seen(BEGUN))
    found: list[float] = []
    for at, done in polls:
        seen = tasks_seen(task_row(started_at=NOW, done=done), at=NOW + at)
        after = fleet_after(seen, fleet=fleet)
        found += [each.seconds for each in timed_spin_ups(fleet, after, seen)]
        fleet = after
    return found


def test_the_first_sample_of_a_task_ends_its_spin_up_once() -> None:
    assert _timed((60, 0), (90, 2), (120, 3)) == [90]


def test_after_a_long_time_without_a_poll_nobody_knows_when_it_ended() -> None:
    assert _timed((60, 0), (3_600, 50), (3_660, 60)) == []
    assert _timed((36_000, 0), (37_000, 1)) == [37_000]


def test_the_newest_are_remembered_of_each_task_and_model() -> None:
    fleet = Fleet()
    for number in range(NEWEST + 2):
        event = SpinUpTimed(at=1, task=task_key(), name="t", model="m", seconds=float(number))
        fleet = with_spin_up(fleet, event)
    assert fleet.spin_ups == {("t", "m"): tuple(float(each) for each in range(2, NEWEST + 2))}
    for number in range(MAX_KNOWN):
        event = SpinUpTimed(at=1, task=task_key(), name=f"n{number}", model="m", seconds=1.0)
        fleet = with_spin_up(fleet, event)
    assert len(fleet.spin_ups) == MAX_KNOWN
    assert ("t", "m") not in fleet.spin_ups
