"""Finds out how runs stand: by the fleet where their process is watched, else by a look there.

It also finds the runs that others launched on the same account, and those whose evalroom ended
in the midst of a launch: the run's id says whether it was started.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.ctl.decode import inner, parse_object
from core.ctl.routes import PROCESS_CONFIG
from core.errors import AnswerMalformed, JobFailed, RequestFailed, SpecWrong, StorageError
from core.ids import MachineName
from core.launch.engines.registry import engine_named
from core.launch.ports import LaunchDesk
from core.launch.run import launcher_client
from core.launch.run.run_record import run_from_manifest
from core.launch.run.run_registry import RunRegistry
from core.launch.run.run_state import (
    after_fleet,
    after_logs,
    after_poll,
    after_screen,
    has_started,
    process_of_run,
)
from core.model.process import Process
from core.model.run import Run, RunState

_READ_TIMEOUT_S = 15.0
MAX_LOADED_RUNS = 300
"""Runs that are loaded from the disk."""
_TURN_S = 0.5
_SOON_S, _OFTEN_S, _SELDOM_S = 2.0, 10.0, 60.0
"""Seconds between two looks: at what starts; at what runs unseen; at logs that can't be read."""
_YOUNG_S = 30.0
"""Seconds after its start in which a run that is not seen to run is looked at soon."""
_FIRST_DISCOVERY_DELAY_S = 5.0
"""Seconds from a machine's first word to the first look for the runs of others there."""
_MAX_LOG_READS = 8
"""Times that a log which can't be read is tried: a few minutes."""
_DISCOVERY_INTERVAL_S = 300.0
"""Seconds between two looks for the runs of others on a machine."""
_RELOAD_INTERVAL_S = 20.0
"""Seconds between two looks at what other evalrooms of this operator wrote."""


class RunPoller:
    """Looks after the open runs of one room.

    Args:
        desk: Has jobs done, and knows the fleet.
        registry: The runs.
        calmly: Whether the runs of others may come a little later: the first rows come first.
    """

    def __init__(self, desk: LaunchDesk, registry: RunRegistry, *, calmly: bool) -> None:
        self._desk = desk
        self._registry = registry
        self._next: dict[str, float] = {}
        self._others: dict[MachineName, float] = {}
        self._calmly = calmly
        self._busy: set[MachineName] = set()
        self._tries: dict[str, int] = defaultdict(int)
        self._loaded_at = float("-inf")
        self._abandoned: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Look after runs until cancelled; a machine that takes its time holds up no other."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._load()
                for machine, runs in self._due().items():
                    if machine not in self._busy:
                        self._busy.add(machine)
                        tasks.create_task(self._alone(machine, runs))
                await asyncio.sleep(_TURN_S)

    async def _alone(self, machine: MachineName, runs: Sequence[Run]) -> None:
        try:
            await self._machine(machine, runs)
        finally:
            self._busy.discard(machine)

    async def turn(self) -> None:
        """Look once at all that is due."""
        await self._load()
        await asyncio.gather(*(self._machine(*each) for each in self._due().items()))

    def _due(self) -> Mapping[MachineName, Sequence[Run]]:
        """Return the machines that are reached and have something to look at, with their runs."""
        now = asyncio.get_running_loop().time()
        due: dict[MachineName, list[Run]] = {}
        for run in self._registry.open():
            if self._desk.fleet.is_up(run.machine):
                due.setdefault(run.machine, []).append(run)
        for name in self._desk.fleet.machines:
            if (
                name not in due
                and now >= self._others.get(name, 0.0)
                and self._desk.fleet.is_up(name)
            ):
                due[name] = []
        return due

    async def _load(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._loaded_at < _RELOAD_INTERVAL_S:
            return
        self._loaded_at = now
        with contextlib.suppress(StorageError):
            await self._registry.load(MAX_LOADED_RUNS)
            self._abandoned = await self._registry.abandoned()
        await self._registry.save_again()

    async def _machine(self, machine: MachineName, runs: Sequence[Run]) -> None:
        unseen: list[Run] = []
        for run in runs:
            process = process_of_run(self._desk.fleet, run)
            if process is not None:
                known = await self._registry.change(after_fleet(run, process, self._desk.now()))
                if known.state is RunState.FINISHING and self._is_due(run):
                    await self._read_logs(known, is_alive=await self._may_go_on(process))
            elif self._is_due(run):
                unseen.append(run)
        try:
            if unseen:
                await self._look(machine, unseen)
            await self._look_for_others(machine)
        except RequestFailed:
            return  # the link went: asked again

    async def _may_go_on(self, process: Process) -> bool:
        """Whether a process may still do something: an eval-set rests between two attempts too.

        Of one that is kept alive and is through, Inspect tells no scheduling of tasks any more.
        """
        if process.is_gone:
            return False
        try:
            reply = await self._desk.read(process.key, PROCESS_CONFIG, deadline=_READ_TIMEOUT_S)
            if reply.error is not None:
                return True
            return inner(parse_object(reply.body), "max_tasks").get("limit") is not None
        except (RequestFailed, AnswerMalformed):
            return True

    def _is_due(self, run: Run) -> bool:
        return asyncio.get_running_loop().time() >= self._next.get(run.id, 0.0)

    def _later(self, run: Run, seconds: float) -> None:
        self._next[run.id] = asyncio.get_running_loop().time() + seconds

    async def _look(self, machine: MachineName, runs: Sequence[Run]) -> None:
        rows = await launcher_client.poll_runs(self._desk, machine, runs)
        now = self._desk.now()
        for run in runs:
            row = rows.get(run.id)
            if row is None or run.id in self._registry.held:
                continue
            is_abandoned = run.is_ours and run.id in self._abandoned
            if is_abandoned and not has_started(run, row) and not await self._bar(run):
                continue
            known = after_poll(run, row, now, is_abandoned=is_abandoned)
            known = await self._told(known)
            if known.state is RunState.ERROR:
                await self._sweep(known)
            # A short eval may come and go before its process is seen.
            is_young = now - (known.started_at or now) < _YOUNG_S
            is_soon = is_young or known.state is RunState.STARTING
            self._later(run, _SOON_S if is_soon else _OFTEN_S)
            if known.state is RunState.FINISHING:
                await self._read_logs(known, is_alive=row.get("alive") is True)

    async def _bar(self, run: Run) -> bool:
        """Keep an abandoned run from starting after all; False: it did, or that is not known."""
        try:
            return await launcher_client.bar_start(self._desk, run.machine, run.directory)
        except JobFailed:
            return True
        except RequestFailed:
            return False

    async def _read_logs(self, run: Run, *, is_alive: bool) -> None:
        self._tries[run.id] += 1
        self._later(run, _SOON_S if self._tries[run.id] < 5 else _SELDOM_S)  # noqa: PLR2004
        now, is_last = self._desk.now(), self._tries[run.id] >= _MAX_LOG_READS
        try:
            rows = await launcher_client.read_logs(self._desk, run)
        except JobFailed as error:  # its folder is gone, or says nothing
            is_over = is_last and not is_alive
            state = RunState.LOST if is_over else run.state
            await self._registry.change(replace(run, state=state, said=error.message))
            return
        except RequestFailed:
            return  # asked again
        await self._told(after_logs(run, rows, now, is_alive=is_alive, is_last=is_last))

    async def _told(self, run: Run) -> Run:
        """Tell of a run; of one that left no log, with what stands on its screen."""
        if run.has_failed and run.screen and not run.logs:
            with contextlib.suppress(RequestFailed):
                _, out, _ = await launcher_client.run_command(
                    self._desk, run.machine, run.screen, changes=False
                )
                run = after_screen(run, out, self._desk.now())
        return await self._registry.change(run)

    async def _sweep(self, run: Run) -> None:
        """Remove what a run's script has not read of its secrets: it never will."""
        with contextlib.suppress(RequestFailed, SpecWrong):
            path = engine_named(run.engine).secrets_from(run.id)
            if run.is_ours and run.spec.get("secrets") and path != "-":
                await launcher_client.delete_secrets(self._desk, run.machine, path)

    async def _look_for_others(self, machine: MachineName) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._others.setdefault(
            machine, now + (_FIRST_DISCOVERY_DELAY_S if self._calmly else 0.0)
        ):
            return
        self._others[machine] = now + _DISCOVERY_INTERVAL_S
        rows = await launcher_client.discover_runs(self._desk, machine, self._registry.runs.keys())
        for row in rows:
            seen = run_from_manifest(machine, row, self._desk.now())
            if seen is not None and seen.id not in self._registry.runs:
                self._registry.see(after_poll(seen, row, self._desk.now(), is_abandoned=False))
