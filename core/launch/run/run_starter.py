"""Starts one run: from its plan to a process that evalroom watches.

Every step can be repeated without harm. The folder is created whole or not at all, and the
script runs its command only once however often it is started. So when the link breaks, the
starter waits for it and repeats the step.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from core.errors import EvalroomError, JobFailed, NotThere, RequestFailed, sentences
from core.launch.engines.engine import EXIT_ALREADY_STARTED, Engine, StartResult
from core.launch.engines.registry import engine_named
from core.launch.plan.run_plan import RunPlan
from core.launch.ports import LaunchDesk
from core.launch.progress import OnProgress
from core.launch.provision.dependencies import ProvisionedRun
from core.launch.run import launcher_client
from core.launch.run.run_record import manifest
from core.launch.run.run_registry import RunRegistry
from core.launch.run.run_state import (
    after_fleet,
    after_poll,
    has_begun,
    with_error,
    with_started,
)
from core.model.process import ProcessState
from core.model.run import Run, RunState

LINK_WAIT_S = 900.0
"""How long a launch waits for a lost link to come back, seconds."""
_RETRY_DELAY_S = 1.0
"""Pause before a step is repeated, seconds."""
_WATCHED_WAIT_S = 20.0
"""How long to wait until the probe lists the started process, seconds."""
_WATCHED_POLL_S = 0.1

Provision = Callable[[RunPlan, OnProgress], Awaitable[ProvisionedRun]]
"""Puts uv, packages and code on a run's machine."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarter:
    """Starts runs.

    Attributes:
        desk: Does jobs on machines, and knows the fleet.
        registry: Publishes and saves the runs.
        provision: Puts what a run needs on its machine.
    """

    desk: LaunchDesk
    registry: RunRegistry
    provision: Provision

    async def start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        """Prepare and start a run that is in the registry, and return its state.

        Args:
            plan: The run's plan.
            run: The run as stored.
            secrets: The values of its secret variables.
        """
        self.registry.starting.add(run.id)
        try:
            return await self._start(plan, run, secrets)
        finally:
            self.registry.starting.discard(run.id)

    async def _start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        engine = engine_named(plan.spec.engine)
        run = await self.registry.update(replace(run, state=RunState.PREPARING))
        try:
            await self._retried(
                run, lambda: launcher_client.create_folder(self.desk, plan, manifest(plan, run))
            )
            brought = await self._retried(
                run, lambda: self.provision(plan, lambda text: self._publish_progress(run, text))
            )
            run = await self.registry.update(
                replace(
                    run,
                    state=RunState.STARTING,
                    started_at=self.desk.now(),
                    message="",
                    commit=brought.commit or "",
                )
            )
            run = await self._run_script(plan, run, engine, secrets)
        except EvalroomError as error:
            await self._delete_secrets(plan)
            return await self.registry.update(with_error(run, error.sentence, self.desk.now()))
        return await self._watched(run)

    def _publish_progress(self, run: Run, text: str) -> None:
        """Publish how far the preparation is, without saving it."""
        self.registry.publish(replace(self.registry.runs[run.id], message=text))

    async def _run_script(
        self, plan: RunPlan, run: Run, engine: Engine, secrets: Mapping[str, str]
    ) -> Run:
        try:
            status, out, err = await self._retried(
                run, lambda: launcher_client.start_run(self.desk, plan, secrets)
            )
        except RequestFailed as error:
            if not await self._may_have_started(plan):
                raise
            text = sentences(
                error.message, "the run may have started anyway; evalroom is checking its folder"
            )
            return await self.registry.update(replace(run, message=text))
        if status is None or (status == EXIT_ALREADY_STARTED and not out.strip()):
            return run  # the poller finds out from the run's folder
        try:
            result = engine.read(status, out, err)
        except JobFailed as error:
            return await self._unless_it_ran(run, error)
        return await self.registry.update(_after_start(run, result))

    async def _unless_it_ran(self, run: Run, error: JobFailed) -> Run:
        """Return the state of a run whose start reported a failure, although its eval began.

        Raises:
            JobFailed: `error`, if no eval began.
        """
        try:
            rows = await launcher_client.poll_runs(self.desk, run.machine, [run])
        except RequestFailed as unseen:
            text = sentences(unseen.message, "evalroom is checking whether the run started")
            return await self.registry.update(replace(run, message=text))
        row = rows.get(run.id, {})
        if not has_begun(run, row):
            raise error
        return await self.registry.update(after_poll(run, row, self.desk.now(), is_abandoned=False))

    async def _retried(self, run: Run, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step; when the link is lost, wait for it and repeat the step.

        Raises:
            EvalroomError: The machine can't do it, or the link stayed down for `LINK_WAIT_S`.
        """
        clock = asyncio.get_running_loop()
        until = clock.time() + LINK_WAIT_S
        while True:
            try:
                return await step()
            except (JobFailed, NotThere):
                raise
            except RequestFailed as error:
                if clock.time() > until:
                    raise
                text = sentences(
                    error.message, f"the launch will continue once {run.machine} answers again"
                )
                await self.registry.update(replace(self.registry.runs[run.id], message=text))
                await asyncio.sleep(_RETRY_DELAY_S)
                while not self.desk.fleet.is_up(run.machine) and clock.time() < until:  # noqa: ASYNC110
                    await asyncio.sleep(_RETRY_DELAY_S)

    async def _may_have_started(self, plan: RunPlan) -> bool:
        """Whether a run whose start got no answer may run now or later.

        Takes the run's start lock if possible: a run that is reported as failed must never
        start later.
        """
        try:
            return not await launcher_client.bar_start(self.desk, plan.machine, plan.directory)
        except JobFailed:
            return False
        except RequestFailed:
            return True

    async def _watched(self, run: Run) -> Run:
        """Wait a while until the fleet has the run's process; a short run may be over already."""
        until = asyncio.get_running_loop().time() + _WATCHED_WAIT_S
        while asyncio.get_running_loop().time() < until:
            process = self.desk.fleet.process_of_run(run)
            if process is not None and process.state is not ProcessState.STARTING:
                return await self.registry.update(
                    after_fleet(
                        run, process, self.desk.now(), self.desk.fleet.clock_offset(run.machine)
                    )
                )
            if run.pid is None:
                break
            await asyncio.sleep(_WATCHED_POLL_S)
        return run

    async def _delete_secrets(self, plan: RunPlan) -> None:
        if plan.secrets_from is not None and plan.secrets_from != "-":
            with contextlib.suppress(RequestFailed):
                await launcher_client.delete_secrets(self.desk, plan.machine, plan.secrets_from)


def _after_start(run: Run, result: StartResult) -> Run:
    """Return a run with the result of its start."""
    if result.is_complete:
        state = RunState.FINISHING
    else:
        state = RunState.STARTING if result.pid is None else RunState.RUNNING
    return replace(with_started(run, result), state=state)
