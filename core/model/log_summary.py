"""The content of a log, as the machine's own Inspect reads it: its header and its samples."""

from dataclasses import dataclass

from core.format import plural
from core.model.sample import Sample, SampleId

_CANCELS = frozenset(
    f"TerminateTaskError: Task cancelled by user ({how})" for how in ("abort", "retry")
)
"""The causes in the logs of tasks that an operator cancelled, in Inspect's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric of a scorer.

    Attributes:
        scorer, name: The names of the scorer and of the metric.
        value: Its value, which may be NaN or infinite; None: the scorer gave none.
        stderr: Its error bar; None: it has none.
    """

    scorer: str
    name: str
    value: float | None
    stderr: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBuffer:
    """The samples that a dead eval left in Inspect's sample buffer; `inspect log recover` reads it.

    Attributes:
        completed: Samples that finished; not all of them need be missing in the log.
        in_progress: Samples that were running when the eval died.
    """

    completed: int
    in_progress: int

    @property
    def contents(self) -> str:
        """The samples that a recovery brings into a log, in words."""
        parts = [f"{plural(self.completed, 'finished sample')}"]
        if self.in_progress:
            were = "was" if self.in_progress == 1 else "were"
            parts.append(
                f"{self.in_progress} that {were} running, as errors that a retry runs again"
            )
        return " and ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHeader:
    """The header of a log, read by the machine's own Inspect.

    Attributes:
        location: The path or URL of the log.
        status: `started`, `success`, `error`, `cancelled`.
        eval_id: The id of the attempt that wrote it.
        metrics: The metrics of all scorers, in the log's order.
        completed_samples, total_samples: The counts in the log's results.
        has_error: Whether the log itself contains an error, apart from those of its samples.
        cause: The cause of that error (see `ErrorGroup.cause`); empty: no error, or not read.
        task, model: The names in the log; empty: not read.
        task_id: Inspect's id of its task; empty: not read.
        started_at, completed_at: When it started and ended, Unix seconds on the eval's own clock;
            None: the log does not say.
        time_limit: The time limit of its samples when it started, seconds; None: no limit.
        total_tokens: The tokens of all models; None: the log does not say.
        buffer: What its dead eval left in a buffer and not in the log; None: nothing.
        last_written_at: When an eval without an end last wrote its log or its trace file, Unix
            seconds on the host's clock; None: not known.
        run: The id of the run of evalroom that its metadata names; empty: none.
        is_copy: Whether a copy was read on this computer: its machine has no usable Inspect.
    """

    location: str
    status: str
    eval_id: str = ""
    metrics: tuple[Metric, ...] = ()
    completed_samples: int | None = None
    total_samples: int | None = None
    has_error: bool = False
    cause: str = ""
    task: str = ""
    model: str = ""
    task_id: str = ""
    started_at: float | None = None
    completed_at: float | None = None
    time_limit: int | None = None
    total_tokens: int | None = None
    buffer: LogBuffer | None = None
    last_written_at: float | None = None
    run: str = ""
    is_copy: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the eval has written its end into the log."""
        return self.status in {"success", "error", "cancelled"}

    @property
    def outcome(self) -> str:
        """How the eval ended: its status, or `cancelled` where an operator's cancel ended it."""
        return log_outcome(self.status, self.cause)


def log_outcome(status: str, cause: str) -> str:
    """Return how the eval of a log ended.

    Inspect writes the status `error` for a task that an operator cancelled, and says so only in
    the log's error.

    Args:
        status: The status of the log.
        cause: The cause of the log's own error; empty: it has none.
    """
    return "cancelled" if status == "error" and cause in _CANCELS else status


def missing_word(status: str) -> str:
    """Return the word for planned samples that are not in a log with this status.

    A drain or an end abandons the samples that have not started. An eval that was killed did not
    write those that were running, and its buffer may still hold them.
    """
    return "not in the log" if status == "started" else "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCounts:
    """The samples of a log by outcome; a sample is one (sample id, epoch).

    Attributes:
        total: Samples that the eval had planned.
        completed: Samples that ended without an error, those that a limit ended included.
        errored: Samples that an error ended.
        cancelled: Samples that were cancelled while they ran.
        abandoned: Planned samples that are not in the log: the eval ended, was drained, or was
            killed before they started or before they were written (see `missing_word`).
        scored: Samples that have a score.
    """

    total: int = 0
    completed: int = 0
    errored: int = 0
    cancelled: int = 0
    abandoned: int = 0
    scored: int = 0


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """The samples of a log that failed for one cause.

    Attributes:
        cause: The type of the error and the first line of its message, without the numbers, ids
            and quoted texts that differ from sample to sample. Text from a host: it is shown
            through `core.text.shown`.
        count: How many samples it ended.
        example: One of these samples; its own detail has the whole text.
    """

    cause: str
    count: int
    example: SampleId


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSamples:
    """The samples of a log.

    Attributes:
        counts: All its samples by outcome.
        errors: Its errors grouped by cause, the most frequent first.
        rows: Its sample rows: errored ones first, then the newest others, bounded.
        cut: How many of its samples are not in `rows`.
        messages: The messages of all its samples; None: the log does not say.
    """

    counts: LogCounts
    errors: tuple[ErrorGroup, ...] = ()
    rows: tuple[Sample, ...] = ()
    cut: int = 0
    messages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """All that is read of a log when its eval has ended.

    Attributes:
        header: Its header.
        samples: Its samples; None: they could not be read.
        trouble: Why its samples could not be read, one harmless sentence; empty: they were.
    """

    header: LogHeader
    samples: LogSamples | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadLog:
    """A log that could not be read.

    Attributes:
        location: The path or URL of the log.
        reason: Why, one harmless sentence.
    """

    location: str
    reason: str


LogReading = LogSummary | UnreadLog
"""What came of the reading of one log."""
