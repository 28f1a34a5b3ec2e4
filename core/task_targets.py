"""Finds the task that a command's TARGET names: `machine:task-id` or an unambiguous part.

`@machine:PID:task-id`, with the task id escaped, is the full name of a task: it has one reading
only. All other words are compared with the names as they are and with their escapes resolved.
"""

import re
from collections.abc import Callable, Sequence

from core.errors import TargetUnclear, TargetUnknown
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.task import Task
from core.target_escapes import escaped, readings, unescaped
from core.text import Shown, shown

FULL = "@"
"""A full name begins with it; no machine's name does."""
MAX_NAMED = 10
"""Candidates that a message lists."""
_MAX_LENGTH = 1_000
"""Characters of a full name that are shown."""
_FULL_TASK = re.compile(r"@([^:]*):([0-9]{1,10}):(.*)\Z", re.DOTALL)


def find_task(fleet: Fleet, target: str) -> TaskKey:
    """Return the one task that `target` names.

    Before the `:` comes the name of a machine. The rest is a task id, a task name or its last
    part (after `/`); if no task has that, the beginning of a task id, then the beginning of a
    name's last part, then a part of the name, then a part of the model's name. Without a machine,
    the word must fit on one machine only, whichever of these it is.

    Args:
        fleet: All that is known.
        target: The TARGET as typed.

    Raises:
        TargetUnclear: It fits nothing, or several tasks; the message lists them.
    """
    found = fitting_tasks(fleet, target)
    if len(found) == 1:
        return found[0]
    if found:
        raise several(target, [_with_task(fleet, key) for key in found])
    if not fleet.tasks:
        raise TargetUnknown(
            f"no task matches {shown(target)}: no task is known",
            "list them with: evalroom status",
            machine=_machine_of(fleet, target),
        )
    raise TargetUnknown(
        f"no task matches {shown(target)}; the tasks are {_list(fleet, list(fleet.tasks))}",
        "name one of these: machine:task-id",
        machine=_machine_of(fleet, target),
    )


def _machine_of(fleet: Fleet, target: str) -> MachineName | None:
    if target.startswith(FULL):
        return MachineName(target.removeprefix(FULL).partition(":")[0])
    return machine_and_rest(fleet, target)[0]


def fitting_tasks(fleet: Fleet, target: str) -> tuple[TaskKey, ...]:
    """Return the tasks that `target` fits; several: it is ambiguous.

    Raises:
        TargetUnclear: It names a machine that the config does not have.
    """
    if target.startswith(FULL):
        return _fully_named(fleet, target)
    machine, rest = machine_and_rest(fleet, target)
    machines = _machines(fleet) if machine is None else [machine]
    found = [_on_machine(fleet, name, rest) for name in machines]
    return tuple(key for each in found for key in each)


def exactly_named(fleet: Fleet, target: str) -> tuple[TaskKey, ...]:
    """Return the tasks whose id or name `target` gives in full."""
    return tuple(
        key
        for key in fitting_tasks(fleet, target)
        if target.startswith(FULL)
        or any(
            _is_exact(fleet.tasks[key], text, text.casefold())
            for text in readings(machine_and_rest(fleet, target)[1])
        )
    )


def machine_and_rest(fleet: Fleet, target: str) -> tuple[MachineName | None, str]:
    """Return the machine before the first `:`, None without a `:`, and the rest.

    A `:` after a `#` belongs to a sample's id.

    Raises:
        TargetUnclear: The config has no such machine.
    """
    machine, colon, rest = target.partition(":")
    if not colon or "#" in machine:
        return None, target
    known = _machines(fleet)
    if machine not in known:
        raise TargetUnclear(
            f"{shown(target)} names a machine {shown(repr(machine))} that the config doesn't have;"
            f" the machines are {shown(', '.join(known), 400)}",
            "write machine:task-id; a `:` within a name is %3A",
        )
    return MachineName(machine), rest


def task_name(fleet: Fleet, key: TaskKey) -> Shown:
    """Return a name of a task that `find_task` reads as this task."""
    short = f"{key.machine}:{escaped(key.task_id)}"
    if fitting_tasks(fleet, short) == (key,):
        return shown(short, _MAX_LENGTH)
    return shown(full_task_name(key), _MAX_LENGTH)


def full_task_name(key: TaskKey) -> str:
    """Return the name of a task that has one reading only."""
    return f"{FULL}{key.machine}:{key.process.pid}:{escaped(key.task_id)}"


def several(target: str, names: Sequence[str]) -> TargetUnclear:
    """Return the error for a target that fits several things; it lists their names."""
    more = len(names) - MAX_NAMED
    listed = ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return TargetUnclear(
        f"{shown(target)} has {len(names)} readings: {listed}", "type one of these names"
    )


def processes_with_pid(fleet: Fleet, machine: str, pid: int) -> list[ProcessKey]:
    """Return the live processes with this pid on a machine; if none lives, those that are gone."""
    found = [key for key in fleet.processes if key.pid == pid and key.machine == machine]
    return [key for key in found if not fleet.processes[key].is_gone] or found


def _fully_named(fleet: Fleet, target: str) -> tuple[TaskKey, ...]:
    parts = _FULL_TASK.match(target)
    task_id = None if parts is None else unescaped(parts[3])
    if parts is None or task_id is None:
        return ()
    pids = processes_with_pid(fleet, parts[1], int(parts[2]))
    return tuple(key for each in pids if (key := TaskKey(each, task_id)) in fleet.tasks)


def _machines(fleet: Fleet) -> list[MachineName]:
    return list(fleet.machines) or list(dict.fromkeys(key.machine for key in fleet.tasks))


def _on_machine(fleet: Fleet, machine: MachineName, rest: str) -> list[TaskKey]:
    """Return the tasks of one machine that fit by the first rule that fits any."""
    tasks = [task for key, task in fleet.tasks.items() if key.machine == machine]
    texts = [(text, text.casefold()) for text in readings(rest)]
    for rule in _RULES:
        fits = [
            task.key for task in tasks if any(rule(task, text, folded) for text, folded in texts)
        ]
        if fits:
            return fits
    return []


def _leaf(task: Task) -> str:
    return task.row.task.rsplit("/", 1)[-1].casefold()


def _is_exact(task: Task, text: str, folded: str) -> bool:
    is_id = bool(text) and task.key.task_id == text
    return is_id or folded in {task.row.task.casefold(), _leaf(task)}


_RULES: tuple[Callable[[Task, str, str], bool], ...] = (
    _is_exact,
    lambda task, text, _: bool(text) and task.key.task_id.startswith(text),
    lambda task, _, folded: _leaf(task).startswith(folded),
    lambda task, _, folded: folded in task.row.task.casefold(),
    lambda task, _, folded: folded in task.row.model.casefold(),
)


def _list(fleet: Fleet, keys: Sequence[TaskKey]) -> str:
    named = [_with_task(fleet, key) for key in keys[:MAX_NAMED]]
    more = len(keys) - MAX_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _with_task(fleet: Fleet, key: TaskKey) -> str:
    return f"{task_name(fleet, key)} ({shown(fleet.tasks[key].row.task, 60)})"
