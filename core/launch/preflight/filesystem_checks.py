"""Room on disks, and the log folder: writable, nobody else's, and no other eval in it."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from core.launch.plan.run_plan import RUNS_FOLDER
from core.launch.preflight.check_text import error_of, size
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.requirements import named_log_folder
from core.launch.preflight.survey_facts import FolderFacts, SurveyFacts
from core.model.machine import ToolState

MIN_DISK_BYTES = 100 * 1024**2
"""Bytes free under which nothing is started."""
LOW_DISK_BYTES = 2 * 1024**3
"""Bytes free under which there is a warning."""
LOW_MEMORY_BYTES = 1024**3
"""Bytes of memory free under which there is a warning: Inspect alone takes half of it."""

_MAX_SOCKET_PATH_BYTES, _LONGEST_PID = 107, "4194304"
"""Bytes of a Unix socket's path on Linux, and the longest pid there."""
_DIRTY = "log-dir-allow-dirty"


def disk_checks(facts: SurveyFacts, logs: str | None = None) -> Iterator[Check]:
    """Yield whether there is room for runs, and for logs where they are kept elsewhere.

    Args:
        facts: Of the machine.
        logs: The folder that is named for logs; None: the run's own.
    """
    found = {"the home": facts.places.get("~"), "runs": facts.places.get(RUNS_FOLDER)}
    if logs is not None:
        found["logs"] = facts.logs.get(logs)
    told: list[str] = []
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
            told.append(f"{size(folder.free)} free for {what}")
    if told and not bad:
        yield passed("disk", ", ".join(told))


def channel_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the control channel of an eval can be opened: a socket's path is short."""
    told = case.facts.host.value
    if told is None or not told.home:
        return
    base = case.plan.data_dir or f"{told.home}/.local/share"
    if base.startswith("~/"):
        base = f"{told.home}/{base[2:]}"
    longest = len(f"{base}/inspect_ai/control/{_LONGEST_PID}.sock".encode())
    if longest > _MAX_SOCKET_PATH_BYTES:
        said = (
            f"the path of an eval's control channel has {longest} bytes there,"
            f" {_MAX_SOCKET_PATH_BYTES} at most"
        )
        advice = "give the machine a shorter data_dir in the config"
        # Where none is given, the login's own XDG_DATA_HOME may be another, shorter one.
        yield (warning if case.plan.data_dir is None else stop)("control channel", said, advice)


def _room(what: str, folder: FolderFacts) -> Check | None:
    if what != "logs" and folder.read_only:
        return stop("disk", f"the disk of {what} there can only be read")
    if not folder.has_files_left:
        return stop("disk", f"the disk of {what} there takes no further file", "make room there")
    if not folder.total or folder.free is None:
        return None
    if folder.free < MIN_DISK_BYTES:
        said = f"the disk of {what} there is full: {size(folder.free)} are free"
        return stop("disk", said, "make room there")
    if folder.free < LOW_DISK_BYTES:
        return warning("disk", f"only {size(folder.free)} are free for {what}", "make room there")
    return None


def memory_checks(facts: SurveyFacts) -> Iterator[Check]:
    """Yield whether the machine is short of memory, or busy."""
    host = facts.host.value
    if host is None:
        return
    free = host.memory.available
    if free is not None and free < LOW_MEMORY_BYTES:
        said = f"only {size(free)} of memory are free, and Inspect alone takes half a GiB"
        yield warning("memory", said)
    load = host.load[0] if host.load else 0.0
    if host.cpus and load > 2 * host.cpus:
        yield warning("load", f"{load:.0f} programs want to run on {host.cpus} processors")


def run_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the run's own folder can be made, and was not used before."""
    part = case.facts.runs.get(case.plan.directory)
    if part is not None and part.value is not None and part.value.is_started:
        yield stop("run", f"{case.plan.run} was started there before", "a launch makes a new one")
    place = case.facts.places.get(RUNS_FOLDER)
    folder = None if place is None else place.value
    if folder is not None and not (folder.is_writable and folder.is_folder):
        yield stop(
            "run", f"{folder.near} can't be written there, and runs are kept in {RUNS_FOLDER}"
        )


def log_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether logs can go where the spec has them go."""
    yield from _clashes(case)
    path = named_log_folder(case.plan)
    if path is None:
        return
    part = case.facts.logs.get(path)
    if part is None or part.value is None:
        why = "" if part is None else part.error
        hangs = part is not None and part.state is ToolState.STUCK
        said = f"{path} does not answer" if hangs else f"nothing is known of {path}"
        yield warning("log folder", f"{said}: {error_of(why)}" if why else said)
        return
    yield from _usable(path, part.value)
    yield from _content(case, path, part.value)


def _usable(path: str, folder: FolderFacts) -> Iterator[Check]:
    if folder.read_only:
        yield stop("log folder", f"the disk of {path} can only be read", "name another log_dir")
    elif not folder.is_folder:
        yield stop("log folder", f"{folder.near} is no folder", "name another log_dir")
    elif not folder.is_writable:
        what = path if folder.exists else folder.near
        yield stop("log folder", f"{what} can't be written there", "name another log_dir")
    elif not folder.exists:
        yield passed("log folder", f"{path} is made there")
    elif not folder.logs:
        yield passed("log folder", f"{path} holds no logs yet")


def _content(case: PreflightContext, path: str, folder: FolderFacts) -> Iterator[Check]:
    """Yield what is in the folder already: Inspect goes on with the same eval-set alone."""
    if not folder.logs:
        return
    allowed = bool(case.spec.options.get(_DIRTY))
    count = f"{folder.logs} log{'s' if folder.logs != 1 else ''}"
    if folder.eval_set is None:
        what = f"{path} holds {count} of no eval-set"
    elif not folder.tasks:
        said = f"{path} holds an eval-set that does not say of what ({count})"
        yield warning("log folder", said, "Inspect refuses it unless it is the same")
        return
    elif all(_is_ours(case, name, model) for name, model in folder.tasks):
        said = f"{path} holds an eval-set of the same task and model ({count})"
        advice = "Inspect goes on with it where the arguments are the same too: what succeeded is"
        yield warning("log folder", said, f"{advice} not run again; else name another log_dir")
        return
    else:
        tasks = ", ".join(f"{name} with {model}" for name, model in folder.tasks[:3])
        what = f"{path} holds another eval-set of {tasks} ({count})"
    advice = f"name another log_dir, or options = {{ {_DIRTY.replace('-', '_')} = true }}"
    yield warning("log folder", what) if allowed else stop("log folder", what, advice)


def _is_ours(case: PreflightContext, name: str, model: str) -> bool:
    task = case.spec.task[0]
    names = {task, task.rpartition("@")[2], task.rpartition("/")[2]}
    return model == case.spec.model[0] and (name in names or name.rpartition("/")[2] in names)


def _clashes(case: PreflightContext) -> Iterator[Check]:
    """Yield evals that run and log into the same folder: Inspect's logs would mix."""
    folder = case.plan.log_dir
    if not folder.startswith(("/", "~/")) and "://" not in folder:
        return
    part = case.facts.logs.get(folder)
    full = folder if part is None or part.value is None else part.value.full
    users = (*_surveyed(case, full), *_runs(case, folder), *_watched(case, full))
    if users:
        said = f"{users[0]} logs into {folder} now"
        yield stop("log folder", said, "wait for its end, or name another log_dir")


def _surveyed(case: PreflightContext, full: str) -> Iterator[str]:
    """Yield evals that the survey found."""
    for each in case.facts.running.value or ():
        is_own = each.run == case.plan.run
        if not is_own and each.log_dir is not None and _same(each.log_dir, full):
            of = f" of {each.user}" if each.user else ""
            run = f" (run {each.run})" if each.run else ""
            yield f"the eval {each.pid}{of}{run}"


def _runs(case: PreflightContext, folder: str) -> Iterator[str]:
    """Yield runs that are not over; a place with a scheme is one for all machines."""
    for run in case.fleet.runs.values():
        is_here = "://" in folder or run.machine == case.plan.machine
        if is_here and not run.is_over and run.id != case.plan.run and _same(run.log_dir, folder):
            yield f"the run {run.id} on {run.machine}"


def _watched(case: PreflightContext, full: str) -> Iterator[str]:
    """Yield evals that are watched, on this machine or, with a scheme, on any."""
    for key, task in case.fleet.tasks.items():
        process = case.fleet.processes.get(key.process)
        if process is None or process.is_resting or process.run == case.plan.run:
            continue
        is_here = "://" in full or key.machine == case.plan.machine
        if is_here and _same(task.row.log_location.rpartition("/")[0], full):
            yield f"the eval {key.process.pid} on {key.machine}"


def _same(one: str, other: str) -> bool:
    if "://" in one or "://" in other:
        return one.rstrip("/") == other.rstrip("/")
    return PurePosixPath(one) == PurePosixPath(other)
