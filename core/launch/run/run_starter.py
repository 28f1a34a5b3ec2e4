"""One run's way from its plan to a process that can be watched.

Each step may be done again without harm: the folder is made whole or not at all, the script
starts its command once however often it is run. So a link that is cut is waited for, and the
step is done again; nothing is ever guessed.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from core.errors import EvalroomError, JobFailed, NotThere, RequestFailed
from core.launch.engines.engine import EXIT_ALREADY_STARTED, Engine, StartResult
from core.launch.engines.registry import engine_named
from core.launch.plan.run_plan import RunPlan
from core.launch.ports import LaunchDesk
from core.launch.provision.dependencies import Provisioned
from core.launch.run import launcher_client
from core.launch.run.run_record import manifest
from core.launch.run.run_registry import RunRegistry
from core.launch.run.run_state import after_fleet, process_of_run, with_error, with_started
from core.model.process import ProcessState
from core.model.run import Run, RunState

LINK_WAIT_S = 900.0
"""Seconds that a lost link is waited for in the midst of a launch."""
_RETRY_DELAY_S = 1.0
"""Seconds between two tries of a step."""
_WATCHED_WAIT_S = 20.0
"""Seconds within which a started process is usually seen by the probe."""

Provision = Callable[[RunPlan, Callable[[str], None]], Awaitable[Provisioned]]
"""Brings what a run needs to its machine; tells how far it is."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarter:
    """Starts runs.

    Attributes:
        desk: Has jobs done, and knows the fleet.
        registry: Where runs are told and kept.
        bring: Brings what a run needs.
    """

    desk: LaunchDesk
    registry: RunRegistry
    bring: Provision

    async def start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        """Prepare and start a run that is written down; return it as it stands then."""
        self.registry.held.add(run.id)
        try:
            return await self._start(plan, run, secrets)
        finally:
            self.registry.held.discard(run.id)

    async def _start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        engine = engine_named(plan.spec.engine)
        run = await self.registry.change(replace(run, state=RunState.PREPARING))
        try:
            await self._patiently(
                run, lambda: launcher_client.create_folder(self.desk, plan, manifest(plan, run))
            )
            brought = await self._patiently(
                run, lambda: self.bring(plan, lambda said: self._tell(run, said))
            )
            run = await self.registry.change(
                replace(
                    run,
                    state=RunState.STARTING,
                    started_at=self.desk.now(),
                    said="",
                    commit=brought.commit or "",
                )
            )
            run = await self._started(plan, run, engine, secrets)
        except EvalroomError as error:
            await self._swept(plan)
            return await self.registry.change(with_error(run, error.sentence, self.desk.now()))
        return await self._watched(run)

    def _tell(self, run: Run, said: str) -> None:
        """Tell how far a run is prepared; that is not worth writing down."""
        self.registry.see(replace(self.registry.runs[run.id], said=said))

    async def _started(
        self, plan: RunPlan, run: Run, engine: Engine, secrets: Mapping[str, str]
    ) -> Run:
        try:
            status, out, err = await self._patiently(
                run, lambda: launcher_client.start_run(self.desk, plan, secrets)
            )
        except RequestFailed as error:
            if not await self._may_run(plan):
                raise
            told = f"{error.message}; it may run all the same: a look at its folder will tell"
            return await self.registry.change(replace(run, said=told))
        if status is None or (status == EXIT_ALREADY_STARTED and not out.strip()):
            return run  # it goes on: a look at its folder will tell
        return await self.registry.change(_with(run, engine.read(status, out, err)))

    async def _patiently(self, run: Run, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step; where the link is lost under it, wait for the link and do it again.

        Raises:
            EvalroomError: It can't be done, or the link stays away.
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
                told = f"{error.message}; it goes on once {run.machine} answers"
                await self.registry.change(replace(self.registry.runs[run.id], said=told))
                await asyncio.sleep(_RETRY_DELAY_S)
                while not self.desk.fleet.is_up(run.machine) and clock.time() < until:  # noqa: ASYNC110
                    await asyncio.sleep(_RETRY_DELAY_S)

    async def _may_run(self, plan: RunPlan) -> bool:
        """Whether a run whose start had no good answer may run now or later.

        It is kept from that if it can be: what is told as failed must never run.
        """
        try:
            return not await launcher_client.bar_start(self.desk, plan.machine, plan.directory)
        except JobFailed:
            return False
        except RequestFailed:
            return True

    async def _watched(self, run: Run) -> Run:
        """Wait until the room sees the run's process, for a while: it may be over already."""
        until = asyncio.get_running_loop().time() + _WATCHED_WAIT_S
        while asyncio.get_running_loop().time() < until:
            process = process_of_run(self.desk.fleet, run)
            if process is not None and process.state is not ProcessState.STARTING:
                return await self.registry.change(after_fleet(run, process, self.desk.now()))
            if run.pid is None:
                break
            await asyncio.sleep(0.1)
        return run

    async def _swept(self, plan: RunPlan) -> None:
        if plan.secrets_from is not None and plan.secrets_from != "-":
            with contextlib.suppress(RequestFailed):
                await launcher_client.delete_secrets(self.desk, plan.machine, plan.secrets_from)


def _with(run: Run, started: StartResult) -> Run:
    """Return a run as its start answered."""
    if started.is_complete:
        state = RunState.FINISHING
    else:
        state = RunState.STARTING if started.pid is None else RunState.RUNNING
    return replace(with_started(run, started), state=state)
