"""A confirmed plan on its way: what was told of each step, and what asks to be confirmed again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.act.executor import OrderReport
from core.act.plan import Plan, Step
from core.model.order import Order
from core.signal import Signal
from core.text import Shown
from core.views.actions.outcome_lines import CHANGED, WAITING, TargetOutcome


@dataclass(slots=True)
class _Line:
    step: Step
    told: OrderReport | None = None


class PlanProgress:
    """One plan from its confirmation until it is dismissed.

    Attributes:
        is_running: Orders of it are still on their way.
        updated: Emitted when one of the steps, or the whole, changed.
        failed: Why carrying it out broke off; None: it did not.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.is_running = False
        self.failed: Shown | None = None
        self._lines = [_Line(step) for step in plan.steps]
        self._now = list(range(len(plan.steps)))
        """Which of the lines the plan that is carried out now consists of."""
        self.updated: Signal[None] = Signal()

    def tell(self, told: OrderReport) -> None:
        """Take in what became of one step of the plan that is carried out now."""
        line = self._lines[self._now[told.index]]
        line.told, line.step = told, told.step
        self.updated.emit(None)

    def begin(self) -> None:
        """Orders leave."""
        self.is_running = True
        self.updated.emit(None)

    def end(self, failed: Shown | None = None) -> None:
        """Nothing of it is on its way any more."""
        self.is_running, self.failed = False, failed
        self.updated.emit(None)

    def changed(self) -> Plan | None:
        """Return the plan of what changed since its preview and was previewed again.

        None while orders are on their way, or when nothing did.
        """
        if self.is_running:
            return None
        steps = tuple(line.step for line in self._lines if _has_changed(line))
        return replace(self.plan, steps=steps) if steps else None

    def go_on(self) -> Plan | None:
        """Begin the plan that `changed` returns: what is told from now on is of its steps."""
        plan = self.changed()
        if plan is not None:
            self._now = [index for index, line in enumerate(self._lines) if _has_changed(line)]
            for index in self._now:
                self._lines[index].told = None
            self.begin()
        return plan

    def became(self, orders: Iterable[Order]) -> Sequence[TargetOutcome]:
        """Return what became of each step, with what a later look found out.

        Args:
            orders: Those of the fleet: an unknown outcome is resolved there.
        """
        ids = {line.told.order for line in self._lines if line.told is not None}
        known = {order.id: order for order in orders if order.id in ids}
        return [self._became(line, known) for line in self._lines]

    def _became(self, line: _Line, known: dict[str, Order]) -> TargetOutcome:
        step, told = line.step, line.told
        if told is None:
            if not self.is_running:
                why = "carrying it out broke off: look before doing it again"
                return TargetOutcome(where=step.where, name=step.name, state="unknown", message=why)
            return TargetOutcome(where=step.where, name=step.name, state=WAITING)
        if told.outcome is None:
            fields = ", ".join(step.moved)
            return TargetOutcome(where=step.where, name=step.name, state=CHANGED, message=fields)
        order = known.get(told.order or "")
        state, message = told.outcome.state, told.outcome.message
        if order is not None and not order.is_open:
            state, message = order.state, order.message
        elif order is not None and order.message:
            message = order.message
        return TargetOutcome(where=step.where, name=step.name, state=state, message=message)


def _has_changed(line: _Line) -> bool:
    return line.told is not None and line.told.outcome is None
