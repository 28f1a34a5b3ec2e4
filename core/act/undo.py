"""Undo: the action that reverses another, and which plan is undone next."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.act.plan import Plan, Step
from core.act.preconditions import knob_key, pause_words
from core.act.target_expansion import ActionRequest
from core.act.target_labels import target_label, target_location
from core.fleet import Fleet
from core.format import plural
from core.ids import Address, ProcessKey, SampleKey, Target
from core.model.action import CLEARABLE, Action, Change, Verb
from core.model.order import Basis, Order, OrderState
from core.text import shown

_UNDO_PREFIX = "undo-"
"""The prefix of the id of a plan that undoes another one."""
_GOOD = frozenset({OrderState.DONE, OrderState.NO_CHANGE})
_PAUSES = {
    "none": Action(verb=Verb.RESUME),
    "soft": Action(verb=Verb.PAUSE),
    "hard": Action(verb=Verb.PAUSE, now=True),
}


def undo_action(action: Action, target: Target, basis: Basis, *, is_over: bool) -> Action | None:
    """Return the action that restores the state before; None: no action can.

    Args:
        action: The action to undo.
        target: Its target.
        basis: The target's fields before the action.
        is_over: Whether the process's tasks are all finished: a parked process ends when it is
            released, and can no longer be kept.
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
        value = basis.get(knob_key(change))
        if isinstance(value, bool) or not (value is None or isinstance(value, int)):
            return None  # the knob had several values: no single one restores them
        if value is None and change.knob not in CLEARABLE:
            return None
        former.append(Change(change.knob, value, change.key, change.model))
    return Action(verb=Verb.CONFIG, changes=tuple(former))


def undo_sentence(action: Action, undo: Action | None, target: Target | None = None) -> str:
    """Return whether and how an action can be undone, for its preview."""
    if undo is not None:
        return "can be undone"
    match action.verb:
        case Verb.REQUEUE:
            return "can't be undone (while the sample is queued, cancel removes it from the queue)"
        case Verb.CANCEL if isinstance(target, SampleKey):
            return "can't be undone; a cancelled or errored sample can be requeued"
        case Verb.DRAIN | Verb.CANCEL:
            return "can't be undone; abandoned samples can be run later with inspect eval-retry"
        case _:
            return "can't be undone"


@dataclass(frozen=True, slots=True)
class UndoablePlan:
    """The orders of a plan that can be undone.

    Attributes:
        plan: The plan's id; empty if no plan can be undone.
        orders: Newest first.
    """

    plan: str
    orders: tuple[Order, ...]

    @property
    def requests(self) -> tuple[ActionRequest, ...]:
        """The requests that undo them."""
        return tuple((each.undo, each.target) for each in self.orders if each.undo is not None)


def newest_undoable(
    orders: Sequence[Order], operator: str, *, but: Collection[str] = ()
) -> UndoablePlan:
    """Return the newest plan of an operator of which an order can be undone.

    An undo can't be undone; otherwise `u` would toggle. Each order of an undo cancels out the
    one order to the same target that it undid. So an action that was repeated since can be undone
    again, and so can an action whose undo failed.

    Args:
        orders: Newest first.
        operator: The operator whose plans are considered.
        but: Ids of plans to skip.
    """
    undone: Counter[Address] = Counter()
    plan, found = "", list[Order]()
    for order in orders:
        if order.instance.operator != operator:
            continue
        if is_undo(order.plan):
            undone[order.address] += order.state in _GOOD
        elif order.undo is None or order.state is not OrderState.DONE:
            continue
        elif undone[order.address]:
            undone[order.address] -= 1
        elif order.plan not in but and plan in {"", order.plan}:
            plan = order.plan
            found.append(order)
    return UndoablePlan(plan, tuple(found))


def undo_title(undoable: UndoablePlan, fleet: Fleet) -> str:
    """Return the title of the plan that undoes these orders: their action and target."""
    first = undoable.orders[0]
    now = " now" if first.action.now else ""
    targets = {order.target for order in undoable.orders}
    label = target_label(first.target, fleet)
    one = f"{label} on {target_location(first.target, fleet)}"
    whose = one if len(targets) == 1 else plural(len(targets), "target")
    return f"Undo {first.action.verb}{now}: {whose}"


def undo_requests(orders: Sequence[Order], operator: str) -> tuple[ActionRequest, ...]:
    """Return the requests that undo the newest undoable plan, newest order first."""
    return newest_undoable(orders, operator).requests


def is_undo(plan: str) -> bool:
    """Return whether the plan of that id undid another one."""
    return plan.startswith(_UNDO_PREFIX)


def as_undo(plan: Plan, undoable: UndoablePlan) -> Plan:
    """Return a plan marked as an undo, with notes of what others changed since."""
    steps = tuple(
        _noted(step, order) for step, order in zip(plan.steps, undoable.orders, strict=True)
    )
    return replace(plan, id=_UNDO_PREFIX + plan.id, steps=steps)


def _noted(step: Step, order: Order) -> Step:
    if step.preview is None or not step.is_sent:
        return step
    moved = _moved(order.action, step.basis)
    if not moved:
        return step
    note = f"Someone else changed this since: {', '.join(moved)}. The undo reverts that too."
    preview = replace(step.preview, notes=(note, *step.preview.notes))
    return replace(step, preview=preview)


def _moved(action: Action, now: Basis) -> list[str]:
    """Return the fields, in words, whose values someone changed after an action set them."""
    match action.verb:
        case Verb.PAUSE | Verb.RESUME:
            left = "none" if action.verb is Verb.RESUME else "hard" if action.now else "soft"
            is_so = now.get("pause") in {None, left}
            return [] if is_so else [f"it is now {pause_words(now.get('pause'))}"]
        case Verb.CONFIG:
            return [
                f"{shown(name, 60)} is now {shown(now[name], 60)}"
                for name, value in ((knob_key(each), each.value) for each in action.changes)
                if name in now and value is not None and now[name] != value
            ]
        case _:
            return []
