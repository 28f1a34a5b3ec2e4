"""Operations of samples are found without a look at each pair of tasks."""

from dataclasses import replace

import pytest

from core.events import OperationsSeen
from core.fold.fold import fold
from core.fold.operations import has_begun_with, operations_by_task
from core.model.operation import Operation
from tests.support.fleets import (
    NOW,
    fleet_after,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)


def test_no_pair_of_tasks_is_looked_at_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def counted(operation: Operation, started_at: float | None) -> bool:
        nonlocal looks
        looks += 1
        return has_begun_with(operation, started_at)

    number = 200
    keys = [f"t{each}" for each in range(number)]
    rows = [task_row(task_id=key) for key in keys]
    fleet = fleet_after(named(), process_seen(), tasks_seen(*rows))
    for each, key in enumerate(keys):
        running = replace(sample(each), started_at=NOW - 800, activity=None)
        fleet = fold(fleet, samples_seen(running, task=task_key(key)))
    doing = tuple(
        Operation(
            action="Subprocess",
            what="docker exec",
            since=NOW - 750,
            task=rows[0].task,
            sample=(each, 1),
        )
        for each in range(number)
    )
    fleet = fold(fleet, OperationsSeen(at=NOW, process=process_key(), operations=doing))
    monkeypatch.setattr("core.fold.operations.has_begun_with", counted)
    found = operations_by_task(fleet, fleet.processes[process_key()])
    assert {key.task_id: list(own) for key, own in found.items()} == {
        f"t{each}": [(each, 1)] for each in range(number)
    }
    assert looks == number
