"""Findings about Docker: an engine that stopped, sandboxes that are gone, containers left over."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.fold.sandboxes import Sandbox, held, leftovers, removal_command
from core.format import plural
from core.ids import MachineName, TaskKey
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding, Severity
from core.model.machine import Docker, Machine, ToolState
from core.model.sample import SampleStatus
from core.model.task import Task, TaskState

SETTLED_S = 5.0
"""A sample that has run so long holds its sandbox, seconds."""
MAX_NAMED = 3
"""Containers and projects that a sentence names; the others are counted."""

_DOWN = frozenset({ToolState.FAILED, ToolState.STUCK, ToolState.ABSENT})
_LOSS = "Its samples fail or hang: cancel or requeue them"


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
    last = known.facts.docker if known is not None and known.facts is not None else None
    for key, task in after.tasks.items():
        if key.machine == name and task.has_sandboxes:
            trouble = _trouble(before, after, task, docker, last)
            yield from _one(after, f"sandbox:{_identity(task)}", trouble, machine, at, task=key)
    if docker.state is not ToolState.OK:
        return  # unknown now which containers are left over
    left = leftovers(after, name, docker)
    if last is not None and machine.lists_all(at):
        there = {each.project for each in leftovers(before, name, last)}
        lasting = tuple(each for each in left if each.project in there)
        yield from _one(after, f"leftover:{name}", _leftover(lasting), machine, at)


def _identity(task: Task) -> str:
    process = task.key.process
    return f"{process.machine}:{process.pid}:{process.start}:{task.key.task_id}:{task.row.eval_id}"


def _trouble(
    before: Fleet, after: Fleet, task: Task, docker: Docker, last: Docker | None
) -> tuple[Severity, int, str] | None:
    """Return the tone, number and sentence of what a task lost; None: nothing."""
    if task.state is not TaskState.RUNNING or after.is_gone(task.key.process):
        return None
    if docker.state in _DOWN:
        verb = "does not answer" if docker.state is ToolState.STUCK else "has stopped"
        what = f"Docker {verb} under this task"
        if docker.error:
            what += f": {docker.error}"
        return "error", 1, sentences(what, f"{_LOSS}, once Docker runs again")
    if last is None or last.state is not ToolState.OK:
        return None
    now, then = _of(after, task.key, docker), _of(before, task.key, last)
    were_stopped = {each.id for sandbox in then for each in sandbox.stopped}
    stopped = [each for one in now for each in one.stopped if each.id in were_stopped]
    if stopped:
        names = _named([each.name for each in stopped])
        number = plural(len(stopped), "container")
        what = f"{number} of this task stopped: {names} ({stopped[0].status})"
        return "error", len(stopped), sentences(what, _LOSS)
    missing = _running_at(before, task) - len(then)
    if missing > 0 and len(now) <= len(then):
        lost = plural(missing, "running sample has", "running samples have")
        what = (
            f"{lost} no sandbox any more: {plural(len(now), 'sandbox remains', 'sandboxes remain')}"
        )
        return "error", missing, sentences(what, _LOSS)
    return None


def _of(fleet: Fleet, key: TaskKey, docker: Docker) -> list[Sandbox]:
    return list(held(fleet, key.machine, docker).get(key, ()))


def _running_at(before: Fleet, task: Task) -> int:
    """Return how many samples of a task certainly ran at the reading of Docker before this one.

    A sample starts once it has its sandbox, and holds it to its end. Tasks with the same sandbox
    names count each other's sandboxes, so some losses may not be noticed.
    """
    machine = before.machines.get(task.key.machine)
    facts = machine.facts if machine is not None else None
    if facts is None or (task.samples_as_of or 0.0) < facts.at:
        return 0
    return sum(
        row.status == SampleStatus.RUNNING
        and row.started_at is not None
        and row.started_at < facts.at - SETTLED_S
        for row in task.samples.values()
    )


def _leftover(left: tuple[Sandbox, ...]) -> tuple[Severity, int, str] | None:
    if not left:
        return None
    number = sum(len(each.containers) for each in left)
    projects = _named([each.project for each in left])
    what = f"{plural(number, 'container')} of ended evals {_is(number)} left over: {projects}"
    return (
        "warning",
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
) -> Iterator[Finding]:
    """Yield the finding of that name opened, changed or closed."""
    last = open_finding(after, identity)
    if trouble is None:
        if last is not None:
            yield closed(last, at)
        return
    tone, number, text = trouble
    if last is None:
        yield Finding(
            id=f"{identity}:{at:.3f}",
            kind="docker",
            tone=tone,
            opened_at=at,
            machine=machine.name,
            task=task,
            count=number,
            text=text,
        )
    elif last.text != text:
        yield replace(last, text=text, tone=tone, count=number, changed_at=at)
