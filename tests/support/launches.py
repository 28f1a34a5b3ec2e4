"""Launches over a real desk: started, found again, and what is left of them."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cli.wiring.launches import plan_context, plan_on
from core.config.model import Config, MachineConfig
from core.desk.desk import Desk
from core.ids import MachineName, ProcessKey
from core.launch.plan.matrix import RunRequest, expand
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.provision.dependencies import ProvisionedRun
from core.launch.run.run_registry import RunRegistry
from core.launch.run.service import DeskLaunchService
from core.launch.spec.spec import Spec
from core.model.job import Job
from core.model.run import Run, RunState
from core.ports import Reply
from storage.database import Database
from storage.identity import this_instance
from storage.runs import SqliteRunStore
from tests.support.desk_on_evals import Watched, watching
from tests.support.processes import wait_gone, with_variable
from tests.support.reached import HOMES_EVALS
from tests.support.waiting import EVAL_S

Work = Callable[[MachineName, Job, float], Any]


@dataclass
class Place:
    """A desk whose jobs a test may spoil.

    Attributes:
        jobs: The verbs that were asked for, in order.
        spoil: Called instead of the desk's own `work`, with what does it.
    """

    desk: Desk
    jobs: list[str]
    spoil: Callable[[MachineName, Job, Callable[[], Any]], Any] | None = None

    @property
    def fleet(self) -> Any:
        return self.desk.fleet

    def now(self) -> float:
        return self.desk.now()

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        return await self.desk.read(process, path, deadline=deadline)

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        self.jobs.append(job.verb)

        async def really() -> Mapping[str, Any]:
            return await self.desk.work(machine, job, deadline=deadline)

        if self.spoil is None:
            return await really()
        found: Mapping[str, Any] = await self.spoil(machine, job, really)
        return found


@dataclass
class Launched:
    """A room's launches.

    Attributes:
        watched: The desk that they are over.
        place: What they ask of it.
    """

    watched: Watched
    place: Place
    launches: DeskLaunchService
    config: Config

    def checked(self, spec: Spec) -> tuple[CheckedPlan, ...]:
        """The plans of a spec, each on its first candidate, unchecked."""
        return tuple(
            CheckedPlan(plan=self._plan(each)) for each in expand(spec, self.config.machines)
        )

    def _plan(self, launch: RunRequest) -> RunPlan:
        machine = next(e for e in self.config.machines if e.name == launch.candidates[0])
        return plan_on(launch, machine, plan_context())

    async def over(self, run: Run, seconds: float = EVAL_S) -> Run:
        """Wait until a run is over."""
        runs = self.launches.registry.runs
        await self.watched.until(
            lambda: runs[run.id].is_over, f"{run.id} is over: {runs[run.id]}", seconds
        )
        return runs[run.id]

    async def comes_to(self, run: str, *states: RunState, seconds: float = EVAL_S) -> Run:
        """Wait until a run is in one of these states."""
        runs = self.launches.registry.runs
        await self.watched.until(
            lambda: run in runs and runs[run].state in states, f"{run} is {states}", seconds
        )
        return runs[run]


@asynccontextmanager
async def launching(
    machines: Sequence[MachineConfig],
    folder: Path,
    *,
    known_hosts: Path | None = None,
    secrets: Mapping[str, str] | None = None,
) -> AsyncGenerator[Launched, None]:
    """A room's launches over these machines; its history is kept in `folder`."""
    config = Config(machines=tuple(_with_own_evals(each) for each in machines))
    async with (
        watching(
            config.machines, known_hosts or folder / "known_hosts", read_only=False
        ) as watched,
        Database.at(folder / "history.sqlite3") as database,
    ):
        place = Place(watched.desk, [])

        async def bring(plan: RunPlan, on_progress: Callable[[str], None]) -> ProvisionedRun:
            del plan, on_progress
            return ProvisionedRun()

        async def open_secrets(names: Sequence[str]) -> Mapping[str, str]:
            return {name: (secrets or {})[name] for name in names}

        async def choose(
            launches: Sequence[RunRequest], on_progress: OnProgress | None
        ) -> tuple[CheckedPlan, ...]:
            raise NotImplementedError(launches, on_progress)

        instance = this_instance()
        launches = DeskLaunchService(
            desk=place,
            registry=RunRegistry(
                SqliteRunStore(database),
                instance=instance,
                post=watched.desk.post,
                now=watched.desk.now,
            ),
            machines=config.machines,
            choose=choose,
            provision=bring,
            open_secrets=open_secrets,
            operator="Ada",
        )
        looking = asyncio.create_task(launches.run())
        try:
            yield Launched(watched, place, launches, config)
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking


def _with_own_evals(machine: MachineConfig) -> MachineConfig:
    return machine if machine.data_dir else replace(machine, data_dir=HOMES_EVALS)


def alive(run: str) -> list[int]:
    """The pids of a run's processes on this computer."""
    return with_variable("EVALROOM_RUN", run)


def wait_all_gone(run: str) -> None:
    """Wait until no process of a run is left; whether it ever ran is for the test to show."""
    wait_gone(lambda: alive(run), f"the processes of {run} are")


def end_all(runs: Sequence[str]) -> None:
    """End what is left of runs."""
    for run in runs:
        for pid in alive(run):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
