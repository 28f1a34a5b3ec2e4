"""The launches of one room (`core.launch.ports.LaunchService`)."""

import asyncio
import secrets as chance
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from core.config.model import MachineConfig
from core.errors import JobFailed, NotConfirmed
from core.ids import MachineName
from core.launch.engines.tmux_sessions import is_session_gone
from core.launch.plan.matrix import RunRequest, expand
from core.launch.plan.run_plan import RunPlan
from core.launch.ports import LaunchDesk, OutputChunk
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.run import launcher_client
from core.launch.run.run_poller import RunPoller
from core.launch.run.run_record import new_run
from core.launch.run.run_registry import RunRegistry
from core.launch.run.run_starter import Provision, RunStarter
from core.launch.spec.spec import Spec
from core.model.run import Run
from core.text import shown

ChooseMachines = Callable[
    [Sequence[RunRequest], OnProgress | None], Awaitable[tuple[CheckedPlan, ...]]
]
"""Finds the machine that fits each launch, with the preflight of its plan there."""
OpenSecrets = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the values of secrets by their names; raises EvalroomError where one is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskLaunchService:
    """Checks, starts and finds runs.

    Attributes:
        desk: Has jobs done, and knows the fleet.
        registry: Where runs are told and kept.
        machines: Of the config.
        choose: Finds the machines for launches.
        bring: Brings what a run needs to its machine.
        open_secrets: Knows secrets.
        operator: Who launches.
        read_only: Whether nothing may be changed from here.
    """

    desk: LaunchDesk
    registry: RunRegistry
    machines: Sequence[MachineConfig]
    choose: ChooseMachines
    bring: Provision
    open_secrets: OpenSecrets
    operator: str
    read_only: bool = False

    async def run(self) -> None:
        """Look after all runs until cancelled."""
        await RunPoller(self.desk, self.registry, calmly=True).run()

    async def look_once(self) -> None:
        """Look once after all runs that are due, also for those of others."""
        await RunPoller(self.desk, self.registry, calmly=False).turn()

    async def check(self, spec: Spec, *, tell: OnProgress | None = None) -> tuple[CheckedPlan, ...]:
        """See `core.launch.ports.LaunchService.check`."""
        return await self.choose(expand(spec, self.machines), tell)

    async def launch(
        self, checked: Sequence[CheckedPlan], *, tell: Callable[[Run], None] | None = None
    ) -> tuple[Run, ...]:
        """See `core.launch.ports.LaunchService.launch`."""
        self._refuse(checked)
        plans = [each.plan for each in checked]
        values = {plan.run: await self._values(plan) for plan in plans}
        at, mark = self.desk.now(), chance.token_hex(4)
        shared = f"{plans[0].run}-{mark}" if len(plans) > 1 else plans[0].run
        runs = [new_run(plan, at=at, operator=self.operator, launch=shared) for plan in plans]
        ids = {run.id for run in runs}
        lanes: dict[MachineName, list[tuple[RunPlan, Run]]] = defaultdict(list)
        for plan, run in zip(plans, runs, strict=True):
            lanes[plan.machine].append((plan, run))
        with ExitStack() as after:
            # Held first: what is on the disk and in nobody's hands is taken for abandoned.
            self.registry.held.update(ids)
            after.callback(self.registry.held.difference_update, ids)
            await self.registry.add(runs)
            if tell is not None:
                after.callback(self.registry.listen(tell, ids))
            await asyncio.gather(*(self._lane(lane, values) for lane in lanes.values()))
        return tuple(self.registry.runs[run.id] for run in runs)

    def _refuse(self, checked: Sequence[CheckedPlan]) -> None:
        if not checked:
            raise NotConfirmed("nothing is launched: there is no run in it")
        if self.read_only:
            raise NotConfirmed("nothing is launched: evalroom is read-only")
        for each in checked:
            for stop in each.stops:
                said = f"nothing is launched: {each.plan.machine}: {stop.said}"
                raise NotConfirmed(said, stop.advice)

    async def _values(self, plan: RunPlan) -> Mapping[str, str]:
        """Return the secrets of a run, by the names of its variables."""
        if not plan.secrets:
            return {}
        values = await self.open_secrets(tuple(plan.secrets.values()))
        return {variable: values[name] for variable, name in plan.secrets.items()}

    async def _lane(
        self, lane: Sequence[tuple[RunPlan, Run]], values: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Start the runs of one machine, one after the other."""
        starting = RunStarter(desk=self.desk, registry=self.registry, bring=self.bring)
        for plan, run in lane:
            await starting.start(plan, run, values[run.id])

    async def output(self, run: Run, *, start: int | None = None) -> OutputChunk:
        """See `core.launch.ports.LaunchService.output`."""
        if run.has_screen:
            return await self._screen(run)
        for file in (run.output_file, "launch.err", "start.err"):
            try:
                if file:
                    return await launcher_client.read_output(self.desk, run, file, start)
            except JobFailed:
                continue
        return OutputChunk(data=b"", end=0, size=0)

    async def _screen(self, run: Run) -> OutputChunk:
        status, out, err = await launcher_client.run_command(
            self.desk, run.machine, run.screen, changes=False
        )
        if status != 0 and is_session_gone(err):
            said = "its session is gone, and what stood on its screen with it"
            raise JobFailed(said, f"evalroom run {run.id} names its logs")
        if status != 0:
            raise JobFailed(f"its screen can't be read: {shown(err, 200)}")
        data = out.encode()
        return OutputChunk(data=data, end=len(data), size=len(data))
