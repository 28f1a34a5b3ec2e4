"""Whether the first poll of every machine is done, and whether an event changes what to poll."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from core.events import (
    Event,
    LinkHeard,
    LogRead,
    LogUnreadable,
    MachineRead,
    OperationsSeen,
    ReadsUnchanged,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey
from core.model.machine import LinkState, Machine
from core.model.process import Process, ProcessState
from core.model.task import TaskState
from core.task_events import CausesSeen
from core.text import shown
from core.watch.polls import lacks_causes, waits_for_retries

_FAILED = frozenset({LinkState.DOWN, LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU, LinkState.REFUSED})
_ANSWERS = frozenset({ProcessState.LIVE, ProcessState.BUSY, ProcessState.PARKED})

_KEEPS_POLLS = (
    CausesSeen,
    LinkHeard,
    LogRead,
    LogUnreadable,
    ReadsUnchanged,
    MachineRead,
    OperationsSeen,
    SamplesSeen,
    ScoreSeen,
)


def changes_polls(before: Fleet, after: Fleet, event: Event) -> bool:
    """Return whether `event` may change what a probe should poll at once.

    Progress alone does not: it changes how often to poll, which may wait a little.
    """
    if isinstance(event, TasksSeen):
        return _attempts(before, event.process) != _attempts(after, event.process)
    return not isinstance(event, _KEEPS_POLLS)


def _attempts(fleet: Fleet, key: ProcessKey) -> list[tuple[str, str, bool, bool, bool]]:
    """Return the fields that decide which polls a process's tasks get."""
    process = fleet.processes.get(key)
    tasks = [fleet.tasks[each] for each in process.tasks] if process is not None else []
    return [
        (
            task.row.eval_id,
            task.row.status,
            task.row.quiesced,
            waits_for_retries(task, task.heard_at),
            lacks_causes(task, task.heard_at),
        )
        for task in tasks
    ]


def has_finishing_task(fleet: Fleet, key: ProcessKey) -> bool:
    """Return whether a task of this process has ended and its log is not read yet."""
    process = fleet.processes.get(key)
    return process is not None and any(
        fleet.tasks[each].state is TaskState.FINISHING for each in process.tasks
    )


def awaited(
    fleet: Fleet, listed: AbstractSet[MachineName], read: AbstractSet[ProcessKey]
) -> Iterator[MachineName | ProcessKey]:
    """Yield the machines and processes that were not polled yet, and can be.

    Args:
        fleet: All that is known.
        listed: Machines whose processes were listed.
        read: Processes whose tasks were read, or could not be.
    """
    for machine in fleet.machines.values():
        if not _is_settled(machine, listed):
            yield machine.name
    for key, process in fleet.processes.items():
        failed = _has_failed(fleet.machines.get(key.machine))
        if key not in read and _answers(process) and not failed:
            yield key


def awaited_words(awaited_one: MachineName | ProcessKey) -> str:
    """Return the name of a machine or a process."""
    if isinstance(awaited_one, ProcessKey):
        return f"process {awaited_one.pid} on {shown(awaited_one.machine)}"
    return str(shown(awaited_one))


def _answers(process: Process) -> bool:
    """Return whether its tasks can be read; while it starts, only once it has a socket."""
    if process.state is ProcessState.STARTING:
        return process.socket_path is not None
    return process.state in _ANSWERS


def _has_failed(machine: Machine | None) -> bool:
    return machine is None or machine.link.state in _FAILED


def _is_settled(machine: Machine, listed: AbstractSet[MachineName]) -> bool:
    return _has_failed(machine) or machine.name in listed
