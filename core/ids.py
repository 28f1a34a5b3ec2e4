"""Keys of machines, processes, tasks and samples: the values that identify them."""

from dataclasses import dataclass
from typing import NewType

MachineName = NewType("MachineName", str)
"""A machine's name from the config, which checks it; harmless to show."""


class _KnowsItsHash:
    """Computes its hash once: keys are looked up thousands of times a second."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash(self._parts())
            object.__setattr__(self, "_hash", found)
            return found

    def _parts(self) -> tuple[object, ...]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, order=True)
class ProcessKey(_KnowsItsHash):
    """One running Inspect process.

    Attributes:
        machine: The machine that it runs on.
        pid: Its process id on that machine.
        start: Opaque text of the probe (boot and start time) that distinguishes a reused pid.
    """

    machine: MachineName
    pid: int
    start: str

    __hash__ = _KnowsItsHash.__hash__

    def _parts(self) -> tuple[object, ...]:
        return self.machine, self.pid, self.start


@dataclass(frozen=True, slots=True, order=True)
class TaskKey(_KnowsItsHash):
    """One task of a process. A task id alone is not unique across processes.

    Attributes:
        process: The process that runs it.
        task_id: Inspect's id of the task.
    """

    process: ProcessKey
    task_id: str

    __hash__ = _KnowsItsHash.__hash__

    def _parts(self) -> tuple[object, ...]:
        return self.process, self.task_id

    @property
    def machine(self) -> MachineName:
        """The machine of the task's process."""
        return self.process.machine


@dataclass(frozen=True, slots=True)
class SampleKey:
    """One sample of a task.

    Attributes:
        task: The task that it belongs to.
        sample_id: Inspect's id of the sample. Automatic ids are integers; `1` is not `"1"`.
        epoch: Counted from 1.
    """

    task: TaskKey
    sample_id: str | int
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class ModelKey:
    """One model within one process: the target of a pause of a model.

    Attributes:
        process: The process that uses the model.
        model: The exact name of the model, as the task rows have it.
    """

    process: ProcessKey
    model: str


Target = ProcessKey | TaskKey | SampleKey | ModelKey
"""The target of one order."""


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
        process: The process of the target.
        task_id, sample_id, epoch, model: None if the target does not have it.
    """

    process: ProcessKey
    task_id: str | None = None
    sample_id: str | int | None = None
    epoch: int | None = None
    model: str | None = None

    @property
    def target(self) -> Target:
        """The target with this address."""
        if self.model is not None:
            return ModelKey(self.process, self.model)
        if self.task_id is None:
            return self.process
        task = TaskKey(self.process, self.task_id)
        if self.sample_id is None:
            return task
        return SampleKey(task, self.sample_id, 1 if self.epoch is None else self.epoch)


def address_of(target: Target) -> Address:
    """Return the address of a target."""
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
