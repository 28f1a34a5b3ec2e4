"""Which sample does which operation of its eval's trace."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from core.fleet import Fleet
from core.ids import TaskKey
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
    """Return the operations of a task's running samples, as `operations_by_task` finds them."""
    process = fleet.processes.get(task.key.process)
    return _NOTHING if process is None else operations_by_task(fleet, process).get(task.key, {})


def operations_by_task(
    fleet: Fleet, process: Process
) -> Mapping[TaskKey, Mapping[SampleId, Operation]]:
    """Return the operations of the running samples of each task of a process that has any.

    The trace names a task by its name alone. Of several tasks with one name, a sample of which
    the same id runs in two has none here. A process may have thousands of tasks and operations:
    this looks at each sample of them, or at each operation, and at no pair of tasks.
    """
    if process.is_gone or not process.operations:
        return {}
    by_name: dict[str, dict[SampleId, list[Operation]]] = {}
    for each in process.operations:
        if each.sample is not None:
            by_name.setdefault(each.task, {}).setdefault(each.sample, []).append(each)
    found: dict[TaskKey, dict[SampleId, Operation]] = {}
    claims = Counter[int]()
    for key in process.tasks:
        task = fleet.tasks[key]
        named = by_name.get(task.row.task)
        if named is None or task.state is not TaskState.RUNNING:
            continue
        fewer = named if len(named) <= len(task.samples) else task.samples
        own = {
            sample: each for sample in fewer for each in named.get(sample, ()) if _is_of(task, each)
        }
        if own:
            found[key] = own
            claims.update(map(id, own.values()))
    return {
        key: {sample: each for sample, each in own.items() if claims[id(each)] == 1}
        for key, own in found.items()
    }


def _is_of(task: Task, operation: Operation) -> bool:
    """Whether a sample of a running task may do this: it runs, and ran when this began."""
    if operation.sample is None:
        return False
    row = task.samples.get(operation.sample)
    if row is None or row.status != SampleStatus.RUNNING:
        return False
    return has_begun_with(operation, row.started_at)
