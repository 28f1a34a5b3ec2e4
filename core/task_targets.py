"""Finds the task that a command's TARGET names: `machine:task-id` or an unambiguous part."""

from collections.abc import Callable

from core.errors import TargetUnclear
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.task import Task
from core.text import shown

_LISTED = 10


def find_task(fleet: Fleet, target: str) -> TaskKey:
    """Return the one task that `target` names.

    Before the `:` comes the name of a machine or its beginning. The rest is, in this order: a
    task id, its beginning, a task name or its last part (after `/`), the beginning of that last
    part, any part of the name, or a part of the model's name. The first rule that fits any task
    decides. So an exact name is not ambiguous when another name contains it.

    Args:
        fleet: All that is known.
        target: The TARGET as typed.

    Raises:
        TargetUnclear: It fits nothing, or several tasks; the message lists them.
    """
    machine, _, rest = target.rpartition(":")
    found = _found(fleet, machine, rest)
    if not found and ":" in target:
        # A task's own name may hold a colon.
        found = _found(fleet, "", target)
    if len(found) == 1:
        return found[0].key
    if found:
        raise TargetUnclear(
            f"{shown(target)} matches {len(found)} tasks: {_list(found)}",
            "give the full name of one: machine:task-id",
        )
    if not fleet.tasks:
        raise TargetUnclear(
            f"no task matches {shown(target)}: no task is known", "list them with: evalroom status"
        )
    raise TargetUnclear(
        f"no task matches {shown(target)}; the tasks are {_list(list(fleet.tasks.values()))}",
        "name one of these: machine:task-id",
    )


def _found(fleet: Fleet, machine: str, rest: str) -> list[Task]:
    names = [str(name) for name in fleet.machines] or [key.machine for key in fleet.tasks]
    exact = machine in names
    tasks = [
        task
        for key, task in fleet.tasks.items()
        if (key.machine == machine if exact else key.machine.startswith(machine))
    ]
    wanted = rest.casefold()
    for rule in _RULES:
        fits = [task for task in tasks if rule(task, rest, wanted)]
        if fits:
            return fits
    return []


def _leaf(task: Task) -> str:
    return task.row.task.rsplit("/", 1)[-1].casefold()


_RULES: tuple[Callable[[Task, str, str], bool], ...] = (
    lambda task, rest, _: bool(rest) and task.key.task_id == rest,
    lambda task, rest, _: bool(rest) and task.key.task_id.startswith(rest),
    lambda task, _, wanted: wanted in {task.row.task.casefold(), _leaf(task)},
    lambda task, _, wanted: _leaf(task).startswith(wanted),
    lambda task, _, wanted: wanted in task.row.task.casefold(),
    lambda task, _, wanted: wanted in task.row.model.casefold(),
)


def _list(tasks: list[Task]) -> str:
    named = [
        f"{task.key.machine}:{shown(task.key.task_id, 22)} ({shown(task.row.task, 60)})"
        for task in tasks[:_LISTED]
    ]
    more = len(tasks) - _LISTED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
