"""The state of a run, computed from the fleet, its folder and its logs. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ctl.decode import count, inner, objects, text
from core.ctl.envelopes import header_metrics
from core.errors import JobFailed, SpecWrong
from core.launch.engines.engine import FileOutput, ScreenOutput, StartResult
from core.launch.engines.registry import engine_named
from core.launch.engines.start_failures import (
    error_line,
    plain_text,
    start_failure,
)
from core.model.process import Process
from core.model.run import Run, RunLog, RunState
from core.text import shown

_NO_END = "its process is gone, and one of its logs is incomplete"
_GIVE_UP_AFTER_S = 86_400.0
"""Someone else's run that has not started after this many seconds counts as failed."""


def after_fleet(run: Run, process: Process, now: float) -> Run:
    """Return a run with the state of its process in the fleet."""
    known = replace(
        run,
        pid=process.key.pid,
        start=process.key.start,
        started_at=run.started_at or now,
        message="",
    )
    if process.is_resting:
        return replace(known, state=RunState.FINISHING, ended_at=run.ended_at or now)
    return replace(known, state=RunState.RUNNING, ended_at=None)


def after_poll(run: Run, row: Mapping[str, Any], now: float, *, is_abandoned: bool) -> Run:
    """Return a run with the state of its folder and its process on the machine.

    Args:
        run: The run as known so far.
        row: Its row in the answer of the launcher's `look`.
        now: The time at the desk, Unix seconds.
        is_abandoned: Whether the instance of evalroom that was to start it has ended.
    """
    if not has_started(run, row):
        return _not_started(run, row, now) if is_abandoned else _unless_given_up(run, now)
    begun = replace(_with_start_record(run, row), started_at=run.started_at or now)
    if row.get("alive") is True:
        pid, start = count(row, "pid"), text(row, "start")
        if pid is None:
            return replace(begun, state=RunState.STARTING)
        return replace(begun, state=RunState.RUNNING, pid=pid, start=start, message="")
    if run.state in {RunState.PREPARING, RunState.STARTING, RunState.QUEUED} and _never_ran(row):
        if _is_still_starting(begun, row, now):
            return replace(begun, state=RunState.STARTING)
        return with_error(begun, _start_error(run, row), now)
    return replace(begun, state=RunState.FINISHING, ended_at=run.ended_at or now)


def has_started(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a run was ever started; its folder may be gone since."""
    has_run = run.state in {RunState.RUNNING, RunState.FINISHING}
    return has_run or row.get("started") is True or row.get("alive") is True


def _not_started(run: Run, row: Mapping[str, Any], now: float) -> Run:
    done = "only its folder was created" if row.get("there") is True else "nothing was sent"
    return with_error(run, f"evalroom exited before it started this run; {done}", now)


def _unless_given_up(run: Run, now: float) -> Run:
    """Return a run that another instance is about to start; failed if that takes over a day."""
    if run.is_ours or now - run.at < _GIVE_UP_AFTER_S:
        return run
    return with_error(run, "evalroom has not started this run within a day", now)


def _never_ran(row: Mapping[str, Any]) -> bool:
    """Whether neither output nor logs show that an eval began."""
    return '"event"' not in (text(row, "out") or "") and not objects(row, "logs")


def _is_still_starting(run: Run, row: Mapping[str, Any], now: float) -> bool:
    """Whether the start went well so far, and the process may still appear."""
    try:
        engine = engine_named(run.engine)
        engine.read(0, text(row, "out") or "", text(row, "err") or "")
    except (JobFailed, SpecWrong):
        return False
    return now - (run.started_at or now) < engine.start_timeout_s


def _with_start_record(run: Run, row: Mapping[str, Any]) -> Run:
    out = text(row, "out") or ""
    if not out.strip():
        return run
    try:
        return with_started(run, engine_named(run.engine).read(0, out, text(row, "err") or ""))
    except (JobFailed, SpecWrong):
        return run


def with_started(run: Run, result: StartResult) -> Run:
    """Return a run with the result of its start."""
    output = result.output
    return replace(
        run,
        pid=run.pid if result.pid is None else result.pid,
        log_dir=result.log_dir or run.log_dir,
        attach=result.attach or run.attach,
        output_file=output.path if isinstance(output, FileOutput) else run.output_file,
        screen=output.words if isinstance(output, ScreenOutput) else run.screen,
    )


def _start_error(run: Run, row: Mapping[str, Any]) -> str:
    out, err = text(row, "out") or "", text(row, "err") or ""
    try:
        engine_named(run.engine).read(1, out, err)
    except JobFailed as error:
        return error.sentence
    except SpecWrong:
        return (
            "no eval appeared for this run, and this version of evalroom does not know its engine"
        )
    return "the start script ended, but no eval appeared"


def after_screen(run: Run, screen: str, now: float) -> Run:
    """Return a run that left no log as failed, with the error on its screen."""
    error = start_failure(screen)
    return with_error(run, error.sentence, now)


def with_error(run: Run, why: str, now: float) -> Run:
    """Return a run in the state error, with the reason."""
    return replace(run, state=RunState.ERROR, message=shown(why, 600), ended_at=run.ended_at or now)


def after_logs(
    run: Run,
    rows: Sequence[Mapping[str, Any]],
    now: float,
    *,
    is_alive: bool,
    is_last: bool = False,
) -> Run:
    """Return a run with the state that its logs prove; logs of other evals do not count.

    Args:
        run: The run as known so far.
        rows: The answer of the launcher's `logs`, newest log first.
        now: The time at the desk, Unix seconds.
        is_alive: Whether its process may still work: a log may still end, and a failed task
            may be retried.
        is_last: Whether this was the last attempt to read its logs.
    """
    own = [row for row in rows if _is_of(run, row)]
    logs = newest_logs(own)
    known = replace(run, logs=logs or run.logs, ended_at=run.ended_at or now)
    unread = next((text(row, "error") for row in own if text(row, "error")), None)
    if unread is not None:
        said = f"can't read one of its logs: {error_line(plain_text(unread))}"
        is_over = is_last and not is_alive
        return replace(known, state=RunState.LOST if is_over else known.state, message=said)
    if not logs:
        return replace(known, state=RunState.LOST, message="its process is gone and left no log")
    statuses = {log.status for log in logs}
    if is_alive and statuses != {"success"}:
        return replace(known, message="its process is still running and may retry a task")
    if "started" in statuses:
        return replace(known, state=RunState.LOST, message=_NO_END)
    if statuses == {"success"}:
        return replace(known, state=RunState.SUCCESS, message="")
    worst = "error" if "error" in statuses else "cancelled"
    return replace(
        known, state=RunState.ERROR, message=f"one of its logs ended with {shown(worst)}"
    )


def _is_of(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a log belongs to a run; one from before its start does if task and model match."""
    if row.get("is_old") is not True:
        return True
    what = inner(inner(row, "header"), "eval")
    task, model = text(what, "task") or "", text(what, "model")
    names = {run.task, re.split("[/@]", run.task)[-1]}
    return model == run.model and (task in names or task.rpartition("/")[2] in names)


def newest_logs(rows: Sequence[Mapping[str, Any]]) -> tuple[RunLog, ...]:
    """Return the newest log of each task: a retried task has several."""
    out: dict[object, RunLog] = {}
    for row in rows:
        header = inner(row, "header")
        status = text(header, "status")
        if status is None:
            continue
        what, results = inner(header, "eval"), inner(header, "results")
        key = (text(what, "task_id") or text(row, "path"), text(what, "model"))
        out.setdefault(
            key,
            RunLog(
                location=(text(row, "path") or "")[:4_096],
                status=status[:50],
                task=(text(what, "task") or "")[:500],
                model=(text(what, "model") or "")[:500],
                metrics=header_metrics(results)[:50],
                completed_samples=count(results, "completed_samples"),
                total_samples=count(results, "total_samples"),
            ),
        )
    return tuple(out.values())
