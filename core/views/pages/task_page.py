"""The page of one task: its state, its samples by status, their durations, its score."""

from collections.abc import Iterator

from core import format as fmt
from core.ctl.recovery_command import inspect_of
from core.fleet import Fleet
from core.ids import TaskKey
from core.judge.pace import durations, quantile, time_left
from core.model.log_summary import LogHeader, Metric
from core.model.task import TaskState
from core.views.cells import UNKNOWN, Bar, Cell, Tone, count_cell, span_of
from core.views.error_group_lines import error_group_line
from core.views.pages.moments import end_words
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.pages.recovery import recovery_lines
from core.views.slow_polls import polls_of_task, slow_poll_words
from core.views.tables.row_context import EstimateTimeLeft, TaskLine, task_line
from core.views.tables.tasks import (
    age_cell,
    is_parked,
    left_cell,
    pause_cell,
    progress_bar,
    rate,
    state_word,
)
from core.watch.cadence import phase_of

_SEEN_SANDBOXES = frozenset({"docker", "local"})
"""Types of sandboxes that evalroom sees, or that are no more than a folder of the eval."""
_SHOWN_METRICS = 40


def task_page(
    fleet: Fleet, key: TaskKey, now: float, *, estimate: EstimateTimeLeft = time_left
) -> Page:
    """Return a task's page, without its plot, knobs and throughput: those are read on opening.

    Args:
        fleet: All that is known.
        key: The task.
        now: Unix seconds at the desk.
        estimate: Returns the task's time left.
    """
    line = task_line(fleet, key, now, estimate)
    if line is None:
        return page(key.task_id, (section("", (words("", "this task is no longer known"),)),))
    return page(
        line.task.row.task or key.task_id,
        (
            section("Task", _facts(line)),
            section("Samples", _samples(line)),
            section("Errors", _errors(line)),
            section("Durations", _durations(line)),
            section("Score", _score(line)),
        ),
    )


def _sandboxes(line: TaskLine) -> Iterator[Fact]:
    """Yield whether evalroom sees the sandboxes, where it knows that the task has some."""
    kind = line.process.sandbox_type if line.process is not None else ""
    if line.task.has_sandboxes:
        number = fmt.plural(len(line.task.sandboxed), "running sample")
        yield words("sandboxes", f"docker; {number} known to hold one", "dim")
    elif kind and kind not in _SEEN_SANDBOXES and not line.task.is_over:
        why = "evalroom does not see its sandboxes, so it can't tell whether they run"
        yield words("sandboxes", f"{kind}: {why}", "warning")


def _facts(line: TaskLine) -> Iterator[Fact]:
    task, row = line.task, line.task.row
    yield fact("state", (state_word(line), span_of("  "), *pause_cell(line)))
    if is_parked(line):
        yield words("process", "parked: it is kept alive after its end; release lets it exit")
    yield fact("progress", (*progress_bar(line), span_of("  "), *_progress_words(line)))
    yield fact("left", left_cell(line))
    yield from _phase(line)
    yield words("model", row.model)
    yield words("solver", row.solver)
    yield words("machine", f"{task.key.machine}, pid {task.key.process.pid}")
    yield from _sandboxes(line)
    yield fact("tokens", _tokens(line))
    yield fact("messages", count_cell(task.total_messages))
    yield fact("HTTP retries", count_cell(row.http_retries, "warning", zero="plain"))
    yield fact("refusals", count_cell(row.refusals, "warning", zero="plain"))
    yield fact("attempts", count_cell(row.attempts, "warning" if row.attempts > 1 else "plain"))
    yield fact("epochs", count_cell(row.epochs))
    if task.ended_at is not None and task.is_over:
        process = line.process if task.state is TaskState.LOST else None
        after = process.ended_after if process is not None else None
        yield words("ended", end_words(after, task.ended_at))
    yield words("log", row.log_location, "dim", limit=1_000)
    if task.header is not None and task.header.is_copy and task.is_over:
        yield words("log read", "here, from a copy: its machine has no Inspect", "dim")
    if task.log_problem:
        again = "; evalroom tries again, r reads it now" if row.log_location else ""
        yield words("log error", f"{task.log_problem}{again}", "warning", limit=400)
    if task.samples_error:
        yield words("log samples", task.samples_error, "warning", limit=400)
    if task.trouble:
        yield words("trouble", task.trouble, "warning", limit=400)
    for poll in polls_of_task(line.process, task.key.task_id):
        what = "its row is" if poll.task_id is None else "its samples are"
        yield words("polls", f"{what} {slow_poll_words(poll)}", "warning", limit=400)
    yield words("task id", row.task_id, "dim")
    yield words("eval id", row.eval_id, "dim")
    yield fact("last read", (*age_cell(line), span_of(" ago", "dim")))


def _phase(line: TaskLine) -> Iterator[Fact]:
    if line.task.state is TaskState.RUNNING:
        phase = phase_of(line.task, line.now, focused=False)
        yield words("phase", phase, "warning" if phase == "trouble" else "plain")


def _progress_words(line: TaskLine) -> Cell:
    counts = line.task.progress
    done = f"{fmt.count(counts.completed)} of {fmt.count(counts.total)}"
    if line.task.has_polled_counts:
        return (span_of(done, "dim"), span_of(" at the last poll", "warning"))
    return (span_of(done),)


def _tokens(line: TaskLine) -> Cell:
    total = count_cell(line.task.total_tokens)
    per_minute = rate(line)
    if per_minute is None:
        return total
    return (*total, span_of(f"  {fmt.count(per_minute)} per minute", "dim"))


def _samples(line: TaskLine) -> Iterator[Fact]:
    counts = line.task.counts
    if counts is None:
        return
    total = max(1, counts.total)
    for word, number in (
        ("running", counts.running),
        ("errored", counts.error),
        ("done", counts.completed),
        ("queued", counts.not_started),
        ("cancelled", counts.cancelled),
        (line.task.missing_word, counts.abandoned),
    ):
        if not number:
            continue
        share = max(0.0, min(1.0, number / total))
        bar = Bar(share, share) if word == "errored" else Bar(share)
        yield fact(word, (bar, span_of(f" {fmt.count(number)}")))
    if line.task.samples_cut:
        yield words("not listed", f"{fmt.count(line.task.samples_cut)} (open one to fetch it)")


def _errors(line: TaskLine) -> Iterator[Fact]:
    """Yield why samples errored: each cause with its count and one sample that shows it."""
    task = line.task
    if task.header is not None and task.header.cause and task.is_over:
        tone: Tone = "warning" if task.state is TaskState.CANCELLED else "error"
        yield words("the log", task.header.cause, tone, limit=400)
    if task.state is TaskState.LOST and task.header is not None:
        inspect = inspect_of(line.process)
        data_dir = line.process.data_dir if line.process is not None else None
        yield from recovery_lines(task.header.buffer, inspect, task.header.location, data_dir)
    for group in task.errors:
        yield words("", error_group_line(group), "error", limit=400)


def _durations(line: TaskLine) -> Iterator[Fact]:
    took = durations(line.task)
    if not took:
        return
    for label, fraction in (("median", 0.5), ("90% within", 0.9), ("longest", 1.0)):
        yield fact(label, (span_of(fmt.duration(quantile(took, fraction))),))
    yield words("based on", f"the newest {fmt.plural(len(took), 'finished sample')}", "dim")


def _score(line: TaskLine) -> Iterator[Fact]:
    header = line.task.header
    if header is not None and line.task.is_over:
        yield words("log says", _status(header), "strong")
        if line.task.logged is not None:
            counts = line.task.logged.counts
            yield fact("scored", _of(counts.scored, counts.total))
        elif header.completed_samples is not None or header.total_samples is not None:
            yield fact("done", _of(header.completed_samples, header.total_samples))
        yield from _metrics(header.metrics, line.task.scored)
    elif line.task.interim:
        yield words("so far", "of the samples scored so far", "dim")
        yield from _metrics(line.task.interim)


def _status(header: LogHeader) -> str:
    """Return the status of a log, with the outcome that its error shows where they differ."""
    if header.outcome == header.status:
        return header.status
    return f"{header.status}, because an operator cancelled the task"


def _metrics(metrics: tuple[Metric, ...], scored: tuple[int, int] | None = None) -> Iterator[Fact]:
    over = () if scored is None else (span_of(f" over {scored[0]} of {scored[1]}", "warning"),)
    for metric in metrics[:_SHOWN_METRICS]:
        name = metric.name if metric.scorer == metric.name else f"{metric.scorer} {metric.name}"
        yield fact(name, (span_of(fmt.score(metric.value, metric.stderr)), *over))


def _of(part: int | None, whole: int | None) -> Cell:
    if part is None or whole is None:
        return count_cell(part) or count_cell(whole) or UNKNOWN
    return (span_of(f"{fmt.count(part)} of {fmt.count(whole)}"),)
