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
