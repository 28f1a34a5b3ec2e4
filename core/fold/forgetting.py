"""Gone processes leave the fleet, with their tasks."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from core.fleet import Fleet
from core.fold.immutable import with_fields, without
from core.ids import ProcessKey, TaskKey


def forget(fleet: Fleet, keys: AbstractSet[ProcessKey]) -> Fleet:
    """Return the fleet without these processes and their tasks. A live one is never forgotten."""
    gone = {
        key for key in keys if (process := fleet.processes.get(key)) is not None and process.is_gone
    }
    if not gone:
        return fleet
    return with_fields(
        fleet,
        processes=without(fleet.processes, gone),
        tasks=without(fleet.tasks, list(_tasks_of(fleet, gone))),
    )


def _tasks_of(fleet: Fleet, keys: Iterable[ProcessKey]) -> Iterable[TaskKey]:
    for key in keys:
        yield from fleet.processes[key].tasks
