"""One run's way from its plan to a process that can be watched.

Each step may be done again without harm: the folder is made whole or not at all, the script
starts its command once however often it is run. So a link that is cut is waited for, and the
step is done again; nothing is ever guessed.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from core.errors import EvalroomError, JobFailed, NotThere, RequestFailed
from core.fleet import Fleet
from core.ids import ProcessKey
from core.launch.engines.engine import ALREADY, Engine, Started
from core.launch.engines.registry import engine_named
from core.launch.plan.launch_plan import RunPlan
from core.launch.provision.provision import Brought
from core.launch.run import launcher_client
from core.launch.run.run_record import manifest
from core.launch.run.run_state import after_fleet, failed, process_of_run, with_started
from core.launch.run.runs import Ledger
from core.model.job import Worker
from core.model.process import ProcessState
from core.model.run import Run, RunState
from core.ports import Reply

PATIENCE = 900.0
"""Seconds that a lost link is waited for in the midst of a launch."""
_AGAIN = 1.0
"""Seconds between two tries of a step."""
_IN_SIGHT = 20.0
"""Seconds within which a started process is usually seen by the probe."""

Bring = Callable[[RunPlan, Callable[[str], None]], Awaitable[Brought]]
"""Brings what a run needs to its machine; tells how far it is."""
T = TypeVar("T")


class Place(Worker, Protocol):
    """What a start needs of the desk."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Unix seconds at the desk."""
        ...

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET; raises RequestFailed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """Starts runs.

    Attributes:
        desk: Has jobs done, and knows the fleet.
        ledger: Where runs are told and kept.
        bring: Brings what a run needs.
    """

    desk: Place
    ledger: Ledger
    bring: Bring

    async def start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        """Prepare and start a run that is written down; return it as it stands then."""
        self.ledger.held.add(run.id)
        try:
            return await self._start(plan, run, secrets)
        finally:
            self.ledger.held.discard(run.id)

    async def _start(self, plan: RunPlan, run: Run, secrets: Mapping[str, str]) -> Run:
        engine = engine_named(plan.spec.engine)
        run = await self.ledger.change(replace(run, state=RunState.PREPARING))
        try:
            await self._patiently(
                run, lambda: launcher_client.place(self.desk, plan, manifest(plan, run))
            )
            brought = await self._patiently(
                run, lambda: self.bring(plan, lambda said: self._tell(run, said))
            )
            run = await self.ledger.change(
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
            return await self.ledger.change(failed(run, error.sentence, self.desk.now()))
        return await self._watched(run)

    def _tell(self, run: Run, said: str) -> None:
        """Tell how far a run is prepared; that is not worth writing down."""
        self.ledger.see(replace(self.ledger.runs[run.id], said=said))

    async def _started(
        self, plan: RunPlan, run: Run, engine: Engine, secrets: Mapping[str, str]
    ) -> Run:
        try:
            status, out, err = await self._patiently(
                run, lambda: launcher_client.start(self.desk, plan, secrets)
            )
        except RequestFailed as error:
            if not await self._may_run(plan):
                raise
            told = f"{error.message}; it may run all the same: a look at its folder will tell"
            return await self.ledger.change(replace(run, said=told))
        if status is None or (status == ALREADY and not out.strip()):
            return run  # it goes on: a look at its folder will tell
        return await self.ledger.change(_with(run, engine.read(status, out, err)))

    async def _patiently(self, run: Run, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step; where the link is lost under it, wait for the link and do it again.

        Raises:
            EvalroomError: It can't be done, or the link stays away.
        """
        clock = asyncio.get_running_loop()
        until = clock.time() + PATIENCE
        while True:
            try:
                return await step()
            except (JobFailed, NotThere):
                raise
            except RequestFailed as error:
                if clock.time() > until:
                    raise
                told = f"{error.message}; it goes on once {run.machine} answers"
                await self.ledger.change(replace(self.ledger.runs[run.id], said=told))
                await asyncio.sleep(_AGAIN)
                while not self.desk.fleet.is_up(run.machine) and clock.time() < until:  # noqa: ASYNC110
                    await asyncio.sleep(_AGAIN)

    async def _may_run(self, plan: RunPlan) -> bool:
        """Whether a run whose start had no good answer may run now or later.

        It is kept from that if it can be: what is told as failed must never run.
        """
        try:
            return not await launcher_client.bar(self.desk, plan.machine, plan.directory)
        except JobFailed:
            return False
        except RequestFailed:
            return True

    async def _watched(self, run: Run) -> Run:
        """Wait until the room sees the run's process, for a while: it may be over already."""
        until = asyncio.get_running_loop().time() + _IN_SIGHT
        while asyncio.get_running_loop().time() < until:
            process = process_of_run(self.desk.fleet, run)
            if process is not None and process.state is not ProcessState.STARTING:
                return await self.ledger.change(after_fleet(run, process, self.desk.now()))
            if run.pid is None:
                break
            await asyncio.sleep(0.1)
        return run

    async def _swept(self, plan: RunPlan) -> None:
        if plan.secrets_from is not None and plan.secrets_from != "-":
            with contextlib.suppress(RequestFailed):
                await launcher_client.sweep(self.desk, plan.machine, plan.secrets_from)


def _with(run: Run, started: Started) -> Run:
    """Return a run as its start answered."""
    if started.is_complete:
        state = RunState.FINALISING
    else:
        state = RunState.STARTING if started.pid is None else RunState.RUNNING
    return replace(with_started(run, started), state=state)
