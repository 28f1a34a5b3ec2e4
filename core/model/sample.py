"""A sample: one (sample id, epoch) of a task, as the control channel lists it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class SampleStatus(StrEnum):
    """The status of a sample, in Inspect's words."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"


ENDED = frozenset({SampleStatus.COMPLETED, SampleStatus.ERROR, SampleStatus.CANCELLED})
"""The statuses of a sample that has ended. A requeue can still run it again."""

DONE_WORD = "done"
"""The word for a completed sample on screen and in options; JSON keeps Inspect's word."""

NOT_STARTED = frozenset({SampleStatus.PENDING, SampleStatus.QUEUED})
"""The statuses of a sample that has not started: both are `queued` on screen, as in a task's row.

Inspect says `queued` once it has taken the sample up (it starts its sandbox, or a requeue waits).
"""


def word_of_status(status: str) -> str:
    """Return the word for a sample's status on screen: Inspect's own, but `done` and `queued`."""
    if status == SampleStatus.COMPLETED:
        return DONE_WORD
    return str(SampleStatus.QUEUED) if status in NOT_STARTED else status


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call in progress; `started_at` is Unix seconds on the eval's own clock."""

    id: str
    function: str
    started_at: float | None = None
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The current operation of a sample.

    Attributes:
        type: `model`, `tool`, `retry_wait`, `approval`, `question`, or a word of a newer Inspect.
        count: Number of operations at once; for a retry wait, the number of the attempt.
        started_at, deadline: Unix seconds on the eval's own clock.
        detail: The name of the model or tool.
        calls: The tool calls in progress.
    """

    type: str
    count: int = 1
    started_at: float | None = None
    detail: str | None = None
    deadline: float | None = None
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One row of the list of samples. None is unknown, never 0.

    Attributes:
        sample_id: Inspect's id of the sample (`1` is not `"1"`).
        epoch: Its epoch, from 1.
        status: One of `SampleStatus`, or a word of a newer Inspect.
        started_at, completed_at, last_activity_at: Unix seconds on the eval's own clock.
        total_time: Seconds so far, at the time of the answer.
        total_tokens, message_count, turn_count: Totals so far.
        token_limit_usage, token_limit_total, token_limit_type: The token limit that applies, and
            how much of it is used; None: no such limit.
        activity: What it does now.
        events: Number of its events.
        scores: Its scores by scorer.
        retries: How often it was run again.
        limit: The limit that ended it.
        interrupt: The cancel that is in progress, in Inspect's word.
        has_error: Whether it has an error.
        raw: The row's JSON, for headless commands.
    """

    sample_id: str | int
    epoch: int
    status: str
    started_at: float | None = None
    completed_at: float | None = None
    total_time: float | None = None
    total_tokens: int | None = None
    message_count: int | None = None
    turn_count: int | None = None
    token_limit_usage: float | None = None
    token_limit_total: float | None = None
    token_limit_type: str | None = None
    last_activity_at: float | None = None
    activity: Activity | None = None
    events: int | None = None
    scores: Mapping[str, Any] | None = None
    retries: int | None = None
    limit: str | None = None
    interrupt: str | None = None
    has_error: bool = False
    raw: bytes = b""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended; a requeue can still run it again."""
        return self.status in ENDED


SampleId = tuple[str | int, int]
"""A sample within its task: (sample id, epoch)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """Samples of a whole task by status, listed or not.

    `abandoned` samples are planned ones that are not in the log of a task that has ended.
    """

    running: int = 0
    completed: int = 0
    error: int = 0
    cancelled: int = 0
    pending: int = 0
    queued: int = 0
    abandoned: int = 0

    @property
    def not_started(self) -> int:
        """All samples that have not started: `queued` on screen."""
        return self.pending + self.queued

    @property
    def total(self) -> int:
        """All samples."""
        waiting = self.not_started + self.abandoned
        return self.running + self.completed + self.error + self.cancelled + waiting
