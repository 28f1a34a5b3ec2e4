"""The launch service over a desk; implements `core.launch.ports.LaunchService`."""

import asyncio
import secrets as random
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
from core.launch.ports import ErrorExample, LaunchDesk, OpenSecrets, OutputChunk
from core.launch.preflight.checks import CheckedPlan
from core.launch.progress import OnProgress
from core.launch.run import launcher_client
from core.launch.run.log_secrets import secrets_of_logs
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
"""Finds the best machine for each run, with the preflight of its plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskLaunchService:
    """Checks, starts and follows runs over a desk.

    Attributes:
        desk: Does jobs on machines, and knows the fleet.
        registry: Publishes and saves the runs.
        machines: The machines of the config.
        choose: Finds the machines for a launch.
        provision: Puts what a run needs on its machine.
        open_secrets: Returns secrets.
        operator: Who launches.
        read_only: Whether this evalroom must not change anything.
    """

    desk: LaunchDesk
    registry: RunRegistry
    machines: Sequence[MachineConfig]
    choose: ChooseMachines
    provision: Provision
    open_secrets: OpenSecrets
    operator: str
    read_only: bool = False

    async def run(self) -> None:
        """See `LaunchService.run`."""
        await self._poller(delay_discovery=True).run()

    async def poll_once(self) -> None:
        """Poll every run that is due once, and discover other people's runs."""
        await self._poller(delay_discovery=False).poll_once()

    def _poller(self, *, delay_discovery: bool) -> RunPoller:
        return RunPoller(
            self.desk,
            self.registry,
            open_secrets=self.open_secrets,
            delay_discovery=delay_discovery,
        )

    async def check(
        self, spec: Spec, *, on_progress: OnProgress | None = None
    ) -> tuple[CheckedPlan, ...]:
        """See `LaunchService.check`."""
        return await self.choose(expand(spec, self.machines), on_progress)

    async def launch(
        self, checked: Sequence[CheckedPlan], *, on_change: Callable[[Run], None] | None = None
    ) -> tuple[Run, ...]:
        """See `LaunchService.launch`."""
        self._refuse(checked)
        plans = [each.plan for each in checked]
        values = {plan.run: await self._values(plan) for plan in plans}
        at, suffix = self.desk.now(), random.token_hex(4)
        launch_id = f"{plans[0].run}-{suffix}" if len(plans) > 1 else plans[0].run
        runs = [new_run(plan, at=at, operator=self.operator, launch=launch_id) for plan in plans]
        ids = {run.id for run in runs}
        by_machine: dict[MachineName, list[tuple[RunPlan, Run]]] = defaultdict(list)
        for plan, run in zip(plans, runs, strict=True):
            by_machine[plan.machine].append((plan, run))
        with ExitStack() as after:
            # First: the poller treats a stored run that is not being started as abandoned.
            self.registry.starting.update(ids)
            after.callback(self.registry.starting.difference_update, ids)
            await self.registry.add(runs)
            if on_change is not None:
                after.callback(self.registry.on_change(on_change, ids))
            await asyncio.gather(*(self._start_all(each, values) for each in by_machine.values()))
        return tuple(self.registry.runs[run.id] for run in runs)

    def _refuse(self, checked: Sequence[CheckedPlan]) -> None:
        if not checked:
            raise NotConfirmed("nothing was launched: the plan has no run to start")
        if self.read_only:
            raise NotConfirmed("nothing was launched: evalroom is read-only")
        for each in checked:
            for stop in each.stops:
                raise NotConfirmed(
                    f"nothing was launched: {each.plan.machine}: {stop.message}", stop.advice
                )

    async def _values(self, plan: RunPlan) -> Mapping[str, str]:
        """Return the values of a run's secrets by the names of its variables."""
        if not plan.secrets:
            return {}
        values = await self.open_secrets(tuple(plan.secrets.values()))
        return {variable: values[name] for variable, name in plan.secrets.items()}

    async def _start_all(
        self, runs: Sequence[tuple[RunPlan, Run]], values: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Start the runs of one machine, one after another."""
        starter = RunStarter(desk=self.desk, registry=self.registry, provision=self.provision)
        for plan, run in runs:
            await starter.start(plan, run, values[run.id])

    async def output(self, run: Run, *, start: int | None = None) -> OutputChunk:
        """See `LaunchService.output`."""
        if run.has_screen:
            return await self._screen(run)
        for file in (run.output_file, "launch.err", "start.err"):
            try:
                if file:
                    return await launcher_client.read_output(self.desk, run, file, start)
            except JobFailed:
                continue
        return OutputChunk(data=b"", end=0, size=0)

    async def error_examples(self, run: Run) -> tuple[ErrorExample, ...]:
        """Return the full error of one sample of each group of a run's errors.

        Raises:
            RequestFailed: They can't be read.
        """
        if not any(log.errors for log in run.logs):
            return ()
        secrets = await secrets_of_logs(run, self.open_secrets)
        return await launcher_client.read_examples(self.desk, run, secrets)

    async def _screen(self, run: Run) -> OutputChunk:
        status, out, err = await launcher_client.run_command(
            self.desk, run.machine, run.screen, changes=False
        )
        if status != 0 and is_session_gone(err):
            raise JobFailed(
                "its tmux session has ended, and its screen contents are lost",
                f"find its logs with: evalroom run {run.id}",
            )
        if status != 0:
            raise JobFailed(f"can't read its screen: {shown(err, 200)}")
        data = out.encode()
        return OutputChunk(data=data, end=len(data), size=len(data))
