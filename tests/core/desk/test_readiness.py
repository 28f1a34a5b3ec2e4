"""Which events change at once what a probe should poll."""

import pytest

from core.desk.readiness import changes_polls
from core.fleet import Fleet
from tests.support.fleets import NOW, fleet_after, process_seen, task_row, tasks_seen

pytestmark = pytest.mark.pure


def _after(retries: int, at: float, fleet: Fleet) -> tuple[Fleet, bool]:
    seen = tasks_seen(task_row(http_retries=retries, done=int(at - NOW)), at=at)
    after = fleet_after(seen, fleet=fleet)
    return after, changes_polls(fleet, after, seen)


def test_the_first_retries_change_the_polls_at_once_and_more_of_them_do_not() -> None:
    fleet = fleet_after(process_seen(socket_path="/s"), tasks_seen(task_row(http_retries=3)))
    fleet, calm = _after(3, NOW + 2, fleet)
    fleet, first = _after(4, NOW + 4, fleet)
    fleet, more = _after(5, NOW + 6, fleet)

    assert (calm, first, more) == (False, True, False)
