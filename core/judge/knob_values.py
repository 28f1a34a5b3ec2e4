"""The value of a knob of a task, as far as the command line and the orders of the room tell."""

from core.fleet import Fleet
from core.ids import ProcessKey, Target, TaskKey
from core.model.action import Verb
from core.model.argv_knobs import launched_with
from core.model.order import OrderState
from core.model.task import Task


def knob_of(fleet: Fleet, task: Task, knob: str, *, of_process: bool) -> int | None:
    """Return the value of a knob: as the newest order set it, else as at launch.

    Args:
        fleet: All that is known.
        task: The task.
        knob: Its name, as `core.model.action.Change` has it.
        of_process: Whether the knob holds for the whole process, whichever task it was set on.

    Returns:
        None: no value is known; a config file or another room may have set one.
    """
    for order in fleet.orders:
        if order.action.verb is not Verb.CONFIG or order.state is not OrderState.DONE:
            continue
        if not _is_of(order.target, task, of_process=of_process):
            continue
        values = [change.value for change in order.action.changes if change.knob == knob]
        if values and values[-1] is None:
            break  # it was cleared: the value at launch holds
        if values:
            return values[-1]
    process = fleet.processes.get(task.key.process)
    return launched_with(process.argv, knob) if process is not None else None


def _is_of(target: Target, task: Task, *, of_process: bool) -> bool:
    if isinstance(target, TaskKey):
        return target == task.key or (of_process and target.process == task.key.process)
    return isinstance(target, ProcessKey) and target == task.key.process
