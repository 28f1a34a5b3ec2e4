"""What a guide looks at: the fleet, its own orders, and now."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from core.fleet import Fleet
from core.guide.guide import Guide, GuideStep
from core.ids import ProcessKey, Target
from core.model.machine import LinkState
from core.model.order import Order, OrderState
from core.model.process import Process, ProcessState
from core.model.task import Task, TaskState

SETTLING = 5.0
"""Seconds after a link came up in which a process that is not listed may still be."""
GOOD = frozenset({OrderState.DONE, OrderState.NOOP})
Presence = Literal["there", "gone", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideContext:
    """What is known at one moment.

    Attributes:
        orders: Of the guide's plans, newest first.
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
        """Return a process that is still there as far as is known."""
        process = self.fleet.processes.get(key)
        return None if process is None or process.state is ProcessState.GONE else process

    def presence(self, key: ProcessKey) -> Presence:
        """Return whether a process is there; unknown: its machine can't be asked now."""
        process = self.fleet.processes.get(key)
        if process is not None and process.state is ProcessState.GONE:
            return "gone"
        machine = self.fleet.machines.get(key.machine)
        if machine is None or machine.link.state not in {LinkState.UP, LinkState.LAGGING}:
            return "unknown"
        if process is not None:
            return "there"
        is_listed = machine.probe is not None and self.now - machine.link.since > SETTLING
        return "gone" if is_listed else "unknown"

    def tasks(self, key: ProcessKey) -> tuple[Task, ...]:
        """Return the tasks of a process that are known."""
        process = self.fleet.processes.get(key)
        return () if process is None else tuple(self.fleet.tasks[each] for each in process.tasks)

    def running(self, key: ProcessKey) -> tuple[Task, ...]:
        """Return the tasks of a process that are not finished."""
        return tuple(task for task in self.tasks(key) if is_running(task))

    def is_quiet(self, key: ProcessKey) -> bool:
        """Whether nothing is in flight or held in any task of a process."""
        return all(task.row.quiesced and not task.row.held for task in self.running(key))


def is_running(task: Task) -> bool:
    """Whether a task's row does not say that it is finished."""
    return task.state is TaskState.RUNNING and task.row.status != "completed"


def of_guide(guide: Guide, orders: Iterable[Order]) -> tuple[Order, ...]:
    """Return the orders that came from a guide's plans, as they come."""
    plans = {plan for step in guide.steps for plan in step.plans}
    return tuple(order for order in orders if order.plan in plans)
