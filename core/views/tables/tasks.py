"""The table of tasks: one row for each, those in trouble first."""

from core import format as fmt
from core.fleet import Fleet
from core.ids import TaskKey
from core.judge.pace import time_left, tokens_per_minute
from core.model.process import Process, ProcessState
from core.model.task import TaskState
from core.views.cells import UNKNOWN, Bar, Cell, Span, Table, Tone, count_cell, span_of, text_cell
from core.views.findings.of_rows import FINDING_COLUMN, finding_cell, finding_of_tasks, finding_word
from core.views.glyphs import GlyphName, glyph
from core.views.tables.fields import Fields, FieldValue, field, table, without_column
from core.views.tables.machines import marks
from core.views.tables.row_context import (
    STALE_AFTER_S,
    EstimateTimeLeft,
    TaskLine,
    task_lines,
    trouble_rank,
)

_SIGNS: dict[TaskState, tuple[GlyphName, Tone]] = {
    TaskState.RUNNING: ("run", "good"),
    TaskState.FINISHING: ("finishing", "plain"),
    TaskState.SUCCESS: ("success", "good"),
    TaskState.ERROR: ("failed", "error"),
    TaskState.CANCELLED: ("cancelled", "warning"),
    TaskState.LOST: ("lost", "error"),
    TaskState.UNREADABLE: ("unknown", "warning"),
}


def task_glyph(line: TaskLine) -> Span:
    """Return the glyph of a task's state; unknown if its machine can't be reached."""
    state = line.task.state
    if not line.is_known:
        return Span(glyph("unknown"), "dim")
    if state is TaskState.RUNNING:
        if line.process_state in {ProcessState.STARVED, ProcessState.HEADLESS}:
            return Span(glyph("starved"), "error")
        if line.task.row.paused:
            return Span(glyph("hold"), "warning")
    name, tone = _SIGNS[state]
    return Span(glyph(name), tone)


def state_word(line: TaskLine) -> Span:
    """Return the word of a task's state; `unknown` if its machine can't be reached."""
    task = line.task
    if not line.is_known:
        return span_of("unknown", "dim")
    if task.state is TaskState.RUNNING:
        if line.process_state in {ProcessState.STARVED, ProcessState.HEADLESS}:
            return span_of(str(line.process_state), "error")
        if task.row.paused:
            return span_of("paused", "warning")
        if task.row.resolving:
            return span_of(f"stopping: {task.row.resolving}", "warning")
        if line.is_cancelling:
            return span_of("cancelling", "warning")
    return span_of(str(task.state), _SIGNS[task.state][1])


def pause_cell(line: TaskLine) -> Cell:
    """Return what pauses a task, the held samples, and whether it is quiesced; or its stop."""
    row = line.task.row
    if line.task.state is not TaskState.RUNNING:
        return UNKNOWN
    spans = list[Span]()
    if row.paused:
        words = [name for name in row.paused if name not in row.paused_now]
        words += [f"{name} (now)" for name in row.paused_now]
        spans.append(span_of(", ".join(words), "warning"))
        if row.held:
            spans.append(span_of(f" · {fmt.count(row.held)} held", "warning"))
        if row.quiesced:
            spans.append(span_of(" · quiesced", "dim"))
    elif row.resolving:
        spans.append(span_of(str(row.resolving), "warning"))
    elif line.is_cancelling:
        spans.append(span_of("cancelling", "warning"))
    return tuple(spans)


def is_parked(line: TaskLine) -> bool:
    """Whether the task has ended and its process is kept alive."""
    return line.is_reached and line.task.is_over and line.process_state is ProcessState.PARKED


def _pause_or_parked(line: TaskLine) -> Cell:
    return (span_of("(parked)", "dim"),) if is_parked(line) else pause_cell(line)


def _done(line: TaskLine) -> int:
    return line.task.progress.completed


def progress_bar(line: TaskLine) -> Cell:
    """Return the bar of ended and errored samples; unknown without a total."""
    samples = line.task.progress
    if samples.total <= 0:
        return UNKNOWN
    done = min(1.0, max(0.0, samples.ended / samples.total))
    failed = min(done, max(0.0, samples.errored / samples.total))
    return (Bar(done, failed, "good" if line.is_known else "dim"),)


def done_cell(line: TaskLine) -> Cell:
    """Return the completed samples of all; `~` marks an ended task's numbers of the last poll."""
    total = line.task.progress.total
    if total <= 0:
        return UNKNOWN
    done = f"{fmt.sane(_done(line)):.0f}/{fmt.sane(total):.0f}"
    return (span_of(f"~{done}", "dim") if line.task.has_polled_counts else span_of(done),)


def _progress(line: TaskLine) -> FieldValue:
    samples = line.task.progress
    return samples.ended / samples.total if samples.total > 0 else None


def _in_flight(line: TaskLine) -> int | None:
    return line.task.row.samples.in_flight if line.task.state is TaskState.RUNNING else None


def _queued(line: TaskLine) -> int | None:
    return line.task.row.samples.queued if line.task.state is TaskState.RUNNING else None


def rate(line: TaskLine) -> float | None:
    """Return a running task's recent tokens per minute; None if unknown."""
    if line.task.state is not TaskState.RUNNING or not line.is_known:
        return None
    return tokens_per_minute(line.task.trail, line.task.heard_at)


def left_cell(line: TaskLine) -> Cell:
    """Return a running task's time left as a range, or `unknown`."""
    if line.task.state is not TaskState.RUNNING or line.task.row.paused or not line.is_known:
        return UNKNOWN
    left = line.estimate(line.task, line.now)
    if left is None:
        return (span_of("unknown", "dim"),)
    return (Span(fmt.span_of_time(left.p50, left.p90)),)


def _left_value(line: TaskLine) -> FieldValue:
    left = line.estimate(line.task, line.now) if line.is_known else None
    return None if left is None else left.p50


def score_cell(line: TaskLine) -> Cell:
    """Return the score of the log; before its end, the process's running score, dim.

    A score over fewer samples than there are says over how many: `.81 7/12`.
    """
    header = line.task.header
    final = header is not None and bool(header.metrics) and line.task.is_over
    metrics = header.metrics if header is not None and final else line.task.interim
    if not metrics:
        return UNKNOWN
    tone: Tone = "plain" if final else "dim"
    over = line.task.scored if final else None
    if over is None:
        return (Span(fmt.score(metrics[0].value, metrics[0].stderr), tone),)
    scored, total = over
    return (Span(fmt.score(metrics[0].value), "warning"), span_of(f" {scored}/{total}", "dim"))


def _score_value(line: TaskLine) -> FieldValue:
    header = line.task.header
    metrics = header.metrics if header is not None and header.metrics else line.task.interim
    return fmt.sane(metrics[0].value) if metrics else None


def age_cell(line: TaskLine) -> Cell:
    """Return the age of a task's data; a warning once it is older than it should be."""
    old = line.age > STALE_AFTER_S and not line.task.is_over
    return (Span(fmt.age(line.age), "warning" if old else "dim"),)


TASK_FIELDS = Fields[TaskLine](
    (
        field("sign", lambda line: (task_glyph(line),), trouble_rank, title="", width=1),
        field(
            "machine",
            lambda line: (
                *marks(line.machine),
                *text_cell(line.task.key.machine, "dim"),
            ),
            lambda line: line.task.key.machine,
            width=7,
            rank=3,
        ),
        field(
            "task",
            lambda line: text_cell(line.task.row.task, "strong"),
            lambda line: line.task.row.task,
            width=14,
            grow=3,
        ),
        field(
            "model",
            lambda line: text_cell(line.task.row.model, "dim"),
            lambda line: line.task.row.model,
            width=12,
            grow=2,
            rank=5,
        ),
        field(
            FINDING_COLUMN,
            lambda line: finding_cell(line.finding, line.now, is_known=line.is_known),
            lambda line: finding_word(line.finding),
            width=16,
            rank=2,
        ),
        field("progress", progress_bar, _progress, width=8, grow=1, rank=4),
        field("done", done_cell, _done, align="right", width=7),
        field(
            "err",
            lambda line: count_cell(line.task.progress.errored, "error", zero="dim"),
            lambda line: line.task.progress.errored,
            align="right",
            width=3,
            rank=1,
        ),
        field(
            "fly",
            lambda line: count_cell(_in_flight(line), zero="dim"),
            _in_flight,
            title="run",
            align="right",
            width=3,
            rank=2,
        ),
        field(
            "queued",
            lambda line: count_cell(_queued(line), "dim"),
            _queued,
            align="right",
            width=6,
            rank=8,
        ),
        field(
            "latch",
            _pause_or_parked,
            lambda line: "+".join(line.task.row.paused),
            title="paused by",
            width=16,
            grow=1,
            rank=5,
        ),
        field(
            "tries",
            lambda line: count_cell(
                line.task.row.attempts, "warning" if line.task.row.attempts > 1 else "dim"
            ),
            lambda line: line.task.row.attempts,
            align="right",
            width=5,
            rank=9,
        ),
        field(
            "tokens",
            lambda line: count_cell(line.task.total_tokens),
            lambda line: line.task.total_tokens,
            align="right",
            width=6,
            rank=7,
        ),
        field(
            "tok/min",
            lambda line: count_cell(rate(line), zero="dim"),
            rate,
            align="right",
            width=7,
            rank=6,
        ),
        field(
            "http",
            lambda line: count_cell(line.task.row.http_retries, "warning", zero="dim"),
            lambda line: line.task.row.http_retries,
            align="right",
            width=5,
            rank=7,
        ),
        field(
            "refused",
            lambda line: count_cell(line.task.row.refusals, "warning", zero="dim"),
            lambda line: line.task.row.refusals,
            align="right",
            width=7,
            rank=9,
        ),
        field("left", left_cell, _left_value, align="right", width=7, rank=2),
        field("score", score_cell, _score_value, align="right", width=8, rank=2),
        field(
            "log",
            lambda line: text_cell(line.task.row.log_location, "dim"),
            lambda line: line.task.row.log_location,
            width=12,
            grow=1,
            rank=10,
        ),
        field("age", age_cell, lambda line: line.age, align="right", width=4, rank=1),
    )
)


def tasks_table(
    fleet: Fleet, now: float, *, estimate: EstimateTimeLeft = time_left
) -> Table[TaskKey]:
    """Return the tasks of every machine, trouble first, else in the order first seen.

    Args:
        fleet: All that is known.
        now: Unix seconds at the desk.
        estimate: Returns a task's time left; who draws often passes one that remembers.
    """
    found = finding_of_tasks(fleet)
    each_line = task_lines(fleet, now, estimate)
    if found:
        each_line = (line._replace(finding=found.get(line.task.key)) for line in each_line)
    lines = sorted(each_line, key=trouble_rank)
    rows = (
        TASK_FIELDS.row(
            line.task.key, line, "plain" if line.is_known and not line.task.is_over else "dim"
        )
        for line in lines
    )
    tasks = table(
        TASK_FIELDS,
        rows,
        title="Tasks",
        footer=f"{len(lines)} · sorted by trouble" if lines else "",
        empty=_why_none(fleet),
    )
    return tasks if found else without_column(tasks, FINDING_COLUMN)


def _why_none(fleet: Fleet) -> str:
    """Return why no task is listed: nothing runs, or evalroom can't know."""
    living = [process for process in fleet.processes.values() if not process.is_gone]
    if any(_can_tell(fleet, process) for process in living):
        return "no process has started a task yet"
    if living:
        return "tasks are unknown: no process on these machines answers now"
    if any(machine.is_reached for machine in fleet.machines.values()):
        return "no eval runs on the machines that answered"
    if any(machine.probe is not None for machine in fleet.machines.values()):
        return "tasks are unknown: no machine can be reached now"
    return "no machine has answered yet"


def _can_tell(fleet: Fleet, process: Process) -> bool:
    machine = fleet.machines.get(process.key.machine)
    return process.state in _TELLING and (machine is None or machine.link.is_alive)


_TELLING = frozenset({ProcessState.STARTING, ProcessState.LIVE, ProcessState.PARKED})
"""States of a process whose tasks are known."""
