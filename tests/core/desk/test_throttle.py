"""The revision of a published fleet grows where more than ages changed."""

from core.desk.throttle import FleetPublisher
from core.events import LinkHeard
from core.fleet import Fleet
from core.ports import FleetUpdate
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    link,
    named,
    process_seen,
    task_row,
    tasks_seen,
)

FIRST = fleet_after(named(), link(), process_seen(), tasks_seen(task_row(done=1, total=9)))


def published(*fleets: Fleet) -> list[FleetUpdate]:
    publisher, updates = FleetPublisher(Fleet()), list[FleetUpdate]()
    publisher.subscribe(updates.append)
    for fleet in fleets:
        publisher.change(fleet)
        publisher.publish()
    assert [each.fleet for each in updates] == list(fleets)
    return updates


def test_a_fleet_that_only_grew_older_keeps_its_revision() -> None:
    older = fleet_after(LinkHeard(at=NOW + 5, machine=H1), fleet=FIRST)
    assert older != FIRST

    first, second, third = published(FIRST, older, FIRST)

    assert first.revision == second.revision == third.revision == 1


def test_progress_of_a_task_is_a_new_revision() -> None:
    further = fleet_after(tasks_seen(task_row(done=2, total=9), at=NOW + 5), fleet=FIRST)

    first, second = published(FIRST, further)

    assert second.revision == first.revision + 1
