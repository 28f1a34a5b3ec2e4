"""Which actions of a selection get a button: those that fit the state of its targets. Pure."""

from collections.abc import Callable, Sequence

from core.fleet import Fleet
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Verb
from core.model.process import ProcessState
from core.model.task import TaskState

Targets = Sequence[Target]


def fits(action: Action, targets: Targets, fleet: Fleet) -> bool:
    """Whether an action fits the state of these targets: no resume where nothing is paused."""
    rule = _RULES.get(action.verb)
    return rule is None or rule(action, targets, fleet)


def is_held(fleet: Fleet, target: Target) -> bool:
    """Whether a target itself is paused; a pause of its process or model does not count."""
    match target:
        case ProcessKey():
            process = fleet.processes.get(target)
            return process is not None and process.paused
        case ModelKey():
            process = fleet.processes.get(target.process)
            return process is not None and target.model in process.paused_models
        case TaskKey():
            task = fleet.tasks.get(target)
            return task is not None and "task" in task.row.paused
        case _:
            return False


def _all_held(action: Action, targets: Targets, fleet: Fleet) -> bool:
    del action
    return all(is_held(fleet, each) for each in targets)


def _fits_pause(action: Action, targets: Targets, fleet: Fleet) -> bool:
    return action.now or not _all_held(action, targets, fleet)


def _fits_requeue(action: Action, targets: Targets, fleet: Fleet) -> bool:
    del action
    return any(_has_errors(fleet, each) for each in targets)


def _fits_end(action: Action, targets: Targets, fleet: Fleet) -> bool:
    del action
    return all(_is_leftover(fleet, each) for each in targets)


def _fits_score(action: Action, targets: Targets, fleet: Fleet) -> bool:
    """Whether samples may be in flight: of a finished task, only finished samples are left."""
    return action.completed_only or not all(
        isinstance(each, TaskKey) and _has_ended(fleet, each) for each in targets
    )


def _fits_keep(action: Action, targets: Targets, fleet: Fleet) -> bool:
    kept = {_is_kept(fleet, each) for each in targets}
    return (action.verb is Verb.RELEASE) in kept


def _fits_recover(action: Action, targets: Targets, fleet: Fleet) -> bool:
    del action
    return any(isinstance(each, TaskKey) and _has_buffer(fleet, each) for each in targets)


_RULES: dict[Verb, Callable[[Action, Targets, Fleet], bool]] = {
    Verb.PAUSE: _fits_pause,
    Verb.RESUME: _all_held,
    Verb.KEEP: _fits_keep,
    Verb.RELEASE: _fits_keep,
    Verb.KILL: _fits_end,
    Verb.SCORE: _fits_score,
    Verb.REQUEUE: _fits_requeue,
    Verb.RECOVER: _fits_recover,
}


def _is_kept(fleet: Fleet, target: Target) -> bool:
    process = fleet.processes.get(process_of(target))
    return process is not None and bool(process.keep_alive)


def _is_leftover(fleet: Fleet, target: Target) -> bool:
    process = fleet.processes.get(process_of(target))
    return process is not None and (
        process.state is ProcessState.HEADLESS
        or (bool(process.tasks) and all(_has_ended(fleet, key) for key in process.tasks))
    )


def _has_ended(fleet: Fleet, key: TaskKey) -> bool:
    task = fleet.tasks.get(key)
    return task is None or task.state is not TaskState.RUNNING


def _has_buffer(fleet: Fleet, key: TaskKey) -> bool:
    task = fleet.tasks.get(key)
    return task is not None and task.header is not None and task.header.buffer is not None


def _has_errors(fleet: Fleet, target: Target) -> bool:
    if isinstance(target, SampleKey):
        task = fleet.tasks.get(target.task)
        sample = task.samples.get((target.sample_id, target.epoch)) if task is not None else None
        return sample is not None and sample.status in {"error", "cancelled"}
    task = fleet.tasks.get(target) if isinstance(target, TaskKey) else None
    return task is not None and bool(task.row.samples.errored)
