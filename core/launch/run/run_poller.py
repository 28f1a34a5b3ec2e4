"""Polls the open runs: from the fleet where their process is watched, else on the machine.

It also discovers runs that other people launched on the same account, and takes over runs whose
instance of evalroom ended during the launch: the run's id tells whether it was started.
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
)
from core.model.process import Process
from core.model.run import Run, RunState

MAX_LOADED_RUNS = 300
"""Maximum number of runs to load from the database."""
_CONFIG_TIMEOUT_S = 15.0
_TURN_S = 0.5
"""Pause between two rounds of `RunPoller.run`, seconds."""
_SOON_S, _OFTEN_S, _SELDOM_S = 2.0, 10.0, 60.0
"""Poll interval of a run that starts, of one that runs unwatched, of unreadable logs, seconds."""
_YOUNG_S = 30.0
"""For this many seconds after its start, a run is polled every `_SOON_S`."""
_FIRST_DISCOVERY_DELAY_S = 5.0
"""How long after a machine's first answer the first discovery waits, seconds."""
_DISCOVERY_INTERVAL_S = 300.0
"""Interval at which a machine is asked for other people's runs, seconds."""
_FAST_LOG_READS = 5
"""Number of first attempts to read a log that follow each other every `_SOON_S`."""
_MAX_LOG_READS = 8
"""After this many failed attempts to read its logs, a few minutes in all, a run is lost."""
_RELOAD_INTERVAL_S = 20.0
"""How often the changes of this operator's other instances are loaded, seconds."""


class RunPoller:
    """Polls the open runs of one room.

    Args:
        desk: Does jobs on machines, and knows the fleet.
        registry: The runs.
        delay_discovery: Whether the discovery of other people's runs waits until the room has its
            first rows.
    """

    def __init__(self, desk: LaunchDesk, registry: RunRegistry, *, delay_discovery: bool) -> None:
        self._desk = desk
        self._registry = registry
        self._delay_discovery = delay_discovery
        self._poll_at: dict[str, float] = {}
        self._discover_at: dict[MachineName, float] = {}
        self._busy: set[MachineName] = set()
        self._log_reads: dict[str, int] = defaultdict(int)
        self._loaded_at = float("-inf")
        self._abandoned: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Poll until cancelled; a slow machine delays no other."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._load()
                for machine, runs in self._due().items():
                    if machine not in self._busy:
                        self._busy.add(machine)
                        tasks.create_task(self._poll_alone(machine, runs))
                await asyncio.sleep(_TURN_S)

    async def _poll_alone(self, machine: MachineName, runs: Sequence[Run]) -> None:
        try:
            await self._poll_machine(machine, runs)
        finally:
            self._busy.discard(machine)

    async def poll_once(self) -> None:
        """Poll everything that is due, once."""
        await self._load()
        await asyncio.gather(*(self._poll_machine(*each) for each in self._due().items()))

    def _due(self) -> Mapping[MachineName, Sequence[Run]]:
        """Return the machines with a link that is up and something to poll, with their runs."""
        now = asyncio.get_running_loop().time()
        fleet = self._desk.fleet
        due: dict[MachineName, list[Run]] = {}
        for run in self._registry.open_runs():
            if fleet.is_up(run.machine):
                due.setdefault(run.machine, []).append(run)
        for name in fleet.machines:
            if name not in due and now >= self._discover_at.get(name, 0.0) and fleet.is_up(name):
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
        await self._registry.retry_saves()

    async def _poll_machine(self, machine: MachineName, runs: Sequence[Run]) -> None:
        unwatched: list[Run] = []
        for run in runs:
            process = self._desk.fleet.process_of_run(run)
            if process is not None:
                known = await self._registry.update(after_fleet(run, process, self._desk.now()))
                if known.state is RunState.FINISHING and self._is_due(run):
                    await self._read_logs(known, is_alive=await self._may_continue(process))
            elif self._is_due(run):
                unwatched.append(run)
        try:
            if unwatched:
                await self._poll_unwatched(machine, unwatched)
            await self._discover(machine)
        except RequestFailed:
            return  # the link was lost; the next round tries again

    async def _may_continue(self, process: Process) -> bool:
        """Whether a process may still run tasks: an eval-set also rests between two attempts.

        Inspect reports no task limit any more for a process that is kept alive after its end.
        """
        if process.is_gone:
            return False
        try:
            reply = await self._desk.read(process.key, PROCESS_CONFIG, deadline=_CONFIG_TIMEOUT_S)
            if reply.error is not None:
                return True
            return inner(parse_object(reply.body), "max_tasks").get("limit") is not None
        except (RequestFailed, AnswerMalformed):
            return True

    def _is_due(self, run: Run) -> bool:
        return asyncio.get_running_loop().time() >= self._poll_at.get(run.id, 0.0)

    def _poll_after(self, run: Run, seconds: float) -> None:
        self._poll_at[run.id] = asyncio.get_running_loop().time() + seconds

    async def _poll_unwatched(self, machine: MachineName, runs: Sequence[Run]) -> None:
        rows = await launcher_client.poll_runs(self._desk, machine, runs)
        now = self._desk.now()
        for run in runs:
            row = rows.get(run.id)
            if row is None or run.id in self._registry.starting:
                continue
            is_abandoned = run.is_ours and run.id in self._abandoned
            if is_abandoned and not has_started(run, row) and not await self._bar_start(run):
                continue
            known = after_poll(run, row, now, is_abandoned=is_abandoned)
            known = await self._update(known)
            if known.state is RunState.ERROR:
                await self._delete_secrets(known)
            # A short eval can end before its process was ever seen.
            is_young = now - (known.started_at or now) < _YOUNG_S
            is_soon = is_young or known.state is RunState.STARTING
            self._poll_after(run, _SOON_S if is_soon else _OFTEN_S)
            if known.state is RunState.FINISHING:
                await self._read_logs(known, is_alive=row.get("alive") is True)

    async def _bar_start(self, run: Run) -> bool:
        """Take an abandoned run's start lock; False: it has started, or no answer came."""
        try:
            return await launcher_client.bar_start(self._desk, run.machine, run.directory)
        except JobFailed:
            return True
        except RequestFailed:
            return False

    async def _read_logs(self, run: Run, *, is_alive: bool) -> None:
        self._log_reads[run.id] += 1
        reads = self._log_reads[run.id]
        self._poll_after(run, _SOON_S if reads < _FAST_LOG_READS else _SELDOM_S)
        now, is_last = self._desk.now(), reads >= _MAX_LOG_READS
        try:
            rows = await launcher_client.read_logs(self._desk, run)
        except JobFailed as error:  # the folder is gone, or unreadable
            state = RunState.LOST if is_last and not is_alive else run.state
            await self._registry.update(replace(run, state=state, message=error.message))
            return
        except RequestFailed:
            return  # the next round tries again
        await self._update(after_logs(run, rows, now, is_alive=is_alive, is_last=is_last))

    async def _update(self, run: Run) -> Run:
        """Update the registry; a failed run without a log gets the error on its screen."""
        if run.has_failed and run.screen and not run.logs:
            with contextlib.suppress(RequestFailed):
                _, out, _ = await launcher_client.run_command(
                    self._desk, run.machine, run.screen, changes=False
                )
                run = after_screen(run, out, self._desk.now())
        return await self._registry.update(run)

    async def _delete_secrets(self, run: Run) -> None:
        """Delete the secrets that the script of a failed run did not read."""
        with contextlib.suppress(RequestFailed, SpecWrong):
            path = engine_named(run.engine).secrets_from(run.id)
            if run.is_ours and run.spec.get("secrets") and path != "-":
                await launcher_client.delete_secrets(self._desk, run.machine, path)

    async def _discover(self, machine: MachineName) -> None:
        """Publish other people's runs on a machine, if the interval has passed."""
        now = asyncio.get_running_loop().time()
        delay = _FIRST_DISCOVERY_DELAY_S if self._delay_discovery else 0.0
        if now < self._discover_at.setdefault(machine, now + delay):
            return
        self._discover_at[machine] = now + _DISCOVERY_INTERVAL_S
        rows = await launcher_client.discover_runs(self._desk, machine, self._registry.runs.keys())
        for row in rows:
            found = run_from_manifest(machine, row, self._desk.now())
            if found is not None and found.id not in self._registry.runs:
                self._registry.publish(after_poll(found, row, self._desk.now(), is_abandoned=False))
