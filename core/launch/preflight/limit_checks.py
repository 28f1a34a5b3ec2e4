"""Checks of the limits of the place where an eval will live."""

from collections.abc import Iterator

from core.launch.engines.tmux import TmuxEngine
from core.launch.engines.tmux_sessions import TMUX_COMMAND
from core.launch.plan.eval_set_args import worst_case
from core.launch.preflight.check_text import size
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.filesystem_checks import MIN_DISK_BYTES
from core.launch.preflight.survey_facts import FolderFacts, LimitFacts, SurveyFacts, TmuxServerFacts
from core.launch.spec.spec import Spec
from core.model.machine import ToolState

MIN_OPEN_FILES = 200
"""With fewer open files, Inspect hangs or fails at its start."""
OPEN_FILES_PER_SAMPLE = 12
"""Connections, pipes and files of one sample in flight."""
MIN_PROCESSES, LOW_PROCESSES = 32, 256
"""Processes and threads that a run needs, and those with which it runs well."""
MIN_MEMORY_BYTES = 512 * 1024**2
"""The kernel kills an eval in a control group with less memory."""
DEFAULT_SAMPLES = 10
"""Samples in flight if nothing says how many: Inspect's usual number of connections."""


def limit_checks(facts: SurveyFacts, spec: Spec | None = None) -> Iterator[Check]:
    """Yield whether the limits of the place suffice for a run; without a spec, for a usual one."""
    limits = facts.limits.value
    server = facts.tmux_server.value
    if spec is not None and spec.engine == TmuxEngine.name and server is not None:
        yield from _open_files(server.open_files, _samples(spec), _of_server(server))
    elif limits is not None:
        yield from _open_files(limits.open_files, _samples(spec))
    if limits is not None:
        yield from _processes(limits)
        yield from _memory(limits)
    temporary = facts.temporary
    if temporary.value is not None:
        yield from _temporary(temporary.value)
    elif temporary.state is ToolState.STUCK:
        yield warning("TMPDIR", "the folder for temporary files does not respond")


def _samples(spec: Spec | None) -> int:
    if spec is None:
        return DEFAULT_SAMPLES
    asked = spec.max_samples or spec.max_connections or DEFAULT_SAMPLES
    most = worst_case(spec).samples
    return asked if most is None else min(asked, most)


def _of_server(server: TmuxServerFacts) -> tuple[str, str]:
    """Return where the limit of a running tmux server holds, and how to have a new one."""
    command = " ".join((*TMUX_COMMAND, "kill-server"))
    return (
        f"in the tmux server (pid {server.pid}), which keeps the limits of its start,",
        f"raise the limit of the login, then end that server ({command}) once no run is in it",
    )


def _open_files(
    have: int | None, samples: int, of_server: tuple[str, str] | None = None
) -> Iterator[Check]:
    if have is None:
        return
    need = MIN_OPEN_FILES + OPEN_FILES_PER_SAMPLE * samples
    raised = f"ulimit -n {max(4096, need)}, or limits.conf"
    where, advice = of_server or ("", f"raise the limit of that login ({raised})")
    a_process = f"{where} a process".strip()
    if have < MIN_OPEN_FILES:
        text = f"{a_process} may open {have} files (ulimit -n), and Inspect needs {MIN_OPEN_FILES}"
        yield stop("open files", text, advice)
    elif have < need:
        text = (
            f"{a_process} may open {have} files (ulimit -n);"
            f" {samples} samples at once may need {need}"
        )
        yield warning("open files", text, f"{advice}, or set a smaller max_samples")


def _processes(limits: LimitFacts) -> Iterator[Check]:
    left = limits.processes_left
    if left is None or left >= LOW_PROCESSES:
        return
    text = f"only {left} more processes and threads may start (ulimit -u, or pids.max)"
    advice = "raise that limit, or end processes of this account on the machine"
    yield (stop if left < MIN_PROCESSES else warning)("processes", text, advice)


def _memory(limits: LimitFacts) -> Iterator[Check]:
    if limits.memory is None:
        return
    what = f"the control group of runs allows only {size(limits.memory)} of memory"
    if limits.memory < MIN_MEMORY_BYTES:
        text = f"{what}, and Inspect needs {size(MIN_MEMORY_BYTES)}"
        yield stop("memory limit", text, "raise MemoryMax of that session or container")
    else:
        yield passed("memory limit", what)


def _temporary(folder: FolderFacts) -> Iterator[Check]:
    advice = 'free space there, or set env = { TMPDIR = "/another/folder" }'
    if not folder.exists or not folder.is_folder:
        text = f"the folder for temporary files ({folder.full}) does not exist"
        yield stop("TMPDIR", text, 'create it, or set env = { TMPDIR = "/another/folder" }')
    elif folder.read_only or not folder.is_writable:
        yield stop(
            "TMPDIR", f"the folder for temporary files ({folder.full}) is not writable", advice
        )
    elif not folder.has_files_left:
        yield stop(
            "TMPDIR",
            f"the folder for temporary files ({folder.full}) can't hold more files",
            advice,
        )
    elif folder.total and folder.free is not None and folder.free < MIN_DISK_BYTES:
        text = (
            f"the folder for temporary files ({folder.full}) is full: only {size(folder.free)} free"
        )
        yield stop("TMPDIR", text, advice)
