"""TARGET of an action: the words that the reads take, and samples, processes, machines.

machine:task-id-prefix      a task, by any unambiguous part (core.task_targets)
TASK#ID or TASK#ID/EPOCH    one of its samples (core.act.sample_targets)
machine:PID or PID          a process
machine:                    every process of a machine

Each has a full name with one reading only: `@machine:PID`, `@machine:PID:task-id`,
`@machine:PID:task-id#ID/EPOCH`, with task ids and sample ids escaped (core.target_escapes). A
word with several readings is refused, with their full names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.act.sample_targets import (
    NO_LISTINGS,
    Listings,
    full_sample_name,
    has_twin,
    listed_samples,
    possible_samples,
    sample_name,
    tasks_of_samples,
    twin_sentence,
)
from core.act.target_expansion import ActionPlace, live_processes, running_tasks, with_model
from core.errors import TargetUnclear, UsageWrong
from core.fleet import Fleet
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, TaskKey
from core.model.action import OFFERS, Action, Scope, Verb
from core.task_targets import (
    FULL,
    exactly_named,
    find_task,
    fitting_tasks,
    full_task_name,
    machine_and_rest,
    processes_with_pid,
    several,
    task_name,
)
from core.text import shown

_PID = re.compile(r"[0-9]{1,10}\Z")
_ALL: frozenset[Scope] = frozenset({"sample", "task", "process"})


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
        UsageWrong: No such action.
    """
    for offer in OFFERS:
        if name == offer.name:
            return offer.action
    names = ", ".join(
        dict.fromkeys(offer.name for offer in OFFERS if offer.action.verb is not Verb.CONFIG)
    )
    raise UsageWrong(f"no action is called {shown(name, 40)}", f"the actions are {names}")


def tasks_to_list(spec: TargetSpec, fleet: Fleet) -> tuple[TaskKey, ...]:
    """Return the tasks whose samples must be listed to know which samples the words name.

    Raises:
        TargetUnclear: A word before a `#` fits several tasks.
    """
    words = [_on(spec.on, word, fleet) for word in spec.targets if "#" in word]
    return tuple(dict.fromkeys(task for word in words for task in tasks_of_samples(fleet, word)))


def places_of(
    spec: TargetSpec, action: Action, fleet: Fleet, listings: Listings = NO_LISTINGS
) -> tuple[ActionPlace, ...]:
    """Return the places that the words name.

    Args:
        spec: The words.
        action: The action on the places.
        fleet: All that is known.
        listings: All samples of the tasks of `tasks_to_list`, as far as they could be listed.

    Raises:
        UsageWrong: They name nothing, or the action does not apply to what they name.
        TargetUnclear: A word fits nothing, or several things.
    """
    machine = _machine(spec.on, fleet) if spec.on is not None else None
    scopes: set[Scope] = {each.scope for each in OFFERS if each.action.verb is action.verb}
    if action.verb is Verb.REQUEUE:  # on a larger scope it means all errored samples
        scopes |= {"task", "process"}
    if spec.model is not None:
        return _models(spec, action, fleet, scopes)
    if spec.errored and action.verb is not Verb.REQUEUE:
        raise UsageWrong(f"--errored works only with requeue, not with {action.verb}")
    if not spec.targets:
        if not (spec.everything or machine is not None):
            raise UsageWrong("no TARGET was given", "name one, or use --all or --on MACHINE")
        return _all(fleet, machine, scopes, everything=spec.everything)
    found: dict[ActionPlace, None] = {}
    for word in spec.targets:
        found[_place(_on(spec.on, word, fleet), fleet, scopes, listings)] = None
    return tuple(found)


def place_named(word: str, fleet: Fleet) -> ActionPlace:
    """Return the one place that a word names, of any kind; only listed samples have names here.

    Raises:
        TargetUnclear: It fits nothing, or several things.
    """
    return _place(word, fleet, _ALL, NO_LISTINGS)


def _on(machine: str | None, word: str, fleet: Fleet) -> str:
    """Return a word as a target on `machine`; None: as it is.

    Raises:
        TargetUnclear: It names another machine.
    """
    if machine is None:
        return word
    named, _ = machine_and_rest(fleet, word.removeprefix(FULL))
    if named is None:
        return f"{machine}:{word}"
    if named != machine:
        raise TargetUnclear(
            f"{shown(word)} is not on {shown(machine)}, the machine of --on",
            "leave out one of the two",
        )
    return word


def _models(
    spec: TargetSpec,
    action: Action,
    fleet: Fleet,
    scopes: Iterable[Scope],
) -> tuple[ActionPlace, ...]:
    machine = _machine(spec.on, fleet) if spec.on is not None else None
    model = spec.model or ""
    if "model" not in scopes:
        raise UsageWrong(f"--model works only with pause and resume, not with {action.verb}")
    among: list[ProcessKey] = []
    for word in spec.targets:
        place = _place(_on(spec.on, word, fleet), fleet, {"task", "process"}, NO_LISTINGS)
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
    raise TargetUnclear(f"no machine is called {shown(word)}", f"the machines are {names}")


def _place(word: str, fleet: Fleet, scopes: Iterable[Scope], listings: Listings) -> ActionPlace:
    """Return the one place that a word names.

    Raises:
        TargetUnclear: It fits nothing, or several things; the message lists their full names.
    """
    if not word.startswith(FULL):
        machine, rest = machine_and_rest(fleet, word)
        if machine is not None and not rest:
            return machine
    exact = _exact(word, fleet, scopes, listings)
    if not exact and "sample" in scopes:
        exact = possible_samples(fleet, word, listings)
    if len(exact) > 1:
        raise several(word, [_full_name(each, fleet, listings) for each in exact])
    if exact:
        return _alone(exact[0], fleet, listings)
    if "sample" in scopes and (task := _only_task_before_hash(fleet, word)) is not None:
        raise TargetUnclear(
            f"{shown(word)} matches no sample of {task_name(fleet, task)}",
            f"list them: evalroom samples {task_name(fleet, task)} --all",
        )
    return find_task(fleet, word)


def _alone(place: ActionPlace, fleet: Fleet, listings: Listings) -> ActionPlace:
    if isinstance(place, SampleKey) and has_twin(fleet, place, listings):
        raise TargetUnclear(twin_sentence(place))
    return place


def _exact(
    word: str, fleet: Fleet, scopes: Iterable[Scope], listings: Listings
) -> tuple[ActionPlace, ...]:
    """Return all processes, tasks and listed samples that a word names in full."""
    found: dict[ActionPlace, None] = {}
    if "process" in scopes:
        found |= dict.fromkeys(_processes(word, fleet))
    if "sample" in scopes and "#" in word:
        found |= dict.fromkeys(listed_samples(fleet, word, listings))
    if "task" in scopes:
        found |= dict.fromkeys(exactly_named(fleet, word))
    return tuple(found)


def _processes(word: str, fleet: Fleet) -> tuple[ProcessKey, ...]:
    """Return the processes whose pid a word is: `PID`, `machine:PID` or `@machine:PID`."""
    machine, rest = machine_and_rest(fleet, word.removeprefix(FULL))
    if not _PID.match(rest):
        return ()
    among = fleet.machines if machine is None else (machine,)
    return tuple(key for name in among for key in processes_with_pid(fleet, name, int(rest)))


def _only_task_before_hash(fleet: Fleet, word: str) -> TaskKey | None:
    found = tasks_of_samples(fleet, word)
    return found[0] if len(found) == 1 and not fitting_tasks(fleet, word) else None


def place_name(place: ActionPlace, fleet: Fleet, listings: Listings = NO_LISTINGS) -> str:
    """Return a name that a TARGET reads as this place; harmless to show."""
    short = _short_name(place, fleet, listings)
    is_process = isinstance(place, str | ModelKey)
    if is_process or _exact(short, fleet, _ALL, listings) == (place,):
        return short
    return _full_name(place, fleet, listings)


def _short_name(place: ActionPlace, fleet: Fleet, listings: Listings) -> str:
    match place:
        case SampleKey():
            return sample_name(fleet, place, listings)
        case TaskKey():
            return task_name(fleet, place)
        case ProcessKey():
            return f"{place.machine}:{place.pid}"
        case ModelKey():
            return f"{place.process.machine}:{place.process.pid}"
        case _:
            return f"{place}:"


def _full_name(place: ActionPlace, fleet: Fleet, listings: Listings) -> str:
    match place:
        case SampleKey():
            return full_sample_name(fleet, place, listings)
        case TaskKey():
            return full_task_name(place)
        case ProcessKey():
            return f"{FULL}{place.machine}:{place.pid}"
        case _:
            return _short_name(place, fleet, listings)
