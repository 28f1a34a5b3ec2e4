"""Keeps what the fleet holds of a machine within `core.model.limits`, whatever the machine sends.

When the fleet is full, the oldest gone processes of that machine leave first, with their tasks.
evalroom counts for each machine what it left out. All machines together have an upper bound too,
and each has its equal share of it in any case.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from types import MappingProxyType

from core.events import OperationsSeen, TasksSeen
from core.fleet import Fleet
from core.fold.forgetting import forget
from core.fold.immutable import with_fields, with_item
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.limits import (
    MAX_ALL_PROCESSES,
    MAX_ALL_SAMPLES,
    MAX_ALL_TASKS,
    MAX_OPERATIONS,
    MAX_PROCESS_TASKS,
    MAX_PROCESSES,
    MAX_SAMPLES,
    MAX_TASKS,
    LeftOut,
    units,
)
from core.model.operation import Operation
from core.model.process import Process
from core.model.task import Task, TaskRow

_FORGOTTEN_AT_ONCE = 200
"""So many gone processes leave together: to look for each of them would take long."""
_MIN_SAMPLES = 20
"""So many samples of a task are kept in any case."""


def with_room_for_process(fleet: Fleet, key: ProcessKey, size: int = 1) -> Fleet | None:
    """Return the fleet with room for a process that counts as `size`; None if none can be made."""
    known = fleet.processes.get(key)
    if known is not None and size <= known.units:
        return fleet
    own = [each for each in _processes_of(fleet, key.machine) if each.key != key]
    all_units = sum(each.units for each in fleet.processes.values())
    taken = sum(each.units for each in own)
    others = all_units - taken - (known.units if known is not None else 0)
    excess = taken + size - _room(fleet, MAX_PROCESSES, MAX_ALL_PROCESSES, others)
    if excess <= 0:
        return fleet
    leaving = set[ProcessKey]()
    for gone in _gone_first(own):
        if excess <= 0 and len(leaving) >= _FORGOTTEN_AT_ONCE:
            break
        leaving.add(gone)
        excess -= fleet.processes[gone].units
    return forget(fleet, leaving) if excess <= 0 else None


def with_room_for_tasks(fleet: Fleet, event: TasksSeen) -> tuple[Fleet, tuple[TaskRow, ...]]:
    """Return the fleet with room for the task rows of `event`, and the rows that have room."""
    rows, machine = event.rows[:MAX_PROCESS_TASKS], event.process.machine
    wanted = task_units(rows)
    known = fleet.processes.get(event.process)
    if known is not None and not known.tasks_left_out and wanted <= known.task_units:
        return fleet, rows  # as many as before had room
    own = _processes_of(fleet, machine)
    taken = sum(each.task_units for each in own if each.key != event.process)
    most = _most_tasks(fleet, own)
    if taken + wanted <= most:
        return fleet, rows
    leaving = set[ProcessKey]()
    for key in _gone_first(own):
        if taken + wanted <= most:
            break
        if key != event.process:
            leaving.add(key)
            taken -= fleet.processes[key].task_units
    room, kept = most - taken, list[TaskRow]()
    for row in rows:
        room -= units(row.raw)
        if room < 0:
            break
        kept.append(row)
    return forget(fleet, leaving), tuple(kept)


def _operations_with_room(fleet: Fleet, event: OperationsSeen) -> tuple[Operation, ...]:
    """Return those operations of `event` that there is room for: the ones that began first."""
    own = _processes_of(fleet, event.process.machine)
    room = MAX_OPERATIONS - sum(
        len(each.operations or ()) for each in own if each.key != event.process
    )
    if len(event.operations) <= room:
        return event.operations
    return tuple(sorted(event.operations, key=lambda each: each.since)[: max(0, room)])


def room_for_tasks(fleet: Fleet, machine: MachineName) -> int:
    """Return how many more small task rows of a machine there is room for."""
    own = _processes_of(fleet, machine)
    return _most_tasks(fleet, own) - sum(each.task_units for each in own)


def _most_tasks(fleet: Fleet, own: Iterable[Process]) -> int:
    """Return how many task rows the machine of these processes may have now."""
    every = sum(each.task_units for each in fleet.processes.values())
    others = every - sum(each.task_units for each in own)
    return _room(fleet, MAX_TASKS, MAX_ALL_TASKS, others)


def _room(fleet: Fleet, most: int, most_of_all: int, others: int) -> int:
    """Return how much a machine may have where the other machines have `others`."""
    share = most_of_all // max(1, len(fleet.machines))
    return min(most, max(share, most_of_all - others))


def task_units(rows: Iterable[TaskRow]) -> int:
    """Return as how many rows these task rows count."""
    return sum(units(row.raw) for row in rows)


def with_tasks_left_out(fleet: Fleet, machine: MachineName) -> Fleet:
    """Return the fleet with the number of a machine's tasks that are left out."""
    tasks = sum(each.tasks_left_out for each in _processes_of(fleet, machine))
    return with_left_out(fleet, machine, tasks=tasks)


def with_operations(fleet: Fleet, event: OperationsSeen) -> Fleet:
    """Return the fleet with the operations of a process, as many as there is room for."""
    process = fleet.processes.get(event.process)
    if process is None:
        return fleet
    kept = _operations_with_room(fleet, event)
    before, left_out = (
        process.operations_left_out,
        event.left_out + len(event.operations) - len(kept),
    )
    seen = with_fields(process, operations=kept, operations_left_out=left_out)
    changed = with_fields(fleet, processes=with_item(fleet.processes, process.key, seen))
    if left_out == before:
        return changed
    return with_operations_left_out(changed, event.process.machine)


def with_operations_left_out(fleet: Fleet, machine: MachineName) -> Fleet:
    """Return the fleet with the number of a machine's operations that are left out."""
    operations = sum(each.operations_left_out for each in _processes_of(fleet, machine))
    return with_left_out(fleet, machine, operations=operations)


def with_left_out(fleet: Fleet, machine: MachineName, **numbers: int) -> Fleet:
    """Return the fleet with these numbers of `LeftOut` on a machine."""
    known = fleet.machines.get(machine)
    left_out = LeftOut() if known is None else replace(known.left_out, **numbers)
    if known is None or known.left_out == left_out:
        return fleet
    changed = with_fields(known, left_out=left_out)
    return with_fields(fleet, machines=with_item(fleet.machines, machine, changed))


def with_samples(fleet: Fleet, before: Task, after: Task) -> Fleet:
    """Return the fleet with new samples of a task, as many as its machine has room for."""
    machine = fleet.machines.get(after.key.machine)
    growth = after.sample_units - before.sample_units
    if machine is not None and growth > 0:
        total, left_out = machine.sample_units + growth, 0
        others = sum(each.sample_units for each in fleet.machines.values()) - machine.sample_units
        if total > _room(fleet, MAX_SAMPLES, MAX_ALL_SAMPLES, others):
            # These sums are only upper bounds: tasks may have left since.
            taken = others = 0
            for key, task in fleet.tasks.items():
                if key.machine != machine.name:
                    others += task.sample_units
                elif key != after.key:
                    taken += task.sample_units
            cut = _fitting(after, _room(fleet, MAX_SAMPLES, MAX_ALL_SAMPLES, others) - taken)
            left_out = len(after.samples) - len(cut.samples)
            total, after = taken + cut.sample_units, cut
        machine = with_fields(
            machine,
            sample_units=total,
            left_out=with_fields(machine.left_out, samples=left_out),
        )
        fleet = with_fields(fleet, machines=with_item(fleet.machines, machine.name, machine))
    return with_fields(fleet, tasks=with_item(fleet.tasks, after.key, after))


def _fitting(task: Task, room: int) -> Task:
    """Return the task with the first of its samples that count as at most `room` rows."""
    if task.sample_units <= room:
        return task
    kept = dict(islice(task.samples.items(), _MIN_SAMPLES))
    left = room - sum(units(row.raw) for row in kept.values())
    for key, row in islice(task.samples.items(), _MIN_SAMPLES, None):
        left -= units(row.raw)
        if left < 0:
            break
        kept[key] = row
    return with_fields(
        task,
        samples=MappingProxyType(kept),
        sample_units=sum(units(row.raw) for row in kept.values()),
        samples_cut=task.samples_cut + len(task.samples) - len(kept),
    )


def _processes_of(fleet: Fleet, machine: MachineName) -> list[Process]:
    return [each for key, each in fleet.processes.items() if key.machine == machine]


def _gone_first(processes: Iterable[Process]) -> list[ProcessKey]:
    """Return the gone ones of these processes, the oldest end first."""
    gone = (each for each in processes if each.is_gone)
    return [each.key for each in sorted(gone, key=lambda each: each.ended_at or 0.0)]


def oldest_unlisted(listed: Iterable[TaskKey], seen: Iterable[TaskKey], count: int) -> set[TaskKey]:
    """Return the first `count` of the tasks in `listed` that are not in `seen`."""
    if count <= 0:
        return set()
    named = frozenset(seen)
    return set(islice((key for key in listed if key not in named), count))
