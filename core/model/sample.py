"""A sample: one (sample id, epoch) of a task, as the control channel lists it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class SampleStatus(StrEnum):
    """Inspect's own words for where a sample stands."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"


ENDED = frozenset({SampleStatus.COMPLETED, SampleStatus.ERROR, SampleStatus.CANCELLED})
"""The status of a sample that ran its course. A requeue can still start it anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call in progress. Times are Unix seconds on the eval's own clock."""

    id: str
    function: str
    started_at: float | None = None
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What a sample does right now and since when.

    Attributes:
        type: `model`, `tool`, `retry_wait`, `approval`, `question`, or a newer word.
        count: Operations at once; for a retry wait, the attempt.
        started_at, deadline, last_progress_at: Unix seconds on the eval's own clock.
        detail: The model's or the tool's name.
        tokens: Streamed so far, where the provider streams.
    """

    type: str
    count: int = 1
    started_at: float | None = None
    detail: str | None = None
    deadline: float | None = None
    calls: tuple[ToolCall, ...] = ()
    tokens: int | None = None
    last_progress_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One row of the samples envelope. None is unknown, never 0.

    Attributes:
        sample_id: As Inspect gives it (`1` is not `"1"`).
        status: One of `SampleStatus`, or a newer word.
        started_at, completed_at, last_activity_at: Unix seconds on the eval's own clock.
        total_time: Seconds so far, as of the envelope.
        token_limit_usage, token_limit_total: Of the limit in use; None without one.
        retries: Times it was run again.
        limit: Which limit ended it.
        interrupt: The cancel that is under way.
        raw: The row's JSON as it came, for the headless twins.
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
        """Whether it ran its course; a requeue can still start it anew."""
        return self.status in ENDED


SampleId = tuple[str | int, int]
"""A sample within its task: (sample id, epoch)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """Samples of a whole task by status, whatever rows are listed."""

    running: int = 0
    completed: int = 0
    error: int = 0
    cancelled: int = 0
    pending: int = 0
    queued: int = 0

    @property
    def total(self) -> int:
        """All samples."""
        return (
            self.running + self.completed + self.error + self.cancelled + self.pending + self.queued
        )
