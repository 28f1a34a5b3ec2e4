"""Changes of processes and of their task lists."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from core.events import ProcessSeen, TasksSeen
from core.fleet import Fleet
from core.fold.forgetting import forget
from core.fold.immutable import thawed, with_fields, with_item, without
from core.fold.limits import (
    oldest_unlisted,
    task_units,
    with_room_for_tasks,
    with_tasks_left_out,
)
from core.fold.tasks import see_row, settled
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.limits import MAX_PROCESS_TASKS
from core.model.process import ContainerPlace, Process, ProcessState
from core.model.task import TaskRow


def see_process(known: Process | None, event: ProcessSeen) -> Process:
    """Return the process with what the event says; fields that it leaves out stay."""
    if known is None:
        known = Process(key=event.process, state=event.state, since=event.at)
    state = event.state
    if state is ProcessState.LIVE and known.state is ProcessState.PARKED:
        # The probe only knows that the channel answers; the rows say that all tasks are over.
        state = ProcessState.PARKED
    gone = state is ProcessState.GONE
    return with_fields(
        known,
        state=state,
        since=known.since if known.state is state else event.at,
        run_id=event.run_id or known.run_id,
        started_at=known.started_at if event.started_at is None else event.started_at,
        api_version=known.api_version if event.api_version is None else event.api_version,
        socket_path=event.socket_path or known.socket_path,
        data_dir=event.data_dir or known.data_dir,
        argv=event.argv or known.argv,
        cwd=event.cwd or known.cwd,
        python=event.python or known.python,
        run=event.run or known.run,
        variables=event.variables or known.variables,
        waiting_since=event.waiting_since,
        ended_at=(known.ended_at or event.at) if gone else None,
        ended_after=known.ended_after if gone else None,
        unsignalled=event.unsignalled,
        container=event.container,
        is_cut_off=event.is_cut_off,
        is_stopped=event.is_stopped,
        slow_polls=event.slow_polls,
        units=max(known.units, event.units),
    )


def is_watched_inside(fleet: Fleet, host: MachineName, place: ContainerPlace | None) -> bool:
    """Whether another machine's probe runs in this container of `host`: the eval is listed there.

    Such a probe has the host's kernel and the container's pid namespace.
    """
    machine = fleet.machines.get(host)
    if place is None or not place.namespace or machine is None or machine.probe is None:
        return False
    inside = (machine.probe.boot_id, place.namespace)
    return any(
        each.probe is not None and (each.probe.boot_id, each.probe.namespace) == inside
        for name, each in fleet.machines.items()
        if name != host
    )


def without_watched_inside(fleet: Fleet) -> Fleet:
    """Return the fleet without the rows of evals in containers that a machine of it watches."""
    doubled = {
        key
        for key, process in fleet.processes.items()
        if is_watched_inside(fleet, key.machine, process.container)
    }
    if not doubled:
        return fleet
    return with_fields(fleet, processes=without(fleet.processes, doubled))


def over_at(rows: Iterable[TaskRow], offset: float, at: float) -> float:
    """Return when the last of these tasks was over, Unix seconds at the desk; `at` if unknown."""
    ends = [row.completed_at for row in rows]
    known = [end for end in ends if end is not None]
    return min(at, max(known) - offset) if known and len(known) == len(ends) else at


def with_rows(process: Process, rows: Sequence[TaskRow], at: float, offset: float = 0.0) -> Process:
    """Return the process with what its task rows say about the whole process.

    Args:
        process: The process.
        rows: Its task rows.
        at: Now, Unix seconds at the desk.
        offset: The host's clock minus the desk's, seconds.
    """
    if not rows:
        return process
    row = rows[0]
    keep_alive = process.keep_alive if row.keep_alive is None else row.keep_alive
    state = process.state
    if state in {ProcessState.LIVE, ProcessState.PARKED}:
        over = all(each.is_completed for each in rows)
        state = ProcessState.PARKED if keep_alive and over else ProcessState.LIVE
    since = process.since
    if state is not process.state:
        since = over_at(rows, offset, at) if state is ProcessState.PARKED else at
    return with_fields(
        process,
        state=state,
        since=since,
        keep_alive=keep_alive,
        paused=bool(row.process_paused),
        paused_now=bool(row.process_paused_now),
        paused_models=row.paused_models,
        api_version=process.api_version if row.api_version is None else row.api_version,
    )


def see_tasks(fleet: Fleet, event: TasksSeen) -> Fleet:
    """Return the fleet with a process's whole task list.

    A task that is no longer in the list has ended; its log says how. A row from before
    Inspect registered the task has no id; it is dropped once it is no longer in the list.
    """
    process = fleet.processes.get(event.process)
    if process is None:
        return fleet
    gone = process.is_gone
    fleet, rows = with_room_for_tasks(fleet, event)
    left_out = event.left_out + len(event.rows) - len(rows)
    tasks = thawed(fleet.tasks)
    listed = dict.fromkeys(process.tasks)
    seen = set[TaskKey]()
    for row in rows:
        key = TaskKey(event.process, row.task_id)
        ended = gone or row.is_completed
        task = see_row(tasks.get(key), key, row, event)
        tasks[key] = settled(task, gone=gone, at=event.at, ended=ended)
        listed[key] = None
        seen.add(key)
    for key in process.tasks:
        if key in seen:
            continue
        if key.task_id:
            tasks[key] = settled(tasks[key], gone=gone, at=event.at, ended=True)
        else:
            del tasks[key], listed[key]
    for key in oldest_unlisted(listed, seen, len(listed) - MAX_PROCESS_TASKS):
        del tasks[key], listed[key]
    before, troubles = process.tasks_left_out, list(event.malformed[:3])
    if left_out:
        troubles.append(f"{left_out:,} more tasks are not shown")
    process = with_fields(
        with_rows(process, rows, event.at, fleet.clock_offset(event.process.machine)),
        tasks=tuple(listed),
        trouble="; ".join(troubles) or None,
        task_units=task_units(tasks[key].row for key in listed),
        tasks_left_out=left_out,
    )
    changed = with_fields(
        fleet,
        processes=with_item(fleet.processes, event.process, process),
        tasks=MappingProxyType(tasks),
    )
    return changed if left_out == before else with_tasks_left_out(changed, event.process.machine)


def dismiss(fleet: Fleet, key: ProcessKey) -> Fleet:
    """Return the fleet without a process that is gone; its files do not bring it back."""
    process = fleet.processes.get(key)
    if process is None or not process.is_gone:
        return fleet
    left = forget(fleet, {key})
    return with_fields(left, dismissed=left.dismissed | {process})
