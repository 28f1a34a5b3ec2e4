"""Which eval holds which of Inspect's Docker containers.

Inspect makes a Compose project for each sample, and names it by the task. Neither its name nor its
labels tell the process, so a project is held by every process that could have made it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.fleet import Fleet
from core.ids import MachineName, TaskKey
from core.model.machine import Container, Docker
from core.model.process import Process

CLOCK_SLACK_S = 10.0
"""A container that is older than a process by more than this was not made by it, seconds."""

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
    def is_own(self) -> bool:
        """Whether its files belong to the user of the link."""
        return all(each.is_own for each in self.containers)

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


def holding_tasks(fleet: Fleet, process: Process, sandbox: Sandbox) -> tuple[TaskKey, ...]:
    """Return the tasks of a live process that may have made a sandbox."""
    if not _is_old_enough(process, sandbox):
        return ()
    return tuple(
        key for key in process.tasks if task_part(fleet.tasks[key].row.task) == sandbox.task_part
    )


def may_hold(fleet: Fleet, process: Process, sandbox: Sandbox) -> bool:
    """Return whether a process may have made a sandbox; so may one whose tasks are unknown."""
    if process.is_gone or not _is_old_enough(process, sandbox):
        return False
    return not process.tasks or bool(holding_tasks(fleet, process, sandbox))


def leftovers(fleet: Fleet, machine: MachineName, docker: Docker) -> tuple[Sandbox, ...]:
    """Return the sandboxes of the link's user that no eval holds.

    While evals run there that the probe does not list, it is unknown what they hold: then none.
    """
    if docker.others:
        return ()
    processes = processes_of(fleet, machine)
    return tuple(
        each
        for each in sandboxes(docker)
        if each.is_own
        and each.created is not None
        and not any(may_hold(fleet, process, each) for process in processes)
    )


def held(fleet: Fleet, machine: MachineName, docker: Docker) -> Mapping[TaskKey, list[Sandbox]]:
    """Return the sandboxes that each task of a machine may hold."""
    found: dict[TaskKey, list[Sandbox]] = {}
    processes = processes_of(fleet, machine)
    for sandbox in sandboxes(docker):
        for process in processes:
            for key in () if process.is_gone else holding_tasks(fleet, process, sandbox):
                found.setdefault(key, []).append(sandbox)
    return found


def removal_command(chosen: Iterable[Sandbox]) -> str:
    """Return the command that removes exactly these containers, with their volumes."""
    ids = [container.id for sandbox in chosen for container in sandbox.containers]
    return " ".join(("docker", "rm", "--force", "--volumes", *ids))


def processes_of(fleet: Fleet, machine: MachineName) -> tuple[Process, ...]:
    """Return the processes of a machine."""
    return tuple(each for key, each in fleet.processes.items() if key.machine == machine)


def _is_old_enough(process: Process, sandbox: Sandbox) -> bool:
    """Whether a process had started when a sandbox was made, as far as both are known."""
    created, started = sandbox.created, process.started_at
    return created is None or started is None or created >= started - CLOCK_SLACK_S


def new_holders(fleet: Fleet, machine: MachineName) -> tuple[TaskKey, ...]:
    """Return the tasks that are now seen to hold containers for the first time."""
    known = fleet.machines.get(machine)
    if known is None or known.facts is None:
        return ()
    found = held(fleet, machine, known.facts.docker)
    return tuple(key for key in found if not fleet.tasks[key].has_sandboxes)
