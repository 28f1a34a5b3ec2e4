"""Which eval holds which of Inspect's Docker containers.

Inspect makes a Compose project for each sample, and names it by the task. Neither its name nor its
labels identify the process or the sample; the eval's trace file does. A project that no trace
names may be held by every process that could have made it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from core.fleet import Fleet
from core.fold.immutable import with_fields, with_items
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.machine import Container, Docker, MachineFacts, SandboxHolder
from core.model.process import Process
from core.model.sample import SampleId
from core.model.task import Task, TaskState

CLOCK_SLACK_S = 10.0
"""A container that is older than a process by more than this was not made by it, seconds."""
UNCLAIMED_AFTER_S = 3_600.0
"""A container whose holder is not known is reported at this age, seconds."""

_PROJECT = re.compile(r"inspect-([a-z\d_-]*)-i[a-z\d]{6,}")
_TASK_CHARACTERS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The containers of one Compose project of Inspect: those of one sample."""

    project: str
    containers: tuple[Container, ...]

    @property
    def task_part(self) -> str:
        """The part of its name that comes from the task."""
        found = _PROJECT.fullmatch(self.project)
        return found.group(1) if found is not None else ""

    @property
    def stopped(self) -> tuple[Container, ...]:
        """Its containers that have stopped."""
        return tuple(each for each in self.containers if each.has_stopped)

    @property
    def holder(self) -> SandboxHolder | None:
        """The sample that made it; None: not known."""
        return next((each.holder for each in self.containers if each.holder is not None), None)

    @property
    def created(self) -> float | None:
        """When its first container was made, Unix seconds on the host's clock; None: unknown."""
        known = [each.created for each in self.containers if each.created is not None]
        return min(known) if len(known) == len(self.containers) else None


def sandboxes(docker: Docker) -> tuple[Sandbox, ...]:
    """Return the sandboxes of Inspect on a machine, by the names of their projects."""
    found: dict[str, list[Container]] = {}
    for container in docker.containers:
        if _PROJECT.fullmatch(container.project):
            found.setdefault(container.project, []).append(container)
    return tuple(Sandbox(project=name, containers=tuple(found[name])) for name in sorted(found))


def task_part(task: str) -> str:
    """Return the part of a task's name that Inspect uses in the names of its projects."""
    name = re.sub(r"-+", "-", re.sub(r"[^a-z\d\-_]", "-", task.lower()))
    return (name or "task")[:_TASK_CHARACTERS].rstrip("_")


def sample_of(holder: SandboxHolder) -> SampleId:
    """Return the sample of a holder."""
    return holder.sample_id, holder.epoch


def holding_tasks(fleet: Fleet, process: Process, sandbox: Sandbox) -> tuple[TaskKey, ...]:
    """Return the tasks of a live process that made a sandbox, or may have made it."""
    holder = sandbox.holder
    if process.is_gone:
        return ()
    if holder is not None:
        if process.key != _process_of(process.key.machine, holder):
            return ()
        return tuple(key for key in process.tasks if fleet.tasks[key].row.task == holder.task)
    if not _is_old_enough(process, sandbox):
        return ()
    return tuple(
        key for key in process.tasks if task_part(fleet.tasks[key].row.task) == sandbox.task_part
    )


def leftovers(fleet: Fleet, machine: MachineName, docker: Docker) -> tuple[Sandbox, ...]:
    """Return the sandboxes of evals that have ended on this machine.

    A sandbox whose holder is not known is never among them: an eval on another host, or of
    another account, may hold it.
    """
    return tuple(
        each
        for each in sandboxes(docker)
        if each.holder is not None and not _lives(fleet, machine, each.holder)
    )


def unclaimed(fleet: Fleet, machine: MachineName, docker: Docker, at: float) -> tuple[Sandbox, ...]:
    """Return the old sandboxes that no eval holds, as far as evalroom can see.

    Args:
        fleet: All that is known.
        machine: The machine.
        docker: The reading of its Docker.
        at: Unix seconds at the desk.
    """
    clock = at + fleet.clock_offset(machine)
    processes = processes_of(fleet, machine)
    return tuple(
        each
        for each in sandboxes(docker)
        if each.holder is None
        and each.created is not None
        and clock - each.created >= UNCLAIMED_AFTER_S
        and not any(_may_hold(fleet, process, each) for process in processes)
    )


def held(fleet: Fleet, machine: MachineName, docker: Docker) -> Mapping[TaskKey, list[Sandbox]]:
    """Return the sandboxes that each task of a machine holds, or may hold."""
    found: dict[TaskKey, list[Sandbox]] = {}
    processes = processes_of(fleet, machine)
    for sandbox in sandboxes(docker):
        for process in processes:
            for key in holding_tasks(fleet, process, sandbox):
                found.setdefault(key, []).append(sandbox)
    return found


def removal_command(chosen: Iterable[Sandbox]) -> str:
    """Return the command that removes exactly these containers, with their volumes."""
    ids = [container.id for sandbox in chosen for container in sandbox.containers]
    return " ".join(("docker", "rm", "--force", "--volumes", *ids))


def processes_of(fleet: Fleet, machine: MachineName) -> tuple[Process, ...]:
    """Return the processes of a machine."""
    return tuple(each for key, each in fleet.processes.items() if key.machine == machine)


def with_known_holders(fleet: Fleet, machine: MachineName, facts: MachineFacts) -> MachineFacts:
    """Return a machine's facts with the holders that an earlier probe knew.

    A new probe can't read the traces of evals that ended before it started.
    """
    before = fleet.machines[machine].facts
    known = {each.id: each.holder for each in before.docker.containers} if before else {}
    docker = facts.docker
    if not any(known.get(each.id) and each.holder is None for each in docker.containers):
        return facts
    open_ones = {each.pid for each in docker.unlisted}

    def of(container: Container) -> Container:
        holder = known.get(container.id)
        if container.holder is not None or holder is None:
            return container
        key = _process_of(machine, holder)
        is_alive = not fleet.is_gone(key) or holder.pid in open_ones
        return replace(container, holder=replace(holder, is_alive=is_alive))

    containers = tuple(of(each) for each in docker.containers)
    return replace(facts, docker=replace(docker, containers=containers))


def with_sandboxed_samples(fleet: Fleet, machine: MachineName) -> Fleet:
    """Return the fleet whose tasks know which of their running samples hold sandboxes."""
    facts = fleet.machines[machine].facts
    if facts is None:
        return fleet
    changed: dict[TaskKey, Task] = {}
    now = held(fleet, machine, facts.docker)
    for key, task in fleet.tasks.items():
        if key.machine != machine or not (task.has_sandboxes or key in now):
            continue
        holders = [each.holder for each in now.get(key, ())]
        samples = {sample_of(each) for each in holders if each is not None} | task.sandboxed
        running = frozenset(each for each in samples if _runs(task, each))
        if not task.has_sandboxes or running != task.sandboxed:
            changed[key] = with_fields(task, has_sandboxes=True, sandboxed=running)
    return with_fields(fleet, tasks=with_items(fleet.tasks, changed)) if changed else fleet


def _runs(task: Task, sample: SampleId) -> bool:
    row = task.samples.get(sample)
    return task.state is TaskState.RUNNING and (row is None or not row.has_ended)


def _process_of(machine: MachineName, holder: SandboxHolder) -> ProcessKey:
    return ProcessKey(machine, holder.pid, holder.start)


def _lives(fleet: Fleet, machine: MachineName, holder: SandboxHolder) -> bool:
    return holder.is_alive or not fleet.is_gone(_process_of(machine, holder))


def _may_hold(fleet: Fleet, process: Process, sandbox: Sandbox) -> bool:
    """Whether a process may have made a sandbox; so may one whose tasks are unknown."""
    if process.is_gone or not _is_old_enough(process, sandbox):
        return False
    return not process.tasks or bool(holding_tasks(fleet, process, sandbox))


def _is_old_enough(process: Process, sandbox: Sandbox) -> bool:
    """Whether a process had started when a sandbox was made, as far as both are known."""
    created, started = sandbox.created, process.started_at
    return created is None or started is None or created >= started - CLOCK_SLACK_S
