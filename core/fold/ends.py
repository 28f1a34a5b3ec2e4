"""Ends of processes: when they were, and those that nobody saw."""

import re
from types import MappingProxyType

from core.events import DeadEvalFound, ProcessGone
from core.fleet import Fleet
from core.fold.immutable import thawed, with_fields, with_item, with_items
from core.fold.limits import (
    room_for_tasks,
    task_units,
    with_operations_left_out,
    with_room_for_process,
)
from core.fold.processes import over_at
from core.fold.tasks import settled
from core.ids import ProcessKey, TaskKey
from core.model.limits import MAX_PROCESS_TASKS
from core.model.process import Process, ProcessState
from core.model.task import Task, TaskRow, TaskState

UNSEEN_AFTER_S = 10.0
"""If a process was last listed longer ago than this, evalroom did not see its end, seconds."""
_CLOCK_SLACK_S = 5.0
_MAX_RUN_CHARACTERS = 64
_LOG_NAME = re.compile(r"_(?P<task_id>[A-Za-z0-9]{8,40})\.(?:eval|json)\Z")
"""The end of the name that Inspect gives a log."""


def end_process(fleet: Fleet, event: ProcessGone) -> Fleet:
    """Return the fleet with the process gone; the logs of its tasks say how they ended."""
    known = fleet.processes.get(event.process)
    if known is None or known.is_gone:
        return fleet
    ended_at, ended_after = event.at, _ran_until(fleet, known, event)
    rows = [fleet.tasks[key].row for key in known.tasks]
    if not known.keep_alive and all(row.is_completed for row in rows):
        # It ends with its eval: it may have been found gone long after that.
        over = over_at(rows, fleet.clock_offset(event.process.machine), event.at)
        ended_after = None if over < ended_at else ended_after
        ended_at = over
    gone = with_fields(
        known,
        state=ProcessState.GONE,
        since=ended_at,
        ended_at=ended_at,
        ended_after=ended_after,
        killed=event.killed,
        waiting_since=None,
        operations=None,
        operations_left_out=0,
        paused=False,
        paused_now=False,
        paused_models=(),
    )
    ended = {
        key: settled(fleet.tasks[key], gone=True, at=event.at, ended=True) for key in known.tasks
    }
    changed = with_fields(
        fleet,
        processes=with_item(fleet.processes, event.process, gone),
        tasks=with_items(fleet.tasks, ended) if ended else fleet.tasks,
    )
    if not known.operations_left_out:
        return changed
    return with_operations_left_out(changed, event.process.machine)


def _ran_until(fleet: Fleet, process: Process, event: ProcessGone) -> float | None:
    """Return when a process still ran for certain; None: its end was seen."""
    if event.last_seen_at is None:
        return None
    heard = (fleet.tasks[key].heard_at for key in process.tasks)
    until = min(event.at, max(event.last_seen_at, process.since, *heard))
    return until if event.at - until > UNSEEN_AFTER_S else None


def find_dead(fleet: Fleet, event: DeadEvalFound) -> Fleet:
    """Return the fleet with an eval that died unseen: its process and a task for each of its logs.

    Nothing changes if the operator dismissed it, or if its logs are known.
    """
    offset = fleet.clock_offset(event.process.machine)
    if any(_is_it(each, event, offset) for each in fleet.dismissed):
        return fleet
    matching = (each for each in fleet.processes.values() if _is_it(each, event, offset))
    known = next(matching, None)
    if known is not None and not known.is_gone:
        return fleet
    machine = event.process.machine
    listed = {task.row.log_location for key, task in fleet.tasks.items() if key.machine == machine}
    unknown = [log for log in event.logs if not listed & _names_of(log)]
    if known is not None:  # a task that was listed may have logs of earlier attempts
        names = {key.task_id: fleet.tasks[key].row.log_location for key in known.tasks}
        unknown = [log for log in unknown if _is_later(log, names.get(_task_id_of(log)))]
    if not unknown:
        return fleet
    with_room = fleet if known is not None else with_room_for_process(fleet, event.process)
    if with_room is None:
        return fleet
    fleet = with_room
    process = known if known is not None else _dead_process(event, offset)
    room = min(room_for_tasks(fleet, machine), MAX_PROCESS_TASKS - len(process.tasks))
    tasks = [_dead_task(process.key, log, event) for log in unknown[: max(0, room)]]
    keys = dict.fromkeys((*process.tasks, *(task.key for task in tasks)))
    every = thawed(fleet.tasks)
    every.update({task.key: task for task in tasks})
    units = process.task_units + task_units(task.row for task in tasks)
    process = with_fields(process, tasks=tuple(keys), task_units=units)
    return with_fields(
        fleet,
        processes=with_item(fleet.processes, process.key, process),
        tasks=MappingProxyType(every),
    )


def _names_of(log: str) -> set[str]:
    """Return the locations under which a log is listed: as a URL, and after its recovery."""
    recovered = f"{log.removesuffix('.eval')}-recovered.eval"
    return {log, f"file://{log}", recovered, f"file://{recovered}"}


def _is_it(process: Process, event: DeadEvalFound, offset: float) -> bool:
    """Whether files belong to a process: by the same pid, and its eval or its time."""
    key = event.process
    if (process.key.machine, process.key.pid) != (key.machine, key.pid):
        return False
    if process.key == key:
        return True
    if process.run_id is not None and event.run_id is not None:
        return process.run_id == event.run_id
    wrote_at = event.last_written_at - offset
    began = process.started_at is None or process.started_at - _CLOCK_SLACK_S <= (
        event.last_written_at if event.started_at is None else event.started_at
    )
    return began and (process.ended_at is None or wrote_at <= process.ended_at + _CLOCK_SLACK_S)


def _dead_process(event: DeadEvalFound, offset: float) -> Process:
    return Process(
        key=event.process,
        state=ProcessState.GONE,
        since=event.at,
        run_id=event.run_id,
        started_at=event.started_at,
        data_dir=event.data_dir,
        ended_at=event.at,
        ended_after=min(event.at, event.last_written_at - offset),
    )


def _dead_task(process: ProcessKey, log: str, event: DeadEvalFound) -> Task:
    """Return a task whose log is still to be read: its row has no eval id."""
    task_id, name = _task_id_of(log), log.rpartition("/")[2]
    return Task(
        key=TaskKey(process, task_id),
        row=TaskRow(task_id=task_id, eval_id="", task=name, log_location=log),
        state=TaskState.FINISHING,
        as_of=event.last_written_at,
        heard_at=event.at,
        seen_at=event.at,
        ended_at=event.at,
    )


def _task_id_of(log: str) -> str:
    """Return the task id in the name of a log; for another name, that name."""
    name = log.rpartition("/")[2]
    found = _LOG_NAME.search(name)
    return found["task_id"] if found is not None else name


def _is_later(log: str, other: str | None) -> bool:
    """Whether a log was begun after another one of its task; their names begin with the time."""
    return not other or log.rpartition("/")[2] > other.rpartition("/")[2]


def with_logged_end(fleet: Fleet, key: ProcessKey) -> Fleet:
    """Return the fleet with the end of a process that nobody saw, as its logs show it.

    They also name its run, where its environment was never read.
    """
    process = fleet.processes.get(key)
    if process is None or process.ended_at is None or process.ended_after is None:
        return fleet
    ended_at, after = process.ended_at, process.ended_after
    offset = fleet.clock_offset(key.machine)
    if process.run is None:
        named = (fleet.tasks[each].header for each in process.tasks)
        run = next((header.run for header in named if header is not None and header.run), None)
        process = process if run is None else with_fields(process, run=run[:_MAX_RUN_CHARACTERS])
    headers = [fleet.tasks[each].header for each in process.tasks]
    ends, written = list[float](), [after]
    for header in headers:
        if header is None:
            continue
        if header.is_final and header.completed_at is not None:
            ends.append(header.completed_at - offset)
        elif header.last_written_at is not None:
            written.append(header.last_written_at - offset)
    after = min(ended_at, max(written))
    if ends and len(ends) == len(headers) and not process.keep_alive:
        ended_at = min(ended_at, max(after, *ends))
        process = with_fields(process, since=ended_at, ended_at=ended_at, ended_after=None)
    elif after != process.ended_after:
        process = with_fields(process, ended_after=after)
    return with_fields(fleet, processes=with_item(fleet.processes, key, process))
