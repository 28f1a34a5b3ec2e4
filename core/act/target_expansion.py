"""From a selection (the cursor, the marks, the words of a command) to concrete targets."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from core.act.ports import ActionDesk
from core.act.requests import split_changes
from core.act.sample_targets import Listings, SampleId
from core.ctl import reads
from core.errors import AnswerMalformed, NothingToDo, RequestFailed, UsageWrong
from core.fleet import Fleet
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.action import Action, Scope, Verb, offers_on
from core.model.task import TaskState

ActionPlace = MachineName | ProcessKey | TaskKey | SampleKey | ModelKey
"""What can be selected: a machine by its name, or a process, task, sample or model."""

ActionRequest = tuple[Action, Target]
"""One action on one target, before it is planned."""

_SCOPES: dict[type, Scope] = {
    SampleKey: "sample",
    TaskKey: "task",
    ModelKey: "model",
    ProcessKey: "process",
    str: "process",
}


def scope_at(place: ActionPlace) -> Scope:
    """Return the scope of an action on a place; an action on a machine is on its processes."""
    return _SCOPES[type(place)]


def live_processes(fleet: Fleet, machine: MachineName | None = None) -> tuple[ProcessKey, ...]:
    """Return the processes that are not gone, of one machine or of all."""
    return tuple(
        key
        for key, process in fleet.processes.items()
        if not process.is_gone and machine in {None, key.machine}
    )


def running_tasks(fleet: Fleet, process: ProcessKey | None = None) -> tuple[TaskKey, ...]:
    """Return the tasks that are not over, of one process or of all."""
    return tuple(
        key
        for key, task in fleet.tasks.items()
        if task.state is TaskState.RUNNING and process in {None, key.process}
    )


def with_model(
    fleet: Fleet, model: str, among: Iterable[ProcessKey] | None = None
) -> tuple[ModelKey, ...]:
    """Return the model as a target in every live process that uses it, or has it paused."""
    chosen = live_processes(fleet) if among is None else among
    found: list[ModelKey] = []
    for key in chosen:
        process = fleet.processes.get(key)
        if process is None or process.is_gone:
            continue
        runs = any(
            fleet.tasks[task].row.model == model and fleet.tasks[task].state is TaskState.RUNNING
            for task in process.tasks
        )
        if runs or model in process.paused_models:
            found.append(ModelKey(key, model))
    return tuple(found)


def models_of(fleet: Fleet, among: Iterable[ProcessKey]) -> tuple[str, ...]:
    """Return the models that these processes run, in the order of their first task."""
    found: dict[str, None] = {}
    for key in among:
        process = fleet.processes.get(key)
        for task in process.tasks if process is not None else ():
            found[fleet.tasks[task].row.model] = None
    return tuple(model for model in found if model)


async def requests_for(
    desk: ActionDesk, action: Action, places: Sequence[ActionPlace]
) -> tuple[ActionRequest, ...]:
    """Return the requests that `action` on the selected places means, one for each target.

    On a machine it means each of its live processes. To requeue a task, a process or a machine
    means each of its samples that are errored now. Several config changes may take several
    requests.

    Raises:
        UsageWrong: The action does not apply to such a place, or there is nothing to act on
            (`NothingToDo`: no sample is errored).
        RequestFailed: A task's errored samples can't be listed.
    """
    targets: dict[Target, None] = {}
    for place in places:
        for target in await _targets(desk, action, place):
            targets[target] = None
    if not targets and action.verb is Verb.REQUEUE:
        raise NothingToDo(
            "the selection has no errored sample", "to requeue other samples, mark or name them"
        )
    if not targets:
        raise UsageWrong("the selection is empty", "select a row, or name a target")
    return tuple((one, target) for target in targets for one in split_changes(action))


async def _targets(desk: ActionDesk, action: Action, place: ActionPlace) -> tuple[Target, ...]:
    if action.verb is Verb.REQUEUE and not isinstance(place, SampleKey | ModelKey):
        tasks = _tasks(desk.fleet, place)
        return tuple([one for task in tasks for one in await _errored(desk, task)])
    if not any(offer.action.verb is action.verb for offer in offers_on(scope_at(place))):
        raise does_not_apply(action, scope_at(place))
    return live_processes(desk.fleet, place) if isinstance(place, str) else (place,)


def _tasks(fleet: Fleet, place: MachineName | ProcessKey | TaskKey) -> tuple[TaskKey, ...]:
    if isinstance(place, TaskKey):
        return (place,)
    if isinstance(place, ProcessKey):
        return running_tasks(fleet, place)
    return tuple(key for each in live_processes(fleet, place) for key in running_tasks(fleet, each))


_SCOPE_WORDS: Mapping[Scope, str] = {
    "sample": "a sample (TASK#ID/EPOCH)",
    "task": "a task (machine:task-id, or --all or --on MACHINE)",
    "process": "a process (machine:PID, or machine: for all processes of a machine)",
}


def does_not_apply(action: Action, scope: Scope) -> UsageWrong:
    """Return the error for an action on the wrong scope; it says where the action applies."""
    works = [
        words
        for each, words in _SCOPE_WORDS.items()
        if any(offer.action.verb is action.verb for offer in offers_on(each))
    ]
    return UsageWrong(f'"{action.verb}" doesn\'t apply to a {scope}', f"name {' or '.join(works)}")


async def list_samples(desk: ActionDesk, tasks: Iterable[TaskKey]) -> Listings:
    """Return the ids of all samples of these tasks; a task that can't be listed is left out."""
    found: dict[TaskKey, frozenset[SampleId]] = {}
    for task in tasks:
        with suppress(RequestFailed, AnswerMalformed):
            eval_id = desk.fleet.tasks[task].row.eval_id
            answer = await reads.read_samples(desk.read, task, eval_id, all_rows=True)
            if not answer.truncated:
                found[task] = frozenset((row.sample_id, row.epoch) for row in answer.rows)
    return found


async def _errored(desk: ActionDesk, task: TaskKey) -> tuple[SampleKey, ...]:
    known = desk.fleet.tasks.get(task)
    if known is None:
        return ()
    try:
        found = await reads.read_samples(
            desk.read, task, known.row.eval_id, errors=True, all_rows=True
        )
    except AnswerMalformed as error:
        raise RequestFailed(f"can't list the errored samples: {error.message}") from error
    return tuple(
        SampleKey(task, row.sample_id, row.epoch) for row in found.rows if row.status == "error"
    )
