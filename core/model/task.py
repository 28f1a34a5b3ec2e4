"""A task: one task row of a process, its samples, and what its log says in the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from core.ids import TaskKey
from core.model.sample import Sample, SampleCounts, SampleId


class TaskState(StrEnum):
    """The state of a task. Nothing but its log proves how it ended."""

    RUNNING = "running"
    FINISHING = "finishing"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """The `samples` of a task row; None is unknown."""

    total: int = 0
    completed: int = 0
    errored: int = 0
    cancelled: int = 0
    in_flight: int | None = None
    queued: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One row of `GET /tasks`. Times are Unix seconds on the eval's own clock.

    Attributes:
        eval_id: Of this attempt; it changes on every retry.
        status: `running` or `completed`; completed only means finished.
        paused, paused_now: Which latches hold it (`task`, `process`, `model`), and which hard.
        held: Samples parked at a model call by a hard pause.
        resolving: `drain`, `score`, `error` while a graceful stop is pending.
        tokens_per_second: Inspect's mean over the whole run, not a recent rate.
        raw: The row's JSON as it came, for the headless twins.
    """

    task_id: str
    eval_id: str
    task: str = ""
    model: str = ""
    solver: str = ""
    run_id: str = ""
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
    tokens_per_second: float | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number of a score, with its error bar where there is one."""

    scorer: str
    name: str
    value: float
    stderr: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHeader:
    """What a log says of itself, read by that machine's own Inspect.

    Attributes:
        status: `started`, `success`, `error`, `cancelled`.
        metrics: Every scorer's metrics, in the log's order.
        completed_samples, total_samples: As the log's results say.
        has_error: Whether it carries an error (its text is withheld).
    """

    location: str
    status: str
    eval_id: str = ""
    metrics: tuple[Metric, ...] = ()
    completed_samples: int | None = None
    total_samples: int | None = None
    has_error: bool = False


NO_SAMPLES: Mapping[SampleId, Sample] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPoint:
    """A task at one moment, for its plot and its rates.

    Attributes:
        at: Unix seconds at the desk.
        done: Samples completed, errored or cancelled.
    """

    at: float
    done: int
    errored: int
    in_flight: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is known of a task.

    Attributes:
        row: Its newest row.
        state: What is proved of it.
        as_of: The host's clock just before that row was read, Unix seconds.
        heard_at: When that look came, Unix seconds at the desk; unchanged looks count.
        seen_at: When the task was first seen, Unix seconds at the desk.
        counts: Of its samples envelope; None until one came.
        samples: Full rows of the running, the errored and the 200 newest finished.
        samples_as_of: The envelope's `as_of`; None until one came.
        samples_heard_at: Unix seconds at the desk.
        samples_cut: Rows that are not listed (finished ones beyond the cap, or truncated).
        trail: Recent progress points, oldest first, bounded.
        header: What its log says; None until it was read.
        header_error: Why its log could not be read.
        interim: The running score where the process reports one.
        ended_at: When it was seen ended, Unix seconds at the desk.
        trouble: Which sample rows could not be read.
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
    trail: tuple[ProgressPoint, ...] = ()
    header: LogHeader | None = None
    header_error: str | None = None
    interim: tuple[Metric, ...] = ()
    ended_at: float | None = None
    trouble: str | None = None

    @property
    def progress(self) -> TaskCounts:
        """The newest counts: the row's; once it is over, what its log says is completed.

        A process is often gone before its last samples were looked at.
        """
        header, counts = self.header, self.row.samples
        if header is None or not self.is_over or header.completed_samples is None:
            return counts
        total = counts.total if header.total_samples is None else header.total_samples
        # Of a success, what is neither completed nor was cancelled has errored.
        missing = total - header.completed_samples - counts.cancelled
        errored = max(counts.errored, missing) if header.status == "success" else counts.errored
        return replace(
            counts,
            total=total,
            completed=header.completed_samples,
            errored=errored,
            in_flight=0,
            queued=0,
        )

    @property
    def is_over(self) -> bool:
        """Whether its log has said how it ended, or it is lost."""
        # Asked of a thousand tasks for each drawing: a set would hash words in Python.
        return self.state is not TaskState.RUNNING and self.state is not TaskState.FINISHING
