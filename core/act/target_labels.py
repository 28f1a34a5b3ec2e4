"""Labels of targets: on screen, in the journal, and typed to confirm an action."""

from core.act.sample_targets import known_ids, sample_id_name
from core.fleet import Fleet
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.text import Shown, shown

_MAX_LENGTH = 60
"""Characters of a label."""


def target_label(target: Target, fleet: Fleet) -> Shown:
    """Return a target's own name; an operator types it to confirm an action on it."""
    match target:
        case SampleKey():
            named = sample_id_name(target, known_ids(fleet, target.task))
            return shown(f"{named}/{target.epoch}", _MAX_LENGTH)
        case TaskKey():
            task = fleet.tasks.get(target)
            named = task.row.task if task is not None else ""
            return shown(named or target.task_id or "task", _MAX_LENGTH)
        case ModelKey():
            return shown(target.model, _MAX_LENGTH)
        case ProcessKey():
            return shown(target.pid)


def target_location(target: Target, fleet: Fleet) -> Shown:
    """Return where a target is: its machine, and the process or task that holds it."""
    match target:
        case SampleKey():
            return shown(
                f"{target.task.machine} {target_label(target.task, fleet)}", 2 * _MAX_LENGTH
            )
        case TaskKey():
            return shown(target.machine)
        case ModelKey():
            return shown(f"{target.process.machine}:{target.process.pid}")
        case ProcessKey():
            return shown(target.machine)
