"""Runs as lines for people and as JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from cli.render.events import score_words
from core.launch.ports import ErrorExample
from core.model.log_summary import ErrorGroup
from core.model.run import Run, RunLog, RunState
from core.text import shown
from core.views.error_group_lines import error_group_line
from core.views.pages.moments import moment
from core.views.pages.run_page import (
    error_group_lines,
    inspect_command,
    recovery_commands,
    secrets_note,
    why_command,
)
from core.views.tables.runs import log_folder


def run_json(run: Run) -> dict[str, Any]:
    """Return a run as a value for JSON; `scores` come from the header of its log."""
    return {
        "run_id": run.id,
        "state": str(run.state),
        "status": run.status,
        "message": run.message,
        "machine": run.machine,
        "task": run.task,
        "model": run.model,
        "engine": run.engine,
        "operator": run.operator,
        "is_ours": run.is_ours,
        "launch": run.launch,
        "at": run.at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "pid": run.pid,
        "host": run.host,
        "leftover": run.leftover,
        "commit": run.commit,
        "directory": run.directory,
        "log_dir": log_folder(run.directory, run.log_dir),
        "output_file": run.output_file,
        "command_line": run.command_line,
        "attach": list(run.attach),
        "spec": dict(run.spec),
        "scores": [score for log in run.logs for score in _scores(log)],
        "logs": [_log(log) for log in run.logs],
    }


def _log(log: RunLog) -> dict[str, Any]:
    return {
        "location": log.location,
        "status": log.status,
        "task": log.task,
        "model": log.model,
        "completed_samples": log.completed_samples,
        "total_samples": log.total_samples,
        "cause": log.cause,
        "errors": [_group(group) for group in log.errors],
        "scores": _scores(log),
    }


def _group(group: ErrorGroup) -> dict[str, Any]:
    sample, epoch = group.example
    return {"cause": group.cause, "count": group.count, "sample_id": sample, "epoch": epoch}


def _scores(log: RunLog) -> list[dict[str, Any]]:
    return [
        {
            "scorer": metric.scorer,
            "metric": metric.name,
            "value": metric.value,
            "stderr": metric.stderr,
        }
        for metric in log.metrics
    ]


def run_line(run: Run) -> str:
    """Return a run as one line."""
    whose = "" if run.is_ours else f"  by {shown(run.operator, 60)}"
    words = f"{run.id}  {run.state:<10}  {shown(run.machine)}  {shown(run.task)}"
    return f"{words}  {shown(run.model)}{whose}{_ending(run)}"


def _ending(run: Run) -> str:
    if run.message:
        return f"  {shown(run.message, 300)}"
    scores = [words for log in run.logs for words in score_words(log.metrics)]
    return f"  {', '.join(scores)}" if scores else ""


def _samples(log: RunLog) -> str:
    if log.total_samples is None:
        return ""
    done = "?" if log.completed_samples is None else log.completed_samples
    return f"{done}/{log.total_samples}"


def run_lines(run: Run) -> Iterator[str]:
    """Yield all that is known about a run, as lines."""
    yield run_line(run)
    for label, text in (
        ("launched", f"{moment(run.at)} by {shown(run.operator, 100)}"),
        ("engine", run.engine),
        ("commit", run.commit),
        ("folder", run.directory),
        ("logs", log_folder(run.directory, run.log_dir)),
        ("output", run.output_file),
        ("pid", "" if run.pid is None else str(run.pid)),
        ("host", run.host),
        ("left over", run.leftover),
        ("attach", " ".join(run.attach)),
        ("command", inspect_command(run)),
        ("", secrets_note(run)),
    ):
        if text:
            yield f"    {label:<9} {shown(text, 20_000)}"
    for log in run.logs:
        scores = ", ".join(score_words(log.metrics))
        parts = (shown(log.outcome), _samples(log), scores, shown(log.location, 500))
        yield f"    {'log':<9} {'  '.join(each for each in parts if each)}"
    yield from why_lines(run)


def why_lines(run: Run) -> Iterator[str]:
    """Yield why a run failed, and the commands that show more."""
    for log in run.logs if run.is_over else ():
        for each in error_group_lines(log):
            yield f"    {'why':<9} {each}"
        command = why_command(run, log)
        if command:
            yield f"    {'more':<9} {shown(command, 20_000)}"
    for command in recovery_commands(run):
        yield f"    {'recover':<9} {shown(command, 20_000)}"
    if run.state is RunState.ERROR and not run.logs and run.started_at is not None:
        yield f"    see its output: evalroom output {run.id}"


def example_json(examples: Iterable[ErrorExample]) -> list[dict[str, Any]]:
    """Return the full errors of samples as a value for JSON."""
    return [{**_group(each.group), "text": each.text, "trouble": each.trouble} for each in examples]


def example_lines(examples: Iterable[ErrorExample]) -> Iterator[str]:
    """Yield the full errors of samples, as lines; made harmless for the terminal."""
    for each in examples:
        yield ""
        yield f"    {error_group_line(each.group)}"
        if each.text is None:
            yield f"        can't read it: {shown(each.trouble or 'its log has no error', 300)}"
        for line in (each.text or "").splitlines():
            yield f"        {shown(line, 2_000)}"
