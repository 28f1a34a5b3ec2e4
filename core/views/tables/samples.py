"""The table of samples: one row for each sample of the selected task."""

from core import format as fmt
from core.fleet import Fleet
from core.ids import SampleKey, TaskKey
from core.model.operation import LONG_COMMAND_S, Operation, operation_words
from core.model.sample import Activity, Sample, SampleStatus, word_of_status
from core.model.task import Task
from core.views.cells import UNKNOWN, Cell, Span, Table, Tone, count_cell, span_of, text_cell
from core.views.findings.of_rows import (
    FINDING_COLUMN,
    finding_cell,
    finding_of_samples,
    finding_word,
)
from core.views.tables.fields import Fields, FieldValue, field, table, without_column
from core.views.tables.row_context import (
    STALE_AFTER_S,
    SampleLine,
    TaskLine,
    sample_lines,
    task_line,
)

_TONES: dict[str, Tone] = {
    SampleStatus.RUNNING: "good",
    SampleStatus.ERROR: "error",
    SampleStatus.CANCELLED: "warning",
}
_ACTIVITIES = {
    "model": "generating",
    "retry_wait": "retry",
    "approval": "waiting for approval",
    "question": "waiting for an answer",
}
_WAITS = frozenset({"retry_wait", "approval", "question"})


def status_word(line: SampleLine) -> Span:
    """Return a sample's status in one or two words."""
    sample = line.sample
    activity = sample.activity
    if line.gone and not sample.has_ended:
        return span_of(f"was {word_of_status(sample.status)}", "warning")
    if not line.is_known:
        return span_of(f"was {word_of_status(sample.status)}", "dim")
    if sample.interrupt == "cancel":
        return span_of("cancelling", "warning")
    if sample.interrupt:
        return span_of(f"stopping: {sample.interrupt}", "warning")
    if sample.status == SampleStatus.RUNNING and activity and activity.type == "retry_wait":
        return span_of("retrying", "warning")
    word = word_of_status(sample.status)
    return span_of(word, _TONES.get(sample.status, "dim"))


def doing(line: SampleLine) -> Cell:
    """Return what a sample does and for how long: its activity, else the operation in the trace."""
    activity, clock = line.sample.activity, line.clock
    if activity is None:
        return UNKNOWN if line.operation is None else operation_cell(line.operation, clock)
    spans = [span_of(_what(activity), "plain")]
    if activity.count > 1:
        times = "" if activity.type == "retry_wait" else "\u00d7"
        spans.append(span_of(f" {times}{fmt.count(activity.count)}", "dim"))
    if clock is not None and activity.deadline is not None:
        spans.append(span_of(f" in {fmt.duration(activity.deadline - clock)}", "warning"))
    elif clock is not None and activity.started_at is not None:
        lasted = fmt.duration(clock - activity.started_at)
        spans.append(span_of(f" {lasted}", "warning" if activity.type in _WAITS else "dim"))
    if any(call.cancel_requested for call in activity.calls):
        spans.append(span_of(" cancel requested", "warning"))
    return tuple(spans)


def operation_cell(operation: Operation, clock: float | None) -> Cell:
    """Return an operation and for how long; `clock` is the eval's own, Unix seconds."""
    spans = [Span(operation_words(operation))]
    if operation.count > 1:
        spans.append(span_of(f" \u00d7{fmt.count(operation.count)}", "dim"))
    if clock is not None:
        lasted = max(0.0, clock - operation.since)
        is_long = operation.is_command and lasted >= LONG_COMMAND_S
        spans.append(span_of(f" {fmt.duration(lasted)}", "warning" if is_long else "dim"))
    return tuple(spans)


def _doing_value(line: SampleLine) -> str | None:
    if line.sample.activity is not None:
        return _what(line.sample.activity)
    return None if line.operation is None else operation_words(line.operation)


def _what(activity: Activity) -> str:
    if activity.type == "tool":
        names = dict.fromkeys(call.function for call in activity.calls)
        return ", ".join(list(names)[:3]) or activity.detail or "tool"
    return _ACTIVITIES.get(activity.type, activity.type)


def time_taken(line: SampleLine) -> float | None:
    """Return how long a sample took or has run, seconds; None if unknown."""
    sample = line.sample
    if sample.completed_at is not None and sample.started_at is not None:
        return sample.completed_at - sample.started_at
    if sample.status == SampleStatus.RUNNING and sample.started_at is not None:
        return None if line.clock is None else max(0.0, line.clock - sample.started_at)
    return sample.total_time


def idle(line: SampleLine) -> float | None:
    """Return seconds since the last activity of a sample; None if unknown."""
    if line.clock is None or line.sample.last_activity_at is None:
        return None
    return max(0.0, line.clock - line.sample.last_activity_at)


def limits(sample: Sample) -> Cell:
    """Return the limit that ended a sample; else its token limit and how much is used."""
    if sample.limit:
        return text_cell(f"hit {sample.limit}", "warning")
    used, total = fmt.sane(sample.token_limit_usage), fmt.sane(sample.token_limit_total)
    if used is None or not total:
        return UNKNOWN
    kind = sample.token_limit_type or "tokens"
    tone: Tone = "warning" if used / total > 0.9 else "dim"  # noqa: PLR2004
    return (span_of(f"{kind} {fmt.count(used)}/{fmt.count(total)}", tone),)


def scores(sample: Sample) -> Cell:
    """Return a sample's scores; with one scorer, only the value."""
    if not sample.scores:
        return UNKNOWN
    if len(sample.scores) == 1:
        (value,) = sample.scores.values()
        return (span_of(_value(value), _score_tone(value)),)
    texts = (f"{name} {_value(value)}" for name, value in list(sample.scores.items())[:6])
    return (span_of(" · ".join(texts)),)


def _value(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return fmt.score(value)
    if isinstance(value, dict):
        return "{…}"
    return str(value)[:40]


def _score_tone(value: object) -> Tone:
    if not isinstance(value, str | int | float):
        return "plain"
    if value in {"C", 1}:
        return "good"
    return "error" if value in {"I", 0} else "plain"


def _score_value(line: SampleLine) -> FieldValue:
    for value in (line.sample.scores or {}).values():
        if isinstance(value, float) and fmt.sane(value) is None:
            return None
        return value if isinstance(value, int | float | str) else str(value)[:40]
    return None


def _lasting(seconds: float | None) -> Cell:
    return UNKNOWN if fmt.sane(seconds) is None else (Span(fmt.duration(seconds or 0.0)),)


def _idle_cell(line: SampleLine) -> Cell:
    seconds = idle(line)
    if fmt.sane(seconds) is None:
        return UNKNOWN
    ended = line.sample.status != SampleStatus.RUNNING
    written = fmt.age(seconds or 0.0) if ended else fmt.duration(seconds or 0.0)
    return (Span(written, "dim" if ended else "plain"),)


SAMPLE_FIELDS = Fields[SampleLine](
    (
        field(
            "id",
            lambda line: text_cell(line.sample.sample_id, "strong"),
            lambda line: line.sample.sample_id,
            width=6,
            grow=1,
        ),
        field(
            "ep",
            lambda line: count_cell(line.sample.epoch, "dim"),
            lambda line: line.sample.epoch,
            align="right",
            width=3,
            rank=2,
        ),
        field(
            "status",
            lambda line: (status_word(line),),
            lambda line: status_word(line).text,
            width=9,
        ),
        field(
            FINDING_COLUMN,
            lambda line: finding_cell(line.finding, line.now, is_known=line.is_known),
            lambda line: finding_word(line.finding),
            width=16,
            rank=1,
        ),
        field(
            "doing",
            doing,
            _doing_value,
            width=18,
            grow=3,
            rank=1,
        ),
        field(
            "turns",
            lambda line: count_cell(line.sample.turn_count),
            lambda line: line.sample.turn_count,
            align="right",
            width=5,
            rank=2,
        ),
        field(
            "msgs",
            lambda line: count_cell(line.sample.message_count),
            lambda line: line.sample.message_count,
            align="right",
            width=5,
            rank=5,
        ),
        field(
            "tokens",
            lambda line: count_cell(line.sample.total_tokens),
            lambda line: line.sample.total_tokens,
            align="right",
            width=6,
            rank=1,
        ),
        field(
            "retries",
            lambda line: count_cell(line.sample.retries, "warning", zero="dim"),
            lambda line: line.sample.retries,
            align="right",
            width=7,
            rank=4,
        ),
        field(
            "time",
            lambda line: _lasting(time_taken(line)),
            time_taken,
            align="right",
            width=6,
            rank=3,
        ),
        field("last", _idle_cell, idle, align="right", width=5, rank=1),
        field(
            "limit",
            lambda line: limits(line.sample),
            lambda line: line.sample.limit,
            width=10,
            rank=6,
        ),
        field("score", lambda line: scores(line.sample), _score_value, width=6, rank=1),
    )
)


_ORDER: dict[str, int] = {
    SampleStatus.RUNNING: 1,
    SampleStatus.ERROR: 2,
    SampleStatus.QUEUED: 4,
    SampleStatus.COMPLETED: 5,
    SampleStatus.CANCELLED: 6,
    SampleStatus.PENDING: 7,
}


def _rank(sample: Sample) -> tuple[int, float]:
    rank = _ORDER.get(sample.status, 3)
    activity = sample.activity
    if rank == 1 and (sample.interrupt or (activity and activity.type in _WAITS)):
        rank = 0
    started = fmt.sane(sample.started_at) or 0.0
    ended = fmt.sane(sample.completed_at) or 0.0
    return (rank, started if rank <= 1 else -ended)


def samples_table(fleet: Fleet, task: TaskKey | None, now: float) -> Table[SampleKey]:
    """Return the known samples of a task: running ones first, then errors, then the rest.

    Running samples are sorted by their start and ended ones by their end, newest first. So a row
    moves only when its status changes.
    """
    line = task_line(fleet, task, now) if task is not None else None
    if line is None:
        why = "no task is selected" if fleet.tasks else ""
        return without_column(table(SAMPLE_FIELDS, (), title="Samples", empty=why), FINDING_COLUMN)
    over = line.task.is_over or not line.is_known
    rows = (
        SAMPLE_FIELDS.row(
            SampleKey(line.task.key, each.sample.sample_id, each.sample.epoch),
            each,
            "dim" if over or each.sample.status in _QUIET else "plain",
        )
        for each in sample_lines(fleet, line, sorted(line.task.samples.values(), key=_rank))
    )
    samples = table(
        SAMPLE_FIELDS,
        rows,
        title=f"Samples of {line.task.row.task or 'a task'}",
        footer=counts_line(line),
        empty=_why_none(line),
    )
    if finding_of_samples(fleet, line.task.key):
        return samples
    return without_column(samples, FINDING_COLUMN)


_QUIET = frozenset({SampleStatus.COMPLETED, SampleStatus.PENDING, SampleStatus.CANCELLED})


def counts_line(line: TaskLine) -> str:
    """Return the counts of a task's samples by status: `38 running · 2 errored · 59 done`."""
    counts = line.task.counts
    if counts is None:
        return ""
    parts = (
        (counts.running, "running"),
        (counts.error, "errored"),
        (counts.completed, "done"),
        (counts.not_started, "queued"),
        (counts.cancelled, "cancelled"),
        (counts.abandoned, line.task.missing_word),
    )
    words = [f"{fmt.count(number)} {word}" for number, word in parts if number]
    if line.task.samples_cut:
        words.append(f"{fmt.count(line.task.samples_cut)} not listed")
    if line.task.has_polled_counts:
        words.append("at the last poll")
    if (age := _noted_age(line)) is not None:
        words.append(f"read {fmt.age(age)} ago")
    return " · ".join(words)


def lacks_rows(task: Task) -> bool:
    """Return whether the log of an ended task has samples but their rows were not kept.

    The history keeps the counts of a log, and not its rows.
    """
    return task.logged is not None and task.logged.cut > 0 and not task.samples


def _noted_age(line: TaskLine) -> float | None:
    """Return the age of samples that are not fresh, seconds; None: they are fresh."""
    heard_at = line.task.samples_heard_at
    if heard_at is None or line.task.is_over:
        return None
    age = max(0.0, line.now - heard_at)
    return age if age > STALE_AFTER_S or not line.is_reached else None


def _why_none(line: TaskLine) -> str:
    if lacks_rows(line.task):
        return "open the task to read the samples from its log"
    if line.task.samples_error:
        return f"evalroom can't read the samples in the log: {line.task.samples_error}"
    if line.task.trouble:
        return f"evalroom can't read the samples: {line.task.trouble}"
    if line.task.samples_as_of is None:
        is_known = line.is_known
        return "the samples have not been read yet" if is_known else "the machine can't be reached"
    if line.task.logged is not None:
        header = line.task.header
        has_buffer = header is not None and header.buffer is not None
        return (
            "its log has no samples" + has_buffer * "; open the task to see what can be recovered"
        )
    return "the task lists no samples"
