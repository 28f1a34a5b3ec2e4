"""Which sample does which operation of its eval's trace."""

from collections.abc import Mapping
from types import MappingProxyType

from core.fleet import Fleet
from core.model.operation import Operation
from core.model.process import Process
from core.model.sample import SampleId, SampleStatus
from core.model.task import Task, TaskState

START_SLACK_S = 2.0
"""An operation that began longer before its sample is of an earlier attempt, seconds."""

_NOTHING: Mapping[SampleId, Operation] = MappingProxyType({})


def has_begun_with(operation: Operation, started_at: float | None) -> bool:
    """Return whether an operation may be of the attempt of a sample that started then."""
    return started_at is None or operation.since >= started_at - START_SLACK_S


def operations_of(fleet: Fleet, task: Task) -> Mapping[SampleId, Operation]:
    """Return the operations of a task's running samples.

    The trace names a task by its name alone. Of several tasks with one name, a sample of which
    the same id runs in two has none here.
    """
    process = fleet.processes.get(task.key.process)
    if process is None or process.is_gone or not process.operations:
        return _NOTHING
    if task.state is not TaskState.RUNNING:
        return _NOTHING
    return {
        each.sample: each
        for each in process.operations
        if each.sample is not None
        and each.task == task.row.task
        and _is_of(task, each)
        and not any(_is_of(other, each) for other in _namesakes(fleet, process, task))
    }


def _namesakes(fleet: Fleet, process: Process, task: Task) -> list[Task]:
    others = (fleet.tasks[key] for key in process.tasks if key != task.key)
    return [each for each in others if each.row.task == task.row.task]


def _is_of(task: Task, operation: Operation) -> bool:
    """Whether a sample of the task may do this: it runs, and ran when the operation began."""
    if operation.sample is None or task.state is not TaskState.RUNNING:
        return False
    row = task.samples.get(operation.sample)
    if row is None or row.status != SampleStatus.RUNNING:
        return False
    return has_begun_with(operation, row.started_at)
