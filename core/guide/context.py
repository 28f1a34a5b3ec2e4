"""The input of a guide's steps: the fleet, the guide's own orders, and the time."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.fleet import Fleet
from core.guide.guide import Guide, GuideStep
from core.ids import ProcessKey, Target
from core.model.order import Order, OrderState
from core.model.process import Process
from core.model.task import Task, TaskState

GOOD = frozenset({OrderState.DONE, OrderState.NO_CHANGE})
Presence = Literal["there", "gone", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideContext:
    """A snapshot for the steps of one guide.

    Attributes:
        fleet: All that is known.
        orders: The orders of the guide's plans, newest first.
        now: Unix seconds at the desk.
    """

    fleet: Fleet
    orders: tuple[Order, ...]
    now: float

    def own(self, step: GuideStep) -> tuple[Order, ...]:
        """Return a step's orders, newest first."""
        return tuple(order for order in self.orders if order.plan in step.plans)

    def newest(self, step: GuideStep) -> dict[Target, Order]:
        """Return a step's newest order to each target."""
        return {order.target: order for order in reversed(self.own(step))}

    def process(self, key: ProcessKey) -> Process | None:
        """Return a process; None if it is known to be gone."""
        return None if self.fleet.is_gone(key) else self.fleet.processes[key]

    def presence(self, key: ProcessKey) -> Presence:
        """Return whether a process is there; unknown: its machine can't be reached now."""
        process = self.fleet.processes.get(key)
        if process is not None and process.is_gone:
            return "gone"
        machine = self.fleet.machines.get(key.machine)
        if machine is None or not machine.link.is_alive:
            return "unknown"
        if process is not None:
            return "there"
        return "gone" if machine.lists_all(self.now) else "unknown"

    def tasks(self, key: ProcessKey) -> tuple[Task, ...]:
        """Return the known tasks of a process."""
        process = self.fleet.processes.get(key)
        return () if process is None else tuple(self.fleet.tasks[each] for each in process.tasks)

    def running(self, key: ProcessKey) -> tuple[Task, ...]:
        """Return the tasks of a process that are not finished."""
        return tuple(task for task in self.tasks(key) if is_running(task))

    def is_quiet(self, key: ProcessKey) -> bool:
        """Whether no running task of a process has a sample in flight or held."""
        return all(task.row.quiesced and not task.row.held for task in self.running(key))


def is_running(task: Task) -> bool:
    """Whether a task runs: its row does not report that it is completed."""
    return task.state is TaskState.RUNNING and not task.row.is_completed


def of_guide(guide: Guide, orders: Iterable[Order]) -> tuple[Order, ...]:
    """Return the orders of a guide's plans, in the given order."""
    plans = {plan for step in guide.steps for plan in step.plans}
    return tuple(order for order in orders if order.plan in plans)
