"""A task of a process: its row, its samples, and the header of its log."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from core.ids import TaskKey
from core.model.error_causes import ErrorCauses
from core.model.log_summary import ErrorGroup, LogHeader, LogSamples, Metric, missing_word
from core.model.motion import Usual, WaitPoint
from core.model.sample import Sample, SampleCounts, SampleId


class TaskState(StrEnum):
    """The state of a task. Only its log proves how it ended."""

    RUNNING = "running"
    FINISHING = "finishing"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    LOST = "lost"
    """Its process is gone, and its own log says `started`."""
    UNREADABLE = "unreadable"
    """It has ended, and its log can't be read; it is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """The counts of samples in a task row; None is unknown.

    `abandoned` samples are planned ones that are not in the log of a task that has ended.
    """

    total: int = 0
    completed: int = 0
    errored: int = 0
    cancelled: int = 0
    in_flight: int | None = None
    queued: int | None = None
    abandoned: int = 0

    @property
    def ended(self) -> int:
        """Samples that have ended, however they did."""
        return self.completed + self.errored + self.cancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One row of `GET /tasks`. Times are Unix seconds on the eval's own clock.

    Attributes:
        task_id: Inspect's id of the task.
        eval_id: The id of this attempt; it changes on every retry.
        task, model, solver: Their names.
        log_location: The path or URL of its log.
        status: `running` or `completed`. Completed means finished, not successful.
        started_at, completed_at: When it started and finished.
        paused: The latches that pause it: `task`, `process`, `model`.
        paused_now: Those of them that are `pause now`.
        quiesced: Whether no sample is in flight while it is paused.
        held: Samples that a `pause now` holds at a model call.
        resolving: `drain`, `score` or `error` while a graceful stop is pending.
        attempts: Number of the attempt, from 1.
        epochs: Number of epochs.
        samples: Its counts of samples.
        total_tokens, total_messages: Totals so far.
        refusals: Refusals of the model.
        http_retries: Retried HTTP requests to the provider.
        keep_alive: Whether its process parks after the eval ends.
        process_paused, process_paused_now: The process's own pause latch (soft, hard).
        paused_models: The models whose pause latch is set in the process.
        api_version: The version of the process's control channel.
        raw: The row's JSON, for headless commands.
    """

    task_id: str
    eval_id: str
    task: str = ""
    model: str = ""
    solver: str = ""
    log_location: str = ""
    status: str = "running"
    started_at: float | None = None
    completed_at: float | None = None
    paused: tuple[str, ...] = ()
    paused_now: tuple[str, ...] = ()
    quiesced: bool = False
    held: int | None = None
    resolving: str | None = None
    attempts: int = 1
    epochs: int | None = None
    samples: TaskCounts = TaskCounts()
    total_tokens: int | None = None
    total_messages: int | None = None
    refusals: int | None = None
    http_retries: int | None = None
    keep_alive: bool | None = None
    process_paused: bool | None = None
    process_paused_now: bool | None = None
    paused_models: tuple[str, ...] = ()
    api_version: int | None = None
    raw: bytes = b""

    @property
    def is_completed(self) -> bool:
        """Whether this attempt is finished; how it ended is in its log alone."""
        return self.status == "completed"


NO_SAMPLES: Mapping[SampleId, Sample] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPoint:
    """The counts of a task at one moment, for its plot and its rates.

    Attributes:
        at: Unix seconds at the desk.
        done: Samples that are completed, errored or cancelled.
        errored: Samples that are errored.
        in_flight: Samples in flight; None: unknown.
        tokens: Tokens so far; None: unknown.
        refusals: Refusals of the model so far; None: unknown.
        retries: Retried HTTP requests so far; None: unknown.
    """

    at: float
    done: int
    errored: int
    in_flight: int | None
    tokens: int | None
    refusals: int | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task, as far as it is known.

    Attributes:
        key: Its process and task id.
        row: Its newest row.
        state: Its state, as far as that is proved.
        as_of: Time just before that row was read, Unix seconds on the host's clock.
        heard_at: When the newest answer came, changed or not, Unix seconds at the desk.
        seen_at: When the task was first seen, Unix seconds at the desk.
        counts: Samples of the whole task by status; None until samples were read.
        samples: The rows of running and errored samples, and of the 200 newest finished ones.
        samples_as_of: Time of the newest answer with samples, Unix seconds on the eval's clock;
            None until one came.
        samples_heard_at: When that answer came, Unix seconds at the desk; None until one came.
        samples_cut: Number of rows that are not listed: finished ones beyond the cap, or cut by
            the server.
        sample_units: How many rows its samples count as (`core.model.limits.units`).
        trail: Recent progress points, oldest first, bounded.
        header: The header of its log; None until it was read.
        logged: The counts and errors of its log's samples; their rows are in `samples`. None until
            they were read.
        header_error: Why its log could not be read; None: no error.
        samples_error: Why the samples of its log could not be read; empty: no error.
        interim: The running score, if the process reports one.
        ended_at: When it was found ended, Unix seconds at the desk; None: it has not ended.
        trouble: Which sample rows could not be read; None: no trouble.
        has_sandboxes: Whether it was seen to hold Docker containers.
        sandboxed: Its running samples that were seen to hold one.
        calls: Durations of finished calls, seconds, by type (`model`, `tool`); oldest first.
        waits: Its newest readings in which samples waited for retries, oldest first.
        usual: What its finished samples took.
        run_again: Its samples that were run again: how often, and whether they passed; bounded.
        requeued: Its samples that had errored and were then requeued, by whomever; bounded.
        run_again_at: When such a sample was last seen, Unix seconds at the desk; None: never.
        causes: Why its samples errored, as far as its process told while it ran.
        first_done_s: Seconds from its start until its first sample was completed; None: none is,
            or nobody saw when.
    """

    key: TaskKey
    row: TaskRow
    state: TaskState
    as_of: float
    heard_at: float
    seen_at: float
    counts: SampleCounts | None = None
    samples: Mapping[SampleId, Sample] = field(default_factory=lambda: NO_SAMPLES)
    samples_as_of: float | None = None
    samples_heard_at: float | None = None
    samples_cut: int = 0
    sample_units: int = 0
    trail: tuple[ProgressPoint, ...] = ()
    header: LogHeader | None = None
    logged: LogSamples | None = None
    header_error: str | None = None
    samples_error: str = ""
    interim: tuple[Metric, ...] = ()
    ended_at: float | None = None
    trouble: str | None = None
    has_sandboxes: bool = False
    sandboxed: frozenset[SampleId] = frozenset()
    calls: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: MappingProxyType({}))
    waits: tuple[WaitPoint, ...] = ()
    usual: Usual = Usual()
    run_again: Mapping[SampleId, tuple[int, bool]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    requeued: frozenset[SampleId] = frozenset()
    run_again_at: float | None = None
    causes: ErrorCauses = ErrorCauses()
    first_done_s: float | None = None

    @property
    def progress(self) -> TaskCounts:
        """The newest counts: of its log once that is read, else of the last poll."""
        counts = self.row.samples
        if not self.is_over or self.header is None:
            return counts
        if self.logged is not None:
            log = self.logged.counts
            return TaskCounts(
                total=log.total,
                completed=log.completed,
                errored=log.errored,
                cancelled=log.cancelled,
                abandoned=log.abandoned,
                in_flight=0,
                queued=0,
            )
        if self.header.completed_samples is None:
            return counts
        total = self.header.total_samples
        return replace(
            counts,
            total=counts.total if total is None else total,
            completed=self.header.completed_samples,
            in_flight=0,
            queued=0,
        )

    @property
    def errors(self) -> tuple[ErrorGroup, ...]:
        """Its errors grouped by cause: of its log once that is read, else as its process told."""
        return self.logged.errors if self.logged is not None else self.causes.groups

    @property
    def total_tokens(self) -> int | None:
        """Its tokens: of its log once that is read, else of the last poll; None: unknown."""
        tokens = self.header.total_tokens if self.header is not None and self.is_over else None
        return self.row.total_tokens if tokens is None else tokens

    @property
    def total_messages(self) -> int | None:
        """The messages of its samples: of its log once that is read, else of the last poll."""
        messages = self.logged.messages if self.logged is not None else None
        return self.row.total_messages if messages is None else messages

    @property
    def missing_word(self) -> str:
        """The word for its planned samples that are not in its log."""
        return missing_word("" if self.header is None else self.header.status)

    @property
    def is_over(self) -> bool:
        """Whether it has ended and evalroom has read as much of its log as it can now."""
        # Called for a thousand tasks on each redraw: a set lookup would hash strings in Python.
        return self.state is not TaskState.RUNNING and self.state is not TaskState.FINISHING

    @property
    def has_polled_counts(self) -> bool:
        """Whether it has ended, but its counts are those of the last poll and not of its log."""
        return self.state is not TaskState.RUNNING and self.logged is None

    @property
    def scored(self) -> tuple[int, int] | None:
        """The number of scored samples and of all samples; None: all are scored, or unknown."""
        if self.logged is None or not self.is_over:
            return None
        counts = self.logged.counts
        return (counts.scored, counts.total) if counts.scored < counts.total else None

    @property
    def log_problem(self) -> str | None:
        """Why its log can't be read; None: it was read, or was not tried yet."""
        if self.header_error is not None:
            return self.header_error
        if self.state is not TaskState.UNREADABLE:
            return None
        if self.header is not None:
            return f"evalroom does not know its status {self.header.status!r}"
        return "Inspect never reported a log of this task"
