"""What is known of tasks beyond their rows, as the events of `core.events`."""

from dataclasses import dataclass

from core.ids import TaskKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CausesSeen:
    """A process told why samples of a running task errored; only the causes are kept.

    Attributes:
        eval_id: The attempt that they belong to; the fold drops causes of another attempt.
        as_of: Time of the answer, Unix seconds on the eval's clock.
        causes: For each sample: (sample id, epoch, cause); see `ErrorGroup.cause`.
    """

    at: float
    task: TaskKey
    eval_id: str
    as_of: float
    causes: tuple[tuple[str | int, int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpinUpTimed:
    """The first sample of a task was completed while somebody watched.

    Attributes:
        name, model: The name of the task and of its model.
        seconds: How long that took from its start.
    """

    at: float
    task: TaskKey
    name: str
    model: str
    seconds: float
