"""Where a run stands, from what was seen of it on its machine. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.ctl.decode import count, inner, objects, text
from core.ctl.envelopes import header_metrics
from core.errors import JobFailed, SpecWrong
from core.fleet import Fleet
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

_GIVE_UP_AFTER_S = 86_400.0
"""Seconds after which somebody else's run that never started is not waited for any more."""


def process_of_run(fleet: Fleet, run: Run) -> Process | None:
    """Return the newest process of a run that the fleet knows; None: none."""
    found = [
        process
        for process in fleet.processes.values()
        if process.run == run.id and process.key.machine == run.machine
    ]
    return max(found, key=lambda each: (each.ended_at is None, each.since), default=None)


def after_fleet(run: Run, process: Process, now: float) -> Run:
    """Return a run as its process in the fleet shows it."""
    known = replace(
        run,
        pid=process.key.pid,
        start=process.key.start,
        started_at=run.started_at or now,
        said="",
    )
    if process.is_resting:
        return replace(known, state=RunState.FINISHING, ended_at=run.ended_at or now)
    return replace(known, state=RunState.RUNNING, ended_at=None)


def after_poll(run: Run, row: Mapping[str, Any], now: float, *, is_abandoned: bool) -> Run:
    """Return a run as a look at its folder and its processes shows it.

    Args:
        run: As it was known.
        row: What the launcher's `look` tells of it.
        now: Unix seconds at the desk.
        is_abandoned: Whether no evalroom is about to start it: the one that was has ended.
    """
    if not has_started(run, row):
        return _not_started(run, row, now) if is_abandoned else _others(run, now)
    begun = replace(_as_its_start_says(run, row), started_at=run.started_at or now)
    if row.get("alive") is True:
        pid, start = count(row, "pid"), text(row, "start")
        if pid is None:
            return replace(begun, state=RunState.STARTING)
        return replace(begun, state=RunState.RUNNING, pid=pid, start=start, said="")
    if run.state in {RunState.PREPARING, RunState.STARTING, RunState.QUEUED} and _never_ran(row):
        if _is_on_its_way(begun, row, now):
            return replace(begun, state=RunState.STARTING)
        return with_error(begun, _why(run, row), now)
    return replace(begun, state=RunState.FINISHING, ended_at=run.ended_at or now)


def has_started(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a run was started: its folder may be gone, and it ran all the same."""
    has_run = run.state in {RunState.RUNNING, RunState.FINISHING}
    return has_run or row.get("started") is True or row.get("alive") is True


def _not_started(run: Run, row: Mapping[str, Any], now: float) -> Run:
    where = "its folder was made" if row.get("there") is True else "nothing was sent"
    return with_error(run, f"its evalroom ended before it was started: {where}", now)


def _others(run: Run, now: float) -> Run:
    """Return a run that another evalroom is about to start, as far as anybody can tell."""
    if run.is_ours or now - run.at < _GIVE_UP_AFTER_S:
        return run
    return with_error(run, "its evalroom has not started it within a day", now)


def _never_ran(row: Mapping[str, Any]) -> bool:
    """Whether nothing says that an eval ever began."""
    return '"event"' not in (text(row, "out") or "") and not objects(row, "logs")


def _is_on_its_way(run: Run, row: Mapping[str, Any], now: float) -> bool:
    """Whether its start went well, and its process may not be there yet."""
    try:
        engine = engine_named(run.engine)
        engine.read(0, text(row, "out") or "", text(row, "err") or "")
    except (JobFailed, SpecWrong):
        return False
    return now - (run.started_at or now) < engine.start_timeout_s


def _as_its_start_says(run: Run, row: Mapping[str, Any]) -> Run:
    out = text(row, "out") or ""
    if not out.strip():
        return run
    try:
        return with_started(run, engine_named(run.engine).read(0, out, text(row, "err") or ""))
    except (JobFailed, SpecWrong):
        return run


def with_started(run: Run, started: StartResult) -> Run:
    """Return a run with what its start answered."""
    where = started.output
    return replace(
        run,
        pid=run.pid if started.pid is None else started.pid,
        log_dir=started.log_dir or run.log_dir,
        attach=started.attach or run.attach,
        output_file=where.path if isinstance(where, FileOutput) else run.output_file,
        screen=where.words if isinstance(where, ScreenOutput) else run.screen,
    )


def _why(run: Run, row: Mapping[str, Any]) -> str:
    out, err = text(row, "out") or "", text(row, "err") or ""
    try:
        engine_named(run.engine).read(1, out, err)
    except JobFailed as error:
        return error.sentence
    except SpecWrong:
        return "no eval of it was seen, and its engine is not known here"
    return "its script ended, and no eval was seen"


def after_screen(run: Run, screen: str, now: float) -> Run:
    """Return a run that left no log, as the last that stands on its screen tells."""
    error = start_failure(screen)
    return with_error(run, error.sentence, now)


def with_error(run: Run, why: str, now: float) -> Run:
    """Return a run that failed, and why."""
    return replace(run, state=RunState.ERROR, said=shown(why, 600), ended_at=run.ended_at or now)


def after_logs(
    run: Run,
    rows: Sequence[Mapping[str, Any]],
    now: float,
    *,
    is_alive: bool,
    is_last: bool = False,
) -> Run:
    """Return a run as its logs prove it; others that lie in the same folder prove nothing.

    Args:
        run: As it was known.
        rows: What the launcher's `logs` tells, the newest first.
        now: Unix seconds at the desk.
        is_alive: Whether a process of it may still do something: then a log that never ended
            may end, and a task that failed may be tried again.
        is_last: Whether a log that can't be read is not waited for any more.
    """
    own = [row for row in rows if _is_of(run, row)]
    logs = newest_logs(own)
    known = replace(run, logs=logs or run.logs, ended_at=run.ended_at or now)
    unread = next((text(row, "error") for row in own if text(row, "error")), None)
    if unread is not None:
        said = f"a log of it can't be read: {error_line(plain_text(unread))}"
        is_over = is_last and not is_alive
        return replace(known, state=RunState.LOST if is_over else known.state, said=said)
    if not logs:
        return replace(known, state=RunState.LOST, said="its process is gone and left no log")
    told = {log.status for log in logs}
    if is_alive and told != {"success"}:
        return replace(known, said="its process lives: a task may be tried again")
    if "started" in told:
        return replace(known, state=RunState.LOST, said="its process is gone and a log never ended")
    if told == {"success"}:
        return replace(known, state=RunState.SUCCESS, said="")
    worst = "error" if "error" in told else "cancelled"
    return replace(known, state=RunState.ERROR, said=f"its log says {shown(worst)}")


def _is_of(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a log may be a run's: one from before its start is, if it is of the same task."""
    if row.get("is_old") is not True:
        return True
    what = inner(inner(row, "header"), "eval")
    task, model = text(what, "task") or "", text(what, "model")
    names = {run.task, re.split("[/@]", run.task)[-1]}
    return model == run.model and (task in names or task.rpartition("/")[2] in names)


def newest_logs(rows: Sequence[Mapping[str, Any]]) -> tuple[RunLog, ...]:
    """Return the newest log of each task: a task that was tried again has several."""
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
