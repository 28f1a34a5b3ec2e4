"""The state of a run that its logs prove. Pure."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ctl.decode import count, inner, objects, text
from core.ctl.log_answers import log_reading
from core.errors import AnswerMalformed
from core.format import plural
from core.launch.engines.start_failures import (
    error_line,
    limit_reached,
    plain_text,
    reason_in,
)
from core.launch.preflight.check_text import size
from core.launch.run.run_state import with_error
from core.model.log_summary import LogReading, LogSummary, UnreadLog
from core.model.run import Run, RunLog, RunState
from core.text import shown

_NO_END = "its process is gone, and one of its logs is incomplete"
_MAX_CAUSE_CHARS, _MAX_MESSAGE_CHARS = 160, 600
_MAX_GROUPS = 20
_MAX_CAUSES = 3
"""Causes of errors in a message; the run's page has all."""


CLOCK_NOISE_S = 1.0
"""A smaller measured difference of clocks is mostly the time that the measurement took, seconds.

Each instance of evalroom measures its own; without it, all of them find the same times in a log.
"""


def after_logs(
    run: Run,
    report: Mapping[str, Any],
    now: float,
    *,
    is_alive: bool,
    is_patient: bool = False,
    offset: float = 0.0,
) -> Run:
    """Return a run with the state that its own logs prove.

    Args:
        run: The run as known so far, with the state that its process gave it.
        report: The launcher's report of its logs: `logs`, the newest first; `others`, the number
            of logs in the folder that are not its own; `error`, why none could be read; `output`,
            the end of its output where it left no log.
        now: The time at the desk, Unix seconds.
        is_alive: Whether its process may still work: a log may still end, and a task in error
            may be retried.
        is_patient: Whether logs that can't be read are tried again soon.
        offset: The clock of the machine minus the desk's, seconds.
    """
    readings = _readings(report)
    logs = newest_logs(readings)
    known = replace(run, logs=logs or run.logs)
    reasons = (each.reason for each in readings if isinstance(each, UnreadLog))
    unread = text(report, "error") or next(reasons, None)
    statuses = {log.outcome for log in logs}
    has_no_end = not statuses or "started" in statuses
    if run.state is RunState.ELSEWHERE and (unread is not None or has_no_end):
        return known
    if run.state is RunState.LOST and (unread is not None or not logs):
        return run
    if unread is not None:
        state = run.state if is_alive or is_patient else RunState.UNREADABLE
        return replace(known, state=state, message=f"can't read its logs: {_reason(unread)}")
    # A lost run that somebody resumed has ended later.
    ended_at = now if run.state is RunState.LOST else run.ended_at or now
    ended = replace(known, ended_at=ended_at)
    if is_alive and statuses != {"success"}:
        return replace(ended, message="its process is still running and may retry a task")
    return _with_logged_times(_ended(ended, logs, report, now), readings, now, offset)


def _with_logged_times(run: Run, readings: Sequence[LogReading], now: float, offset: float) -> Run:
    """Return a run that is over with the times in its logs: it may have been found later.

    It ended when the last of its logs did. Without an end in one of them, it ended between the
    last write and the time at which its process was found gone; the earlier one is kept.
    """
    if abs(offset) < CLOCK_NOISE_S:
        offset = 0.0
    headers = [each.header for each in readings if isinstance(each, LogSummary)]
    ends = [each.completed_at if each.is_final else each.last_written_at for each in headers]
    known = [at - offset for at in ends if at is not None]
    if not run.is_over or not headers or run.ended_at is None:
        return run
    # An eval-set goes on with logs that are older than the run.
    starts = [each.started_at - offset for each in headers if each.started_at is not None]
    starts = [at for at in (*starts, run.started_at) if at is not None and at >= run.at]
    began = min(starts, default=run.started_at)
    is_final = all(each.is_final for each in headers)
    until = now if is_final else run.ended_at
    ended = min(until, max(known)) if len(known) == len(headers) else run.ended_at
    return replace(run, started_at=began, ended_at=max(ended, began or ended))


def _ended(run: Run, logs: Sequence[RunLog], report: Mapping[str, Any], now: float) -> Run:
    """Return the final state of a run whose process is gone and whose logs were read."""
    statuses = {log.outcome for log in logs}
    if not logs:
        return with_error(run, _no_log(report), now)
    if "started" in statuses:
        why = _kills(report) or limit_reached(text(report, "output") or "")
        return replace(run, state=RunState.LOST, message=f"{_NO_END}: {why}" if why else _NO_END)
    if statuses == {"success"}:
        return replace(run, state=RunState.SUCCESS, message="")
    if statuses <= {"success", "cancelled"}:
        return replace(run, state=RunState.CANCELLED, message="")
    return replace(run, state=RunState.ERROR, message=_why(logs))


def _reason(output: str) -> str:
    return error_line(plain_text(output))


def _no_log(report: Mapping[str, Any]) -> str:
    """Return why a run left no log, as far as its output says."""
    others = count(report, "others") or 0
    verb = "is" if others == 1 else "are"
    more = f"; {plural(others, 'other log')} {verb} in that folder" if others else ""
    output = text(report, "output") or ""
    why = _kills(report) or (reason_in(output) if output.strip() else "")
    return f"its process ended and left no log{more}{f': {why}' if why else ''}"


def _kills(report: Mapping[str, Any]) -> str:
    """Return which kills for lack of memory the kernel counts since the run's start."""
    kills = inner(report, "kills")
    here, machine = count(kills, "group") or 0, count(kills, "machine") or 0
    limit = count(kills, "limit")
    if here:
        of = f" (limit {size(limit)})" if limit else ""
        what = plural(here, "process", "processes")
        return f"the kernel killed {what} of its control group for lack of memory{of}"
    if machine:
        what = plural(machine, "process", "processes")
        return f"since the run started, the kernel killed {what} on the machine for lack of memory"
    return ""


def _why(logs: Sequence[RunLog]) -> str:
    """Return why a run failed: the causes of its own errors and of its samples' errors."""
    causes = [
        f"a task ended in error: {shown(log.cause, _MAX_CAUSE_CHARS)}" for log in logs if log.cause
    ]
    groups = [group for log in logs for group in log.errors]
    failed = sum(group.count for group in groups)
    if failed:
        named = [f"{g.count} x {shown(g.cause, _MAX_CAUSE_CHARS)}" for g in groups[:_MAX_CAUSES]]
        more = [f"{plural(len(groups) - _MAX_CAUSES, 'more cause')}"] * (len(groups) > _MAX_CAUSES)
        causes.append(f"{plural(failed, 'sample')} errored: {'; '.join((*named, *more))}")
    if causes:
        return shown("; ".join(dict.fromkeys(causes)), _MAX_MESSAGE_CHARS)
    return "one of its logs has the status error"


def newest_logs(readings: Sequence[LogReading]) -> tuple[RunLog, ...]:
    """Return the newest log of each task: a retried task has several."""
    out: dict[object, RunLog] = {}
    for reading in readings:
        if isinstance(reading, UnreadLog):
            continue
        header = reading.header
        out.setdefault(
            (header.task_id or header.location, header.model),
            RunLog(
                location=header.location[:4_096],
                status=header.status[:50],
                task=header.task[:500],
                model=header.model[:500],
                metrics=header.metrics[:50],
                completed_samples=header.completed_samples,
                total_samples=header.total_samples,
                cause=header.cause[:_MAX_CAUSE_CHARS],
                buffer=header.buffer,
                errors=() if reading.samples is None else reading.samples.errors[:_MAX_GROUPS],
            ),
        )
    return tuple(out.values())


def _readings(report: Mapping[str, Any]) -> tuple[LogReading, ...]:
    found: list[LogReading] = []
    for row in objects(report, "logs"):
        with contextlib.suppress(AnswerMalformed):
            found.append(log_reading(row))
    return tuple(found)
