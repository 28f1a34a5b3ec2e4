"""Findings about Docker: an engine that stopped, sandboxes that are gone, containers left over."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.fold.sandboxes import (
    Sandbox,
    held,
    leftovers,
    processes_of,
    removal_command,
    sample_of,
    unclaimed,
)
from core.format import plural
from core.ids import MachineName, ProcessKey, TaskKey
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding, Severity, occurrence_id, worse
from core.model.machine import (
    Docker,
    Machine,
    MachineFacts,
    SandboxHolder,
    ToolState,
    UnlistedEval,
    UnseenEval,
)
from core.model.process import Process
from core.model.sample import SampleId, SampleStatus
from core.model.task import Task, TaskState
from core.text import shown

_CLOSES_WHEN = {
    "sandbox": "its samples have their sandboxes, or the task ends",
    "unseen": "evalroom sees the sandboxes, or the task ends",
    "leftover": "the containers are removed",
    "unclaimed": "the containers are removed, or an eval that evalroom lists holds them",
}
SETTLED_S = 5.0
"""A sample that has run so long holds its sandbox, seconds."""
MAX_NAMED = 3
"""Containers and projects that a sentence names; the others are counted."""

_DOWN = frozenset({ToolState.FAILED, ToolState.STUCK, ToolState.ABSENT})
_ID_LIMIT = 60
_STOPPED = re.compile(
    "cannot connect|can't connect|connection refused|no such file|daemon running|during connect",
    re.IGNORECASE,
)
"""Docker's own words for an engine that does not run."""
_LOSS = "Its samples error or hang: cancel or requeue them"


def judge_docker(before: Fleet, after: Fleet, name: MachineName, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed findings about Docker on a machine that was just read.

    What is missing or left over must be so in two readings: samples begin and end between.
    """
    machine, known = after.machines.get(name), before.machines.get(name)
    if machine is None or machine.facts is None:
        return
    docker = machine.facts.docker
    if docker.state is ToolState.UNKNOWN:
        return
    last = known.facts if known is not None else None
    has_just_failed = docker.state in _DOWN and not (
        last is not None and last.docker.state in _DOWN
    )
    for key, task in after.tasks.items():
        if has_just_failed:
            break  # one failed reading proves nothing, and closes nothing
        if key.machine == name and task.has_sandboxes:
            identity = f"sandbox:{_identity(task)}"
            trouble = _trouble(after, task, docker, last)
            if trouble is None and _is_first_look(after, task, identity, docker, last):
                continue
            yield from _one(after, identity, trouble, machine, at, task=key)
    for process in processes_of(after, name):
        trouble = _unseen(process, docker)
        identity = f"unseen:{name}:{process.key.pid}:{process.key.start}"
        yield from _one(after, identity, trouble, machine, at, process=process.key)
    if docker.state is not ToolState.OK:
        return  # unknown now which containers are left over
    if last is not None and machine.lists_all(at):
        there = {each.project for each in leftovers(before, name, last.docker)}
        lasting = [each for each in leftovers(after, name, docker) if each.project in there]
        yield from _one(after, f"leftover:{name}", _leftover(tuple(lasting)), machine, at)
        unknown = unclaimed_words(after, name, at)
        trouble = ("suspect", *unknown) if unknown is not None else None
        yield from _one(after, f"unclaimed:{name}", trouble, machine, at)


def _unseen(process: Process, docker: Docker) -> tuple[Severity, int, str] | None:
    """Return severity, number and sentence about sandboxes on another engine; None: none is."""
    key = process.key
    if process.is_gone or UnseenEval(pid=key.pid, start=key.start) not in docker.unseen:
        return None
    advice = "Run `docker ps` on the machine to see why"
    match docker.state:
        case ToolState.OK:
            why = "the engine that evalroom reads has none of its containers"
            advice = "Give the login of this machine the DOCKER_HOST or Docker context of the eval"
        case ToolState.ABSENT:
            why = "evalroom finds no docker there"
        case _:
            why = f"evalroom can't read Docker there ({docker.error or docker.state})"
    what = f"Process {key.pid} runs samples in Docker, but {why}: it can't tell whether they run"
    return "suspect", 1, sentences(what, advice)


def unclaimed_words(fleet: Fleet, name: MachineName, at: float) -> tuple[int, str] | None:
    """Return the number of old containers with an unknown holder, and what is known of them.

    None: there are none. They are never offered for removal.
    """
    machine = fleet.machines.get(name)
    docker = machine.facts.docker if machine is not None and machine.facts is not None else None
    found = unclaimed(fleet, name, docker, at) if docker is not None else ()
    if docker is None or not found:
        return None
    number = sum(len(each.containers) for each in found)
    what = (
        f"evalroom can't tell which eval made {plural(number, 'container')}, and does not offer to"
        f" remove {'it' if number == 1 else 'them'}: {_named([each.project for each in found])}"
    )
    advice = "An eval on another host, or one that died while nobody watched, may have made them"
    if docker.unlisted:
        who = _named([_process_words(each) for each in docker.unlisted])
        advice = f"An eval that evalroom does not list may hold them: {who}"
    return number, sentences(what, advice)


def _process_words(process: UnlistedEval) -> str:
    of = f" of {process.user}" if process.user else ""
    return f"process {process.pid}{of} ({process.name})" if process.name else f"{process.pid}{of}"


def _identity(task: Task) -> str:
    process = task.key.process
    return f"{process.machine}:{process.pid}:{process.start}:{task.key.task_id}:{task.row.eval_id}"


def _trouble(
    after: Fleet, task: Task, docker: Docker, last: MachineFacts | None
) -> tuple[Severity, int, str] | None:
    """Return the severity, number and sentence of what a task lost; None: nothing."""
    if task.state is not TaskState.RUNNING or after.is_gone(task.key.process):
        return None
    if docker.state in _DOWN:
        return _down(docker)
    if last is None or last.docker.state is not ToolState.OK:
        return None
    now = held(after, task.key.machine, docker).get(task.key, [])
    then = held(after, task.key.machine, last.docker).get(task.key, [])
    stopped = _stopped(now, then)
    if stopped is not None or not docker.is_whole or not last.docker.is_whole:
        return stopped
    there = {sample_of(each.holder) for each in (*now, *then) if each.holder is not None}
    gone = sorted(task.sandboxed - there, key=str)
    lost = [each for each in gone if _ran(after, task, each, last)]
    if not lost:
        return None
    names = _named([f"{shown(sample, _ID_LIMIT)}/{epoch}" for sample, epoch in lost])
    have = plural(len(lost), "running sample no longer has", "running samples no longer have")
    return "alarm", len(lost), sentences(f"{have} a sandbox: {names}", _LOSS)


def _is_first_look(
    after: Fleet, task: Task, identity: str, docker: Docker, last: MachineFacts | None
) -> bool:
    """Whether a reading closes nothing: it is the first good one, and samples need two.

    A finding that Docker itself is down closes at once.
    """
    if docker.state is not ToolState.OK or (last is not None and last.docker.state is docker.state):
        return False
    if task.state is not TaskState.RUNNING or after.is_gone(task.key.process):
        return False
    known = open_finding(after, f"{identity}:")
    was_down = last is not None and last.docker.state in _DOWN
    tells_of_that = last is not None and known is not None and known.text == _down(last.docker)[2]
    return not (was_down and tells_of_that)


def _stopped(now: list[Sandbox], then: list[Sandbox]) -> tuple[Severity, int, str] | None:
    were_stopped = {each.id for sandbox in then for each in sandbox.stopped}
    stopped = [
        (each, sandbox.holder)
        for sandbox in now
        for each in sandbox.stopped
        if each.id in were_stopped
    ]
    if not stopped:
        return None
    names = _named([f"{each.name}{_of_sample(holder)}" for each, holder in stopped])
    number = plural(len(stopped), "container")
    what = f"{number} of this task stopped: {names} ({stopped[0][0].status})"
    return "alarm", len(stopped), sentences(what, _LOSS)


def _down(docker: Docker) -> tuple[Severity, int, str]:
    error = f": {docker.error}" if docker.error else ""
    if docker.state is ToolState.FAILED and not _STOPPED.search(docker.error or ""):
        what = f"evalroom can't read Docker, so it does not see the sandboxes of this task{error}"
        return "suspect", 1, sentences(what, "Run `docker ps` on the machine to see why")
    verb = "does not answer" if docker.state is ToolState.STUCK else "has stopped"
    what = f"Docker {verb} under this task{error}"
    return "alarm", 1, sentences(what, f"{_LOSS}, once Docker runs again")


def _of_sample(holder: SandboxHolder | None) -> str:
    return (
        f" of sample {shown(holder.sample_id, _ID_LIMIT)}/{holder.epoch}"
        if holder is not None
        else ""
    )


def _ran(fleet: Fleet, task: Task, sample: SampleId, last: MachineFacts) -> bool:
    """Whether a sample certainly ran at the last reading of Docker and after it.

    A sample starts once it has its sandbox. It may remove the sandbox before its own end; its
    trace shows that.
    """
    row = task.samples.get(sample)
    if row is None or row.status != SampleStatus.RUNNING or row.started_at is None:
        return False
    if (task.samples_as_of or 0.0) < last.at or row.started_at >= last.at - SETTLED_S:
        return False
    process = fleet.processes[task.key.process]
    names = [fleet.tasks[key].row.task for key in process.tasks]
    if names.count(task.row.task) > 1:
        return False  # the trace does not tell whose sample it is
    return not any(
        each.sample == sample and each.what.startswith("docker compose")
        for each in process.operations or ()
    )


def _leftover(left: tuple[Sandbox, ...]) -> tuple[Severity, int, str] | None:
    if not left:
        return None
    number = sum(len(each.containers) for each in left)
    projects = _named([f"{each.project}{_of_sample(each.holder)}" for each in left])
    what = f"{plural(number, 'container')} of ended evals {_is(number)} left over: {projects}"
    return (
        "suspect",
        number,
        sentences(what, f"Remove them with the guide 'clean up', or: {removal_command(left)}"),
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _named(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _one(
    after: Fleet,
    identity: str,
    trouble: tuple[Severity, int, str] | None,
    machine: Machine,
    at: float,
    *,
    task: TaskKey | None = None,
    process: ProcessKey | None = None,
) -> Iterator[Finding]:
    """Yield the finding of that name opened, changed or closed."""
    last = open_finding(after, f"{identity}:")
    if trouble is None:
        if last is not None:
            yield closed(last, at)
        return
    severity, number, text = trouble
    if last is None:
        yield Finding(
            id=occurrence_id(identity, at),
            kind="docker",
            severity=severity,
            opened_at=at,
            machine=machine.name,
            task=task,
            process=process,
            count=number,
            text=text,
            closes_when=_CLOSES_WHEN.get(identity.partition(":")[0], ""),
        )
    elif last.text != text:
        yield replace(
            last,
            text=text,
            severity=worse(last.severity, severity),
            count=number,
            changed_at=at,
        )
