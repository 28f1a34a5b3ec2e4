"""The fold: the only way the fleet changes. Pure, with a case for each event.

Nothing leaves the fleet because a link dropped. A process leaves some time after its end, or
when the operator dismisses it.
"""

from typing import assert_never

from core.events import (
    ClockMoved,
    ContentRevealed,
    DeadEvalFound,
    Dismissed,
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    LogUnreadable,
    MachineNamed,
    MachineRead,
    OperationsSeen,
    OrderEnded,
    OrderGiven,
    ProbeAnswered,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    RunChanged,
    SamplesSeen,
    ScoreSeen,
    SurfaceRead,
    TasksSeen,
    TimePassed,
)
from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted
from core.fleet import Fleet
from core.fold.causes import see_causes
from core.fold.ends import end_process, find_dead, with_logged_end
from core.fold.forgetting import forget
from core.fold.immutable import with_fields, with_item, with_items
from core.fold.limits import (
    with_left_out,
    with_operations,
    with_room_for_process,
    with_samples,
)
from core.fold.machines import change_link, move_clock, name_machine, refresh_link
from core.fold.merged_findings import merge_findings
from core.fold.motion import with_same_waits
from core.fold.mutes import change_mutes
from core.fold.orders import end_order, give_order
from core.fold.processes import (
    dismiss,
    is_watched_inside,
    see_process,
    see_tasks,
    with_rows,
    without_watched_inside,
)
from core.fold.runs import change_run
from core.fold.samples import see_samples
from core.fold.sandboxes import with_known_holders, with_sandboxed_samples
from core.fold.spin_ups import with_spin_up
from core.fold.tasks import with_header, with_unreadable_log
from core.fold.trails import with_reading
from core.ids import ProcessKey, TaskKey
from core.model.machine import Machine
from core.model.process import Process
from core.model.task import Task
from core.task_events import CausesSeen, SpinUpTimed


def fold(fleet: Fleet, event: Event) -> Fleet:
    """Return the fleet after `event`. Events of different machines commute."""
    at = max(fleet.at, event.at)
    changed = _changed(fleet, event, at)
    return changed if changed.at == at else with_fields(changed, at=at)


def _changed(  # noqa: C901, PLR0911, PLR0912 - a case for each event
    fleet: Fleet, event: Event, at: float
) -> Fleet:
    match event:
        case MachineNamed():
            return _with_machine(fleet, at, name_machine(fleet, event))
        case LinkChanged():
            return _with_machine(fleet, at, change_link(fleet, event))
        case LinkHeard():
            return _with_machine(fleet, at, refresh_link(fleet, event))
        case ProbeAnswered():
            machine = fleet.machines.get(event.machine)
            named = _with_machine(fleet, at, machine and with_fields(machine, probe=event.probe))
            return without_watched_inside(named)
        case ClockMoved():
            return _with_machine(fleet, at, move_clock(fleet, event))
        case MachineRead():
            machine = fleet.machines.get(event.machine)
            if machine is None:
                return fleet
            facts = with_known_holders(fleet, event.machine, event.facts)
            trail = with_reading(machine.trail, machine.facts, facts)
            machine = with_fields(machine, facts=facts, facts_at=event.at, trail=trail)
            read = with_sandboxed_samples(_with_machine(fleet, at, machine), event.machine)
            return with_left_out(read, event.machine, facts=event.facts.left_out)
        case ProcessSeen():
            return _with_seen_process(fleet, at, event)
        case ProcessesCut(machine=name, left_out=left_out):
            return with_left_out(fleet, name, processes=left_out)
        case ProcessGone():
            return end_process(fleet, event)
        case DeadEvalFound():
            return find_dead(fleet, event)
        case TasksSeen():
            return see_tasks(fleet, event)
        case SamplesSeen():
            task = fleet.tasks.get(event.task)
            mine = task is not None and task.row.eval_id == event.eval_id
            return with_samples(fleet, task, see_samples(task, event)) if task and mine else fleet
        case ReadsUnchanged():
            return _refresh_ages(fleet, event)
        case ReadFailed():
            process = fleet.processes.get(event.process)
            trouble = f"{event.what}: {event.reason}"
            return _with_process(fleet, at, process and with_fields(process, trouble=trouble))
        case OperationsSeen():
            return with_operations(fleet, event)
        case LogRead():
            task = fleet.tasks.get(event.task)
            gone = fleet.is_gone(event.task.process)
            return fleet if task is None else _with_log(fleet, task, event, gone=gone)
        case LogUnreadable():
            task = fleet.tasks.get(event.task)
            gone = fleet.is_gone(event.task.process)
            return _with_task(fleet, at, task and with_unreadable_log(task, event, gone=gone))
        case ScoreSeen():
            return _with_task(fleet, at, _with_score(fleet.tasks.get(event.task), event))
        case CausesSeen():
            return _with_task(fleet, at, see_causes(fleet.tasks.get(event.task), event))
        case SpinUpTimed():
            return with_spin_up(fleet, event)
        case Dismissed():
            return dismiss(fleet, event.process)
        case TimePassed():
            return forget(fleet, _long_gone(fleet, event.at - event.keep_gone))
        case ContentRevealed() | FindingsAcknowledged():
            return fleet
        case FindingsMerged() | FindingsMuted():
            return _with_findings_named(fleet, event)
        case SurfaceRead():
            process = fleet.processes.get(event.process)
            return _with_process(
                fleet, at, process and with_fields(process, can=frozenset(event.can))
            )
        case OrderGiven():
            return give_order(fleet, event)
        case OrderEnded():
            return end_order(fleet, event)
        case RunChanged():
            return change_run(fleet, event)
        case _:
            assert_never(event)


def _with_score(task: Task | None, event: ScoreSeen) -> Task | None:
    return task and with_fields(task, interim=event.metrics)


def _with_seen_process(fleet: Fleet, at: float, event: ProcessSeen) -> Fleet:
    if is_watched_inside(fleet, event.process.machine, event.container):
        return fleet
    with_room = with_room_for_process(fleet, event.process, event.units)
    if with_room is None:
        return fleet
    seen = see_process(with_room.processes.get(event.process), event)
    return _with_process(with_room, at, _as_its_rows_say(with_room, seen, event.at))


def _with_findings_named(fleet: Fleet, event: FindingsMerged | FindingsMuted) -> Fleet:
    if isinstance(event, FindingsMerged):
        return merge_findings(fleet, event)
    return change_mutes(fleet, event)


def _with_log(fleet: Fleet, task: Task, event: LogRead, *, gone: bool) -> Fleet:
    offset = fleet.clock_offset(event.task.machine)
    read = with_header(task, event, gone=gone, offset=offset)
    return with_logged_end(with_samples(fleet, task, read), event.task.process)


def _with_machine(fleet: Fleet, at: float, machine: Machine | None) -> Fleet:
    if machine is None:
        return fleet
    return with_fields(fleet, at=at, machines=with_item(fleet.machines, machine.name, machine))


def _with_process(fleet: Fleet, at: float, process: Process | None) -> Fleet:
    if process is None:
        return fleet
    return with_fields(fleet, at=at, processes=with_item(fleet.processes, process.key, process))


def _with_task(fleet: Fleet, at: float, task: Task | None) -> Fleet:
    if task is None:
        return fleet
    return with_fields(fleet, at=at, tasks=with_item(fleet.tasks, task.key, task))


def _as_its_rows_say(fleet: Fleet, process: Process, at: float) -> Process:
    """Return the process as parked if all its tasks are over; its own event does not show that."""
    return with_rows(process, [fleet.tasks[key].row for key in process.tasks], at)


def _refresh_ages(fleet: Fleet, event: ReadsUnchanged) -> Fleet:
    changed = dict[TaskKey, Task]()
    for process_key, as_of in event.tasks:
        process = fleet.processes.get(process_key)
        for key in process.tasks if process is not None else ():
            changed[key] = with_fields(fleet.tasks[key], as_of=as_of, heard_at=event.at)
    for key, as_of in event.samples:
        task = changed.get(key) or fleet.tasks.get(key)
        if task is not None and task.samples_as_of is not None:
            changed[key] = with_fields(
                task,
                samples_as_of=as_of,
                samples_heard_at=event.at,
                waits=with_same_waits(task.waits, as_of),
            )
    return with_fields(fleet, tasks=with_items(fleet.tasks, changed)) if changed else fleet


def _long_gone(fleet: Fleet, until: float) -> set[ProcessKey]:
    return {
        key
        for key, process in fleet.processes.items()
        if process.ended_at is not None and process.ended_at <= until
    }
