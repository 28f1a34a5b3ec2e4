"""Checks of disk space, memory, the run's folder and the log folder."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from core.format import plural
from core.launch.plan.run_plan import RUNS_FOLDER
from core.launch.preflight.check_text import error_of, size
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.requirements import named_log_folder
from core.launch.preflight.survey_facts import FolderFacts, SurveyFacts
from core.model.machine import ToolState

MIN_DISK_BYTES = 100 * 1024**2
"""With less free disk space, no run starts."""
LOW_DISK_BYTES = 2 * 1024**3
"""With less free disk space, there is a warning."""
LOW_MEMORY_BYTES = 1024**3
"""With less free memory, there is a warning: Inspect alone needs half of it."""

_MAX_SOCKET_PATH_BYTES, _LONGEST_PID = 107, "4194304"
"""Limit of the path of a Unix socket on Linux, and the longest pid."""
_DIRTY = "log-dir-allow-dirty"
_OTHER_LOG_DIR = "choose another log_dir"


def disk_checks(facts: SurveyFacts, logs: str | None = None) -> Iterator[Check]:
    """Yield whether the disks have room for runs and logs.

    Args:
        facts: The survey of the machine.
        logs: The log folder that the spec names; None: the run's own folder.
    """
    found = {"the home folder": facts.places.get("~"), "runs": facts.places.get(RUNS_FOLDER)}
    if logs is not None:
        found["logs"] = facts.logs.get(logs)
    spaces: list[str] = []
    seen: set[int] = set()
    bad = False
    for what, part in found.items():
        folder = None if part is None else part.value
        if folder is None or folder.disk in seen:
            continue
        if folder.disk is not None:
            seen.add(folder.disk)
        trouble = _room(what, folder)
        if trouble is not None:
            bad = True
            yield trouble
        elif folder.total and folder.free is not None:
            spaces.append(f"{size(folder.free)} free for {what}")
    if spaces and not bad:
        yield passed("disk", ", ".join(spaces))


def channel_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the path of the eval's control socket is short enough."""
    host = case.facts.host.value
    if host is None or not host.home:
        return
    base = case.plan.data_dir or f"{host.home}/.local/share"
    if base.startswith("~/"):
        base = f"{host.home}/{base[2:]}"
    longest = len(f"{base}/inspect_ai/control/{_LONGEST_PID}.sock".encode())
    if longest > _MAX_SOCKET_PATH_BYTES:
        text = (
            f"the path of an eval's control socket would have {longest} bytes;"
            f" the limit is {_MAX_SOCKET_PATH_BYTES}"
        )
        advice = "give the machine a shorter `data_dir` in the config"
        # Without data_dir, the login's XDG_DATA_HOME may be shorter than this guess.
        yield (warning if case.plan.data_dir is None else stop)("control channel", text, advice)


def _room(what: str, folder: FolderFacts) -> Check | None:
    if what != "logs" and folder.read_only:
        return stop("disk", f"the disk of {what} is read-only")
    if not folder.has_files_left:
        return stop(
            "disk", f"the disk of {what} can't hold more files", "delete files on that disk"
        )
    if not folder.total or folder.free is None:
        return None
    if folder.free < MIN_DISK_BYTES:
        text = f"the disk of {what} is full: only {size(folder.free)} free"
        return stop("disk", text, "free space on that disk")
    if folder.free < LOW_DISK_BYTES:
        return warning(
            "disk", f"only {size(folder.free)} free for {what}", "free space on that disk"
        )
    return None


def memory_checks(facts: SurveyFacts) -> Iterator[Check]:
    """Yield whether the machine is short of memory or overloaded."""
    host = facts.host.value
    if host is None:
        return
    free = host.memory.available
    if free is not None and free < LOW_MEMORY_BYTES:
        text = f"only {size(free)} of memory free, and Inspect alone needs half a GiB"
        yield warning("memory", text)
    load = host.load[0] if host.load else 0.0
    if host.cpus and load > 2 * host.cpus:
        yield warning("load", f"the load is {load:.0f} on {plural(host.cpus, 'processor')}")


def run_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the run's folder can be created, and the run was not started before."""
    part = case.facts.runs.get(case.plan.directory)
    if part is not None and part.value is not None and part.value.is_started:
        yield stop(
            "run", f"{case.plan.run} was already started on this machine", "launch it as a new run"
        )
    place = case.facts.places.get(RUNS_FOLDER)
    folder = None if place is None else place.value
    if folder is not None and not (folder.is_writable and folder.is_folder):
        yield stop("run", f"{folder.near} is not writable, but runs need {RUNS_FOLDER}")


def log_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the log folder of the spec is usable."""
    yield from _clashes(case)
    path = named_log_folder(case.plan)
    if path is None:
        return
    part = case.facts.logs.get(path)
    if part is None or part.value is None:
        why = "" if part is None else part.error
        hangs = part is not None and part.state is ToolState.STUCK
        text = f"{path} does not respond" if hangs else f"the survey could not check {path}"
        yield warning("log folder", f"{text}: {error_of(why)}" if why else text)
        return
    yield from _usable(path, part.value)
    yield from _content(case, path, part.value)


def _usable(path: str, folder: FolderFacts) -> Iterator[Check]:
    if folder.read_only:
        yield stop("log folder", f"the disk of {path} is read-only", _OTHER_LOG_DIR)
    elif not folder.is_folder:
        yield stop("log folder", f"{folder.near} is not a folder", _OTHER_LOG_DIR)
    elif not folder.is_writable:
        what = path if folder.exists else folder.near
        yield stop("log folder", f"{what} is not writable", _OTHER_LOG_DIR)
    elif not folder.exists:
        yield passed("log folder", f"{path} will be created")
    elif not folder.logs:
        yield passed("log folder", f"{path} has no logs yet")


def _content(case: PreflightContext, path: str, folder: FolderFacts) -> Iterator[Check]:
    """Yield what the log folder holds: Inspect resumes only the same eval-set."""
    if not folder.logs:
        return
    allowed = bool(case.spec.options.get(_DIRTY))
    count = plural(folder.logs, "log")
    if folder.eval_set is None:
        what = f"{path} contains {count} but no eval-set"
    elif not folder.tasks:
        text = f"{path} contains an eval-set with unknown tasks ({count})"
        yield warning(
            "log folder", text, "Inspect refuses the folder unless it belongs to this eval-set"
        )
        return
    elif all(_is_ours(case, name, model) for name, model in folder.tasks):
        text = f"{path} contains an eval-set of the same task and model ({count})"
        advice = "if the arguments match, Inspect resumes this eval-set and skips finished samples;"
        yield warning("log folder", text, f"{advice} otherwise choose another log_dir")
        return
    else:
        tasks = ", ".join(f"{name} with {model}" for name, model in folder.tasks[:3])
        what = f"{path} contains another eval-set: {tasks} ({count})"
    advice = f"{_OTHER_LOG_DIR}, or set options = {{ {_DIRTY.replace('-', '_')} = true }}"
    yield warning("log folder", what) if allowed else stop("log folder", what, advice)


def _is_ours(case: PreflightContext, name: str, model: str) -> bool:
    task = case.spec.task[0]
    names = {task, task.rpartition("@")[2], task.rpartition("/")[2]}
    return model == case.spec.model[0] and (name in names or name.rpartition("/")[2] in names)


def _clashes(case: PreflightContext) -> Iterator[Check]:
    """Yield a stop if a running eval logs into the same folder: their logs would mix."""
    folder = case.plan.log_dir
    if not folder.startswith(("/", "~/")) and "://" not in folder:
        return
    part = case.facts.logs.get(folder)
    full = folder if part is None or part.value is None else part.value.full
    users = (*_surveyed(case, full), *_runs(case, folder), *_watched(case, full))
    if users:
        text = f"{users[0]} is logging into {folder}"
        yield stop("log folder", text, f"wait until it ends, or {_OTHER_LOG_DIR}")


def _surveyed(case: PreflightContext, full: str) -> Iterator[str]:
    """Yield the evals that the survey found."""
    for each in case.facts.running.value or ():
        is_own = each.run == case.plan.run
        if not is_own and each.log_dir is not None and _same(each.log_dir, full):
            of = f" of {each.user}" if each.user else ""
            run = f" (run {each.run})" if each.run else ""
            yield f"the eval with pid {each.pid}{of}{run}"


def _runs(case: PreflightContext, folder: str) -> Iterator[str]:
    """Yield the open runs; a URL is the same place for all machines."""
    for run in case.fleet.runs.values():
        is_here = "://" in folder or run.machine == case.plan.machine
        if is_here and not run.has_ended and run.id != case.plan.run and _same(run.log_dir, folder):
            yield f"the run {run.id} on {run.machine}"


def _watched(case: PreflightContext, full: str) -> Iterator[str]:
    """Yield the watched evals on this machine; for a URL, those on any machine."""
    for key, task in case.fleet.tasks.items():
        process = case.fleet.processes.get(key.process)
        if process is None or process.is_over or process.run == case.plan.run:
            continue
        is_here = "://" in full or key.machine == case.plan.machine
        if is_here and _same(task.row.log_location.rpartition("/")[0], full):
            yield f"the eval with pid {key.process.pid} on {key.machine}"


def _same(one: str, other: str) -> bool:
    if "://" in one or "://" in other:
        return one.rstrip("/") == other.rstrip("/")
    return PurePosixPath(one) == PurePosixPath(other)
