"""Findings about processes: started, gone, not answering."""

from collections.abc import Iterable
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.format import duration_in_words, plural
from core.ids import ProcessKey
from core.judge.finding_list import closed, open_finding
from core.model.finding import ACKNOWLEDGED, Finding, Proposal, Severity, occurrence_id
from core.model.process import Process, ProcessState
from core.model.task import TaskState
from core.text import shown

JUST_STARTED_S = 60.0
"""A process seen for the first time within this time after its start counts as just started."""

STARVED_ALARM_S = 600.0
"""A process whose event loop is blocked for longer is an alarm."""

UNSEEN_S = 60.0
"""A process that was last read longer ago than this may have ended at any time since."""

_TROUBLES: dict[ProcessState, tuple[Severity, str]] = {
    ProcessState.HEADLESS: (
        "alarm",
        "is running, but its control server is down: evalroom can't watch or control it",
    ),
    ProcessState.STARVED: ("suspect", "does not answer: its event loop is blocked"),
}
_ENDING = "has finished all its tasks and closed its control server: it ends now"
_INTERRUPT = (Proposal(action="interrupt", scope="process"),)
_STOPPED = "does not answer: a signal stopped it"
_CUT_OFF = (
    "is running, but the file of its control socket was removed: evalroom can't watch or control"
    " it, and its log will show how it ends"
)
_CAUSES = {
    True: "the record of the machine's kernel names it as killed by the OOM killer",
    False: "the OOM killer killed a process in its control group while it ran",
}
_UNREAD = " evalroom read none of its tasks, so look at its output and its log"
_MAX_FOLDER_CHARACTERS = 200


def judge_process(before: Fleet, after: Fleet, key: ProcessKey, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed findings about a process."""
    process = after.processes.get(key)
    if process is None:
        return
    known = before.processes.get(key)
    if process.container is not None:
        return  # it is listed, not watched
    if known is None:
        yield from _came(after, process, at)
    if known is None or known.state is not process.state:
        yield from _trouble(after, process, at)
        if known is not None and process.is_gone:
            yield _gone(before, after, process, at)


def _identity(key: ProcessKey) -> str:
    return f"{key.machine}:{key.pid}:{key.start}"


def _came(after: Fleet, process: Process, at: float) -> Iterable[Finding]:
    machine = after.machines.get(process.key.machine)
    offset = machine.probe.clock_offset if machine is not None and machine.probe else 0.0
    if process.started_at is None or at + offset - process.started_at > JUST_STARTED_S:
        return
    if process.is_gone:
        return
    yield Finding(
        id=f"came:{_identity(process.key)}",
        kind="process",
        severity="notice",
        opened_at=at,
        closed_at=at,
        machine=process.key.machine,
        process=process.key,
        text=f"Process {process.key.pid} has started",
    )


def _gone(before: Fleet, after: Fleet, process: Process, at: float) -> Finding:
    states = [before.tasks[key].state for key in process.tasks if key in before.tasks]
    running = states.count(TaskState.RUNNING)
    machine = after.machines.get(process.key.machine)
    offset = machine.probe.clock_offset if machine is not None and machine.probe else 0.0
    ended_at, when, least = process.ended_at or at, "", ""
    if process.ended_after is not None and at - process.ended_after > UNSEEN_S:
        # Nobody saw it end, such as while the link was down.
        ended_at, least = process.ended_after, "at least "
        when = f" within the last {duration_in_words(at - process.ended_after)}"
    ran = ""
    if process.started_at is not None:
        ran = f" after {least}{duration_in_words(ended_at + offset - process.started_at)}"
    was = "was" if running == 1 else "were"
    had = f"; {plural(running, 'task')} {was} running at the last poll" if running else ""
    if process.killed:
        return _killed(process, f"{when}{ran}{had}", at)
    unread = "" if process.tasks else f".{_UNREAD}{_place(process)}"
    return Finding(
        id=f"went:{_identity(process.key)}",
        kind="process",
        severity="suspect" if unread else "notice",
        opened_at=at,
        closed_at=at,
        machine=process.key.machine,
        process=process.key,
        text=f"Process {process.key.pid} has ended{when}{ran}{had}{unread}",
    )


def judge_age(after: Fleet, process: Process, at: float) -> Iterable[Finding]:
    """Yield the finding about a process that has been blocked for so long that it is an alarm."""
    if process.state is not ProcessState.STARVED or process.is_stopped:
        return
    last = open_finding(after, f"answer:{_identity(process.key)}:")
    if last is None or last.severity == "alarm" or at - last.opened_at < STARVED_ALARM_S:
        return
    yield replace(
        last,
        severity="alarm",
        changed_at=at,
        acknowledged_at=None,
        text=sentences(
            f"The event loop of process {process.key.pid} has been blocked for over"
            f" {duration_in_words(STARVED_ALARM_S).removesuffix(' 00s')}",
            "See what blocks it with `evalroom why`, or interrupt it",
        ),
        proposals=_INTERRUPT,
    )


def _killed(process: Process, how: str, at: float) -> Finding:
    """Return the finding about a process that the kernel killed for lack of memory.

    It stays open until the operator acknowledges it: the same eval fails in the same way.
    """
    is_sure = process.killed == "kernel"
    likely = "" if is_sure else "probably "
    return Finding(
        id=f"killed:{_identity(process.key)}",
        kind="process",
        severity="alarm",
        opened_at=at,
        is_kept=True,
        machine=process.key.machine,
        process=process.key,
        text=sentences(
            f"Process {process.key.pid} was {likely}killed for lack of memory{how}",
            "Recover its logs, then run fewer samples at once, or choose more memory",
        ),
        cause=_CAUSES[is_sure],
        closes_when=ACKNOWLEDGED,
    )


def _place(process: Process) -> str:
    return f": it ran in {shown(process.cwd, _MAX_FOLDER_CHARACTERS)}" if process.cwd else ""


def _is_ending(after: Fleet, process: Process) -> bool:
    """Whether the last poll showed all its tasks completed: its control server ends first."""
    tasks = [after.tasks[key] for key in process.tasks if key in after.tasks]
    return bool(tasks) and all(task.row.is_completed for task in tasks)


def _trouble(after: Fleet, process: Process, at: float) -> Iterable[Finding]:
    identity = f"answer:{_identity(process.key)}"
    last = open_finding(after, f"{identity}:")
    trouble = _TROUBLES.get(process.state)
    if last is not None and (trouble is None or last.kind != process.state):
        lasted = duration_in_words(at - last.opened_at)
        how = "has ended" if process.is_gone else f"is {process.state} again"
        if trouble is not None:
            how = f"is now {process.state}"
        was = f"it was {last.kind} for {lasted}"
        yield closed(last, at, f"Process {process.key.pid} {how}; {was}")
        last = None
    if trouble is None or last is not None:
        return
    severity, words = trouble
    advice = ""
    if process.state is ProcessState.HEADLESS and _is_ending(after, process):
        severity, words = "notice", _ENDING
    if process.is_stopped:
        words, advice = _STOPPED, f". To continue it, run: kill -CONT {process.key.pid}"
    if process.is_cut_off:
        words = _CUT_OFF
    waited = ""
    if process.waiting_since is not None:
        machine = after.machines.get(process.key.machine)
        offset = machine.probe.clock_offset if machine is not None and machine.probe else 0.0
        waited = f" (no answer for {duration_in_words(at + offset - process.waiting_since)})"
    yield Finding(
        id=occurrence_id(identity, at),
        kind=str(process.state),
        severity=severity,
        opened_at=at,
        machine=process.key.machine,
        process=process.key,
        text=f"Process {process.key.pid} {words}{waited}{advice}",
        proposals=_INTERRUPT if process.state is ProcessState.HEADLESS else (),
        closes_when="it answers again, or ends",
    )
