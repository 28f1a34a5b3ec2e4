"""Which plan is taken back next, from the orders that are known."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.act import target_labels
from core.act.plan import Plan, Step
from core.act.planner import Wish
from core.act.preconditions import name_of
from core.fleet import Fleet
from core.format import plural
from core.ids import Address
from core.model.action import Action, Verb
from core.model.order import Basis, Order, OrderState
from core.text import shown

_MARK = "undo-"
"""What the id of a plan begins with that takes another one back."""
_GOOD = frozenset({OrderState.DONE, OrderState.NOOP})


@dataclass(frozen=True, slots=True)
class Undoing:
    """What of a plan is still to be taken back.

    Attributes:
        plan: Its id; empty: there is none.
        orders: Of it, newest first.
    """

    plan: str
    orders: tuple[Order, ...]

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What takes them back."""
        return tuple((each.undo, each.target) for each in self.orders if each.undo is not None)


def undoing_of(orders: Sequence[Order], operator: str, *, but: Collection[str] = ()) -> Undoing:
    """Return the newest plan of an operator of which something can be taken back.

    What was itself an undo is not undone again: that would only swing to and fro. Each order of
    an undo stands for the one order before it, to the same target, that it took back; so what
    was done again since can be undone again, and what an undo failed to bring back can too.

    Args:
        orders: Newest first.
        operator: Whose.
        but: Ids of plans that are passed over.
    """
    back: Counter[Address] = Counter()
    plan, found = "", list[Order]()
    for order in orders:
        if order.instance.operator != operator:
            continue
        if is_undo(order.plan):
            back[order.address] += order.state in _GOOD
        elif order.undo is None or order.state is not OrderState.DONE:
            continue
        elif back[order.address]:
            back[order.address] -= 1
        elif order.plan not in but and plan in {"", order.plan}:
            plan = order.plan
            found.append(order)
    return Undoing(plan, tuple(found))


def undo_title(undoing: Undoing, fleet: Fleet) -> str:
    """Return what the plan is called that takes these orders back: what is undone, of what."""
    first = undoing.orders[0]
    now = " now" if first.action.now else ""
    targets = {order.target for order in undoing.orders}
    label = target_labels.name_of(first.target, fleet)
    one = f"{label} on {target_labels.where_of(first.target, fleet)}"
    whose = one if len(targets) == 1 else plural(len(targets), "target")
    return f"Undo {first.action.verb}{now}: {whose}"


def undo_wishes(orders: Sequence[Order], operator: str) -> tuple[Wish, ...]:
    """Return what takes back the newest plan that can be taken back; newest order first."""
    return undoing_of(orders, operator).wishes


def is_undo(plan: str) -> bool:
    """Whether a plan of that id took another one back."""
    return plan.startswith(_MARK)


def as_undo(plan: Plan, undoing: Undoing) -> Plan:
    """Return a plan as one that takes back: marked, and it notes what others changed since."""
    steps = tuple(
        _noted(step, order) for step, order in zip(plan.steps, undoing.orders, strict=True)
    )
    return replace(plan, id=_MARK + plan.id, steps=steps)


def _noted(step: Step, order: Order) -> Step:
    if step.preview is None or not step.is_sent:
        return step
    moved = _moved(order.action, step.basis)
    if not moved:
        return step
    note = f"changed by somebody else since: {', '.join(moved)}; this takes that away too"
    preview = replace(step.preview, notes=(note, *step.preview.notes))
    return replace(step, preview=preview)


def _moved(action: Action, now: Basis) -> list[str]:
    """Return what is no longer as an action left it, in words."""
    match action.verb:
        case Verb.PAUSE | Verb.RESUME:
            left = "none" if action.verb is Verb.RESUME else "hard" if action.now else "soft"
            is_so = now.get("pause") in {None, left}
            return [] if is_so else [f"its pause is {shown(now.get('pause'))} now"]
        case Verb.CONFIG:
            return [
                f"{shown(name, 60)} is {shown(now[name], 60)} now"
                for name, value in ((name_of(each), each.value) for each in action.changes)
                if name in now and value is not None and now[name] != value
            ]
        case _:
            return []
