"""Names of things: what tells one machine, process, task or sample from another."""

from dataclasses import dataclass
from typing import NewType

MachineName = NewType("MachineName", str)
"""A machine's name as the config gives it; checked there, so it is harmless to show."""


@dataclass(frozen=True, slots=True, order=True)
class ProcessKey:
    """One running Inspect process.

    Attributes:
        machine: Where it runs.
        pid: Its process id there.
        start: Opaque text that tells a reused pid apart (boot and start time, by the probe).
    """

    machine: MachineName
    pid: int
    start: str


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """One task row of a process. A task id alone is not unique across processes."""

    process: ProcessKey
    task_id: str

    @property
    def machine(self) -> MachineName:
        """The machine of the task's process."""
        return self.process.machine


@dataclass(frozen=True, slots=True)
class SampleKey:
    """One sample of a task.

    Attributes:
        task: Its task.
        sample_id: As Inspect gives it: automatic ids are integers, and `1` is not `"1"`.
        epoch: From 1.
    """

    task: TaskKey
    sample_id: str | int
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class ModelKey:
    """One model as one process uses it: what a model's pause holds.

    Attributes:
        process: Its process.
        model: Its exact name, as the task rows have it.
    """

    process: ProcessKey
    model: str


Target = ProcessKey | TaskKey | SampleKey | ModelKey
"""What one order goes to."""


def process_of(target: Target) -> ProcessKey:
    """Return the process that an order to `target` goes to."""
    match target:
        case ProcessKey():
            return target
        case SampleKey():
            return target.task.process
        case _:
            return target.process


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A target as flat fields: for the journal, for recordings and for JSON.

    Attributes:
        task_id, sample_id, epoch, model: None where the target has none.
    """

    process: ProcessKey
    task_id: str | None = None
    sample_id: str | int | None = None
    epoch: int | None = None
    model: str | None = None

    @property
    def target(self) -> Target:
        """The target that this is the address of."""
        if self.model is not None:
            return ModelKey(self.process, self.model)
        if self.task_id is None:
            return self.process
        task = TaskKey(self.process, self.task_id)
        if self.sample_id is None:
            return task
        return SampleKey(task, self.sample_id, 1 if self.epoch is None else self.epoch)


def address_of(target: Target) -> Address:
    """Return a target's address."""
    match target:
        case ProcessKey():
            return Address(process=target)
        case ModelKey():
            return Address(process=target.process, model=target.model)
        case TaskKey():
            return Address(process=target.process, task_id=target.task_id)
        case SampleKey():
            task = target.task
            return Address(
                process=task.process,
                task_id=task.task_id,
                sample_id=target.sample_id,
                epoch=target.epoch,
            )
