"""The state of a run, computed from the fleet, its folder and its logs. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from core.ctl.decode import count, items, objects, text
from core.errors import JobFailed, SpecWrong
from core.format import plural
from core.launch.engines.engine import FileOutput, ScreenOutput, StartResult
from core.launch.engines.registry import engine_named
from core.launch.engines.start_failures import start_failure
from core.model.process import Process
from core.model.run import Run, RunState
from core.text import shown

_MAX_HOST_CHARS, _MAX_LEFTOVER_CHARS = 100, 300
_HAS_RUN = frozenset(
    {RunState.RUNNING, RunState.FINISHING, RunState.UNREADABLE, RunState.ELSEWHERE}
)
_GIVE_UP_AFTER_S = 86_400.0
"""Someone else's run that has not started after this many seconds counts as failed."""


def after_fleet(run: Run, process: Process, now: float, offset: float = 0.0) -> Run:
    """Return a run with the state of its process in the fleet, and with its times.

    Args:
        run: The run as known so far.
        process: Its process.
        now: The time at the desk, Unix seconds.
        offset: The clock of the process's host minus the desk's, seconds.
    """
    began = run.started_at or now
    if process.started_at is not None:  # it may be found long after it started
        began = min(began, process.started_at - offset)
    known = replace(
        run,
        pid=process.key.pid,
        start=process.key.start,
        started_at=began,
        message="",
    )
    if process.is_over:
        ended_at = run.ended_at or process.ended_at or process.since
        return replace(known, state=RunState.FINISHING, ended_at=ended_at)
    return replace(known, state=RunState.RUNNING, ended_at=None)


def after_poll(run: Run, row: Mapping[str, Any], now: float, *, is_abandoned: bool) -> Run:
    """Return a run with the state of its folder and its process on the machine.

    Args:
        run: The run as known so far.
        row: Its row in the answer of the launcher's `poll`.
        now: The time at the desk, Unix seconds.
        is_abandoned: Whether the instance of evalroom that was to start it has ended.
    """
    if run.is_over:
        return replace(run, leftover=_leftover(row))
    if not has_started(run, row):
        return _not_started(run, row, now) if is_abandoned else _unless_given_up(run, now)
    return _after_start(run, row, now)


def _after_start(run: Run, row: Mapping[str, Any], now: float) -> Run:
    begun = replace(
        _with_start_record(run, row),
        started_at=run.started_at or now,
        host=(text(row, "host") or run.host)[:_MAX_HOST_CHARS],
        leftover=_leftover(row),
    )
    if row.get("alive") is True:
        pid, start = count(row, "pid"), text(row, "start")
        lives = replace(begun, state=RunState.STARTING, ended_at=None)
        return lives if pid is None else _running(lives, pid, start)
    if row.get("is_here") is False:
        return _elsewhere(begun)
    if run.state in {RunState.PREPARING, RunState.STARTING, RunState.QUEUED} and not has_begun(
        run, row
    ):
        if _is_still_starting(begun, row, now):
            return replace(begun, state=RunState.STARTING)
        return with_error(begun, _start_error(run, row), now)
    state = run.state if run.state is RunState.UNREADABLE else RunState.FINISHING
    return replace(begun, state=state, ended_at=run.ended_at or now)


def _running(run: Run, pid: int, start: str | None) -> Run:
    return replace(run, state=RunState.RUNNING, pid=pid, start=start, message="")


def _elsewhere(run: Run) -> Run:
    host = shown(run.host, _MAX_HOST_CHARS)
    what = f"it was started on {host}, or in a container there: {run.machine} can't see its process"
    return replace(run, state=RunState.ELSEWHERE, message=what, ended_at=None)


def _leftover(row: Mapping[str, Any]) -> str:
    """Return which processes of a run outlive its eval, one sentence; empty: no process does."""
    left = [cast("list[object]", each) for each in items(row, "left") if isinstance(each, list)]
    if not left:
        return ""
    pid, command = (*left[0], "", "")[:2]
    verb = "runs" if len(left) == 1 else "run"
    what = f"{plural(len(left), 'process', 'processes')} of this run still {verb}: {pid}, {command}"
    return shown(what, _MAX_LEFTOVER_CHARS)


def has_started(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a run was ever started; its folder may be gone since."""
    has_run = run.state in _HAS_RUN
    return has_run or row.get("started") is True or row.get("alive") is True


def _not_started(run: Run, row: Mapping[str, Any], now: float) -> Run:
    done = "only its folder was created" if row.get("there") is True else "nothing was sent"
    return with_error(run, f"evalroom exited before it started this run; {done}", now)


def _unless_given_up(run: Run, now: float) -> Run:
    """Return a run that another instance is about to start; failed if that takes over a day."""
    if run.is_ours or now - run.at < _GIVE_UP_AFTER_S:
        return run
    return with_error(run, "evalroom has not started this run within a day", now)


def has_begun(run: Run, row: Mapping[str, Any]) -> bool:
    """Whether a process, the output of its start, or logs in its own folder show that it began."""
    has_own_folder = not run.log_dir.startswith(("/", "~/")) and "://" not in run.log_dir
    has_logs = has_own_folder and bool(objects(row, "logs"))
    return row.get("alive") is True or '"event"' in (text(row, "out") or "") or has_logs


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
