"""A machine with containers that evals left behind, and a guide runner that removes them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from core.act.ports import ActionDesk
from core.act.service import ActionService
from core.events import Event, MachineRead
from core.fleet import Fleet
from core.guide.guide import Guide
from core.guide.runner import GuideRunner
from core.ids import MachineName
from core.model.job import Job
from core.model.machine import Container, Docker, SandboxHolder, ToolState
from tests.support.fleets import (
    NOW,
    facts,
    fleet_after,
    link,
    named,
    probe_answered,
    process_seen,
    task_row,
    tasks_seen,
)
from tests.support.orders import HERE


def left(number: int, **more: Any) -> Container:
    """Return a container of an eval that has ended."""
    made = Container(
        id=f"{number:012x}", name=f"old-{number}", project=f"inspect-old-iabc12{number}",
        created=NOW - 90_000.0, is_running=False, status="Exited (137)",
        holder=SandboxHolder(
            pid=99, start="gone", task="old", sample_id=number, epoch=1, is_alive=False
        ),
    )  # fmt: skip
    return replace(made, **more)


def read(*containers: Container, at: float = NOW, **more: Any) -> MachineRead:
    docker = Docker(state=ToolState.OK, containers=containers, **more)
    return facts(at=at, docker=docker)


def fleet_with(*events: Event) -> Fleet:
    return fleet_after(
        named(),
        link(at=NOW - 100),
        probe_answered(at=NOW - 100),
        process_seen(started_at=NOW - 9_000),
        tasks_seen(task_row()),
        *events,
    )


class Desk:
    """A desk that keeps the jobs that it is given."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.jobs: list[Job] = []

    def now(self) -> float:
        return self.fleet.at

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        del machine, deadline
        self.jobs.append(job)
        return {"removed": list(job.given["containers"])}


class Shelf:
    """Keeps guides in memory."""

    def __init__(self) -> None:
        self.kept: list[Guide] = []

    async def save(self, guide: Guide) -> None:
        self.kept.append(guide)

    async def recent(self, limit: int) -> tuple[Guide, ...]:
        del limit
        return tuple(self.kept[-1:])

    async def claim(self, guide: str, instance: object) -> Guide:
        raise NotImplementedError(guide, instance)


class Acting:
    """Who confirms."""

    instance = HERE

    def is_ours(self, process: object) -> bool:
        del process
        return True


def runner_on(desk: Desk) -> GuideRunner:
    return GuideRunner(
        cast("ActionDesk", desk), cast("ActionService", Acting()), store=Shelf(), worker=desk
    )
