"""TARGET of an action: the words that the reads take, and samples, processes, machines.

machine:task-id-prefix      a task, by any unambiguous part (core.task_targets)
TASK#ID or TASK#ID/EPOCH    one of its samples
machine:PID or PID          a process
machine:                    every process of a machine
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.act.target_expansion import ActionPlace, live_processes, running_tasks, with_model
from core.errors import TargetUnclear, UsageWrong
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.action import OFFERS, Action, Scope, Verb
from core.task_targets import find_task
from core.text import shown

_PID = re.compile(r"[0-9]{1,10}\Z")
_SAMPLE = re.compile(r"(?P<task>.+?)#(?P<id>.+?)(?:/(?P<epoch>[0-9]{1,9}))?\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """The targets that a command's words name.

    Attributes:
        targets: As typed.
        model: Act on this model, in the processes that are named.
        everything: Act on everything that the action applies to.
        on: Only on this machine.
        errored: Act on the errored samples of the tasks.
    """

    targets: Sequence[str] = ()
    model: str | None = None
    everything: bool = False
    on: str | None = None
    errored: bool = False


def action_named(name: str) -> Action:
    """Return the action that a command's word means: its name in a menu.

    Raises:
        UsageWrong: There is no such action.
    """
    for offer in OFFERS:
        if name == offer.name:
            return offer.action
    names = ", ".join(
        dict.fromkeys(offer.name for offer in OFFERS if offer.action.verb is not Verb.CONFIG)
    )
    raise UsageWrong(f"there is no action {shown(name, 40)}", f"the actions are {names}")


def places_of(spec: TargetSpec, action: Action, fleet: Fleet) -> tuple[ActionPlace, ...]:
    """Return the places that the words name.

    Raises:
        UsageWrong: They name nothing, or the action does not apply to what they name.
        TargetUnclear: A word fits nothing, or several things.
    """
    machine = _machine(spec.on, fleet) if spec.on is not None else None
    scopes: set[Scope] = {each.scope for each in OFFERS if each.action.verb is action.verb}
    if action.verb is Verb.REQUEUE:  # on a larger scope it means all errored samples
        scopes |= {"task", "process"}
    if spec.model is not None:
        return _models(spec, action, fleet, machine, scopes)
    if spec.errored and action.verb is not Verb.REQUEUE:
        raise UsageWrong(f"--errored works only with requeue, not with {action.verb}")
    if not spec.targets:
        if not (spec.everything or machine is not None):
            raise UsageWrong("no TARGET", "name one, or use --all or --on MACHINE")
        return _all(fleet, machine, scopes, everything=spec.everything)
    found: dict[ActionPlace, None] = {}
    for word in spec.targets:
        found[_place(word, fleet, scopes)] = None
    return tuple(place for place in found if machine in {None, _machine_of(place)})


def _models(
    spec: TargetSpec,
    action: Action,
    fleet: Fleet,
    machine: MachineName | None,
    scopes: Iterable[Scope],
) -> tuple[ActionPlace, ...]:
    model = spec.model or ""
    if "model" not in scopes:
        raise UsageWrong(f"--model works only with pause and resume, not with {action.verb}")
    among: list[ProcessKey] = []
    for word in spec.targets:
        place = _place(word, fleet, {"task", "process"})
        among += live_processes(fleet, place) if isinstance(place, str) else [_process(place)]
    chosen = among if spec.targets else live_processes(fleet, machine)
    found = with_model(fleet, model, chosen)
    if not found:
        raise UsageWrong(
            f"no selected process runs {shown(model)}", "list the exact names: evalroom status"
        )
    return found


def _process(place: ActionPlace) -> ProcessKey:
    match place:
        case ProcessKey():
            return place
        case SampleKey():
            return place.task.process
        case str():
            raise UsageWrong(f"{shown(place)} is a machine, not a process")
        case _:
            return place.process


def _machine_of(place: ActionPlace) -> str:
    return place if isinstance(place, str) else _process(place).machine


def _all(
    fleet: Fleet, machine: MachineName | None, scopes: set[Scope], *, everything: bool
) -> tuple[ActionPlace, ...]:
    """Return every running task where the action applies to tasks, else every process.

    `--on MACHINE` alone means the machine's processes, where the action applies to them.
    """
    if "task" in scopes and (everything or "process" not in scopes):
        return tuple(key for key in running_tasks(fleet) if machine in {None, key.machine})
    return live_processes(fleet, machine)


def _machine(word: str, fleet: Fleet) -> MachineName:
    for name in fleet.machines:
        if name == word:
            return name
    names = ", ".join(fleet.machines)
    raise TargetUnclear(f"there is no machine {shown(word)}", f"the machines are {names}")


def _place(word: str, fleet: Fleet, scopes: Iterable[Scope]) -> ActionPlace:
    machine, colon, rest = word.rpartition(":")
    if colon and not rest and machine in fleet.machines:
        return MachineName(machine)
    if "process" in scopes and _PID.match(rest):
        found = _pids(fleet, machine, int(rest))
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(f"{key.machine}:{key.pid}" for key in found)
            raise TargetUnclear(
                f"several machines have a process {rest}: {names}", "name it as machine:PID"
            )
    named = _SAMPLE.match(word)
    if named is not None and "sample" in scopes:
        task = find_task(fleet, named["task"])
        return _sample(fleet, task, named["id"], named["epoch"])
    return find_task(fleet, word)


def _pids(fleet: Fleet, machine: str, pid: int) -> list[ProcessKey]:
    return [
        key
        for key, process in fleet.processes.items()
        if key.pid == pid and not process.is_gone and (not machine or key.machine == machine)
    ]


def _sample(fleet: Fleet, task: TaskKey, named: str, epoch: str | None) -> SampleKey:
    known = fleet.tasks[task]
    if epoch is None and (known.row.epochs or 1) > 1:
        raise TargetUnclear(
            f"{shown(known.row.task)} runs {known.row.epochs} epochs",
            f"name one epoch: TASK#{shown(named, 40)}/EPOCH",
        )
    number = int(epoch or 1)
    # Whether an id is a number or text is known from the listed samples.
    for sample_id, its_epoch in known.samples:
        if str(sample_id) == named and its_epoch == number:
            return SampleKey(task, sample_id, number)
    return SampleKey(task, named, number)
