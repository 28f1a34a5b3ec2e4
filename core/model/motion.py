"""What readings of a task's samples show of its motion: waits for retries, and what is usual."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitPoint:
    """How many running samples of a task wait for a retry, in one reading.

    Attributes:
        at: The time of the reading, Unix seconds on the eval's own clock.
        running: Samples that run.
        waiting: Those of them that wait for a retry of a model call.
        attempts: The attempts that these calls have made, together.
        retries: Retried HTTP requests of the task so far; None: unknown.
    """

    at: float
    running: int
    waiting: int
    attempts: int
    retries: int | None


@dataclass(frozen=True, slots=True)
class Usual:
    """What the finished samples of a task usually take.

    Attributes:
        count: Finished samples that are known.
        turns_p95, tokens_p95: Nine in ten of them, and half of the tenth, took at most so many; 0:
            not known.
        median_s: Half of them took at most so long, seconds; 0: not known.
        last_end: When the newest of them ended, Unix seconds on the eval's own clock; 0: not known.
    """

    count: int = 0
    turns_p95: int = 0
    tokens_p95: int = 0
    median_s: float = 0.0
    last_end: float = 0.0
