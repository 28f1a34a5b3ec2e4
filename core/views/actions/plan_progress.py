"""The progress of a confirmed plan: the outcome of each step, and steps to confirm again."""

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
    report: OrderReport | None = None


class PlanProgress:
    """The progress of one plan from its confirmation until it is dismissed.

    Attributes:
        plan: The plan as it was confirmed first.
        is_running: Whether it is being executed.
        updated: Emitted when the outcome of a step or the state of the plan changed.
        failed: Why its execution was interrupted; None: it was not.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.is_running = False
        self.failed: Shown | None = None
        self._lines = [_Line(step) for step in plan.steps]
        self._now = list(range(len(plan.steps)))
        """Indexes of the lines whose steps are being executed now."""
        self.updated: Signal[None] = Signal()

    def record(self, report: OrderReport) -> None:
        """Record the outcome of one step of the plan that is being executed."""
        line = self._lines[self._now[report.index]]
        line.report, line.step = report, report.step
        self.updated.emit(None)

    def begin(self) -> None:
        """Record that the execution begins."""
        self.is_running = True
        self.updated.emit(None)

    def end(self, failed: Shown | None = None) -> None:
        """Record that the execution ended; `failed` says why it was interrupted."""
        self.is_running, self.failed = False, failed
        self.updated.emit(None)

    def changed(self) -> Plan | None:
        """Return a plan of the steps whose target changed and that were previewed again.

        None while the plan is being executed, or if no target changed.
        """
        if self.is_running:
            return None
        steps = tuple(line.step for line in self._lines if _has_changed(line))
        return replace(self.plan, steps=steps) if steps else None

    def begin_changed(self) -> Plan | None:
        """Begin the plan of `changed` and return it; later outcomes belong to its steps."""
        plan = self.changed()
        if plan is not None:
            self._now = [index for index, line in enumerate(self._lines) if _has_changed(line)]
            for index in self._now:
                self._lines[index].report = None
            self.begin()
        return plan

    def outcomes(self, orders: Iterable[Order]) -> Sequence[TargetOutcome]:
        """Return the outcome of each step.

        Args:
            orders: The orders of the fleet; an unknown outcome may have become known there.
        """
        ids = {line.report.order for line in self._lines if line.report is not None}
        known = {order.id: order for order in orders if order.id in ids}
        return [self._outcome(line, known) for line in self._lines]

    def _outcome(self, line: _Line, known: dict[str, Order]) -> TargetOutcome:
        step, report = line.step, line.report
        if report is None:
            if not self.is_running:
                why = "the execution was interrupted: check the target before you retry"
                return TargetOutcome(where=step.where, name=step.name, state="unknown", message=why)
            return TargetOutcome(where=step.where, name=step.name, state=WAITING)
        if report.outcome is None:
            fields = ", ".join(step.moved)
            return TargetOutcome(where=step.where, name=step.name, state=CHANGED, message=fields)
        order = known.get(report.order or "")
        state, message = report.outcome.state, report.outcome.message
        if order is not None and not order.is_open:
            state, message = order.state, order.message
        elif order is not None and order.message:
            message = order.message
        return TargetOutcome(where=step.where, name=step.name, state=state, message=message)


def _has_changed(line: _Line) -> bool:
    return line.report is not None and line.report.outcome is None
