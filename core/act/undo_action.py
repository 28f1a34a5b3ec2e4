"""What takes an action back, as far as anything does."""

from core.act.preconditions import name_of
from core.ids import ProcessKey, SampleKey, Target
from core.model.action import CLEARABLE, Action, Change, Verb
from core.model.order import Basis

_PAUSES = {
    "none": Action(verb=Verb.RESUME),
    "soft": Action(verb=Verb.PAUSE),
    "hard": Action(verb=Verb.PAUSE, now=True),
}


def undo_of(action: Action, target: Target, basis: Basis, *, is_over: bool) -> Action | None:
    """Return the action that brings back what was before; None: nothing does.

    Args:
        action: What is done.
        target: To what.
        basis: What was before.
        is_over: Whether the process's tasks are all finished: a parked one that is released
            ends, and no keep brings it back.
    """
    match action.verb:
        case Verb.PAUSE | Verb.RESUME:
            return _PAUSES.get(str(basis.get("pause")))
        case Verb.KEEP:
            return Action(verb=Verb.RELEASE)
        case Verb.RELEASE:
            return None if is_over and isinstance(target, ProcessKey) else Action(verb=Verb.KEEP)
        case Verb.CONFIG:
            return _former(action, basis)
        case _:
            return None


def _former(action: Action, basis: Basis) -> Action | None:
    former: list[Change] = []
    for change in action.changes:
        value = basis.get(name_of(change))
        if isinstance(value, bool) or not (value is None or isinstance(value, int)):
            return None  # several values were under one knob: none of them brings all back
        if value is None and change.knob not in CLEARABLE:
            return None
        former.append(Change(change.knob, value, change.key, change.model))
    return Action(verb=Verb.CONFIG, changes=tuple(former))


def undo_sentence(action: Action, undo: Action | None, target: Target | None = None) -> str:
    """Return how an action is undone, for its preview."""
    if undo is not None:
        return "can be undone"
    match action.verb:
        case Verb.REQUEUE:
            return "can't be undone (while it waits, cancel takes it out of the queue again)"
        case Verb.CANCEL if isinstance(target, SampleKey):
            return "can't be undone; one that ends cancelled or errored can be requeued"
        case Verb.DRAIN | Verb.CANCEL:
            return "can't be undone; what is abandoned can be run later with inspect eval-retry"
        case _:
            return "can't be undone"
