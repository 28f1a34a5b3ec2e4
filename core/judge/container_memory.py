"""What the containers of a task use, and what they will use once all its samples run."""

from dataclasses import dataclass

from core.fleet import Fleet
from core.fold.sandboxes import Sandbox
from core.model.argv_knobs import launched_with
from core.model.order import OrderState
from core.model.process import Process
from core.model.task import Task, TaskState

SANDBOXES_PER_CPU = 2
"""Inspect's default for `max_sandboxes`, for each CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerUse:
    """The memory of the containers of a task.

    Attributes:
        task: The task.
        samples: How many of its samples hold containers whose memory is known.
        total: Bytes that those use.
        at_once: How many samples it will run at once at most, as far as that is known.
    """

    task: Task
    samples: int
    total: int
    at_once: int

    @property
    def each(self) -> float:
        """Bytes that the containers of one sample use, on average."""
        return self.total / self.samples


def container_use(
    fleet: Fleet, task: Task, process: Process, boxes: list[Sandbox], cpus: float | None
) -> ContainerUse | None:
    """Return what the containers of a task use; None: it does not run, or nothing is measured."""
    if task.state is not TaskState.RUNNING:
        return None
    measured = [
        sum(each.memory or 0 for each in box.containers)
        for box in boxes
        if any(each.memory for each in box.containers)
    ]
    if not measured:
        return None
    return ContainerUse(
        task=task,
        samples=len(measured),
        total=sum(measured),
        at_once=_at_once(fleet, task, process, len(boxes), cpus),
    )


def room_for(use: ContainerUse, free: float) -> int:
    """Return how many samples fit at once if so many bytes may still be used; at least 1."""
    return max(1, use.samples + int(free // use.each))


def max_samples_of(fleet: Fleet, task: Task, process: Process) -> int | None:
    """Return how many samples a task may run at once; None: not known.

    The newest order that set it counts, then the command line.
    """
    for order in fleet.orders:
        if order.state is OrderState.DONE and order.target == task.key:
            for change in order.action.changes:
                if change.knob == "max_samples":
                    return change.value
    return launched_with(process.argv, "max_samples")


def _at_once(fleet: Fleet, task: Task, process: Process, held: int, cpus: float | None) -> int:
    allowed = max_samples_of(fleet, task, process)
    if allowed is None:
        return held
    boxes = launched_with(process.argv, "max_sandboxes")
    if boxes is None and cpus:
        boxes = max(1, int(SANDBOXES_PER_CPU * cpus))
    counts = task.row.samples
    left = max(held, counts.total - counts.ended)
    return max(held, min(allowed, left, *([] if boxes is None else [boxes])))
