"""Polls the open runs: from the fleet where their process is watched, else on the machine.

It also discovers runs that other people launched on the same account, and takes over runs whose
instance of evalroom ended during the launch: the run's id tells whether it was started.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.ctl.decode import inner, parse_object
from core.ctl.routes import PROCESS_CONFIG
from core.errors import (
    AnswerMalformed,
    JobFailed,
    RequestFailed,
    SpecWrong,
    StorageError,
)
from core.ids import MachineName
from core.launch.engines.registry import engine_named
from core.launch.ports import LaunchDesk, OpenSecrets
from core.launch.run import launcher_client
from core.launch.run.log_secrets import secrets_of_logs
from core.launch.run.run_logs import after_logs
from core.launch.run.run_record import run_from_manifest
from core.launch.run.run_registry import RunRegistry
from core.launch.run.run_state import (
    after_fleet,
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
_DISCOVERY_INTERVAL_S = 60.0
"""Interval at which a machine is asked for other people's runs, seconds."""
_FAST_LOG_READS = 5
"""Number of first attempts to read a log that follow each other every `_SOON_S`."""
_UNCHANGED_LOGS_S = 600.0
"""How often logs that can't be read and do not change are tried again, seconds."""
_MAX_LOGS_AT_ONCE = 40
"""Most runs whose logs are read when a machine's runs are discovered; the others follow."""
_NEED_LOGS = frozenset({RunState.FINISHING, RunState.UNREADABLE, RunState.ELSEWHERE})
_SELDOM = frozenset({RunState.UNREADABLE, RunState.ELSEWHERE})
_RELOAD_INTERVAL_S = 20.0
"""How often the changes of this operator's other instances are loaded, seconds."""


@dataclass(frozen=True, slots=True)
class _LogReads:
    """The attempts to read a run's logs: their number since a change, and the time of the last."""

    count: int = 0
    at: float = 0.0
    changed: object = None


@dataclass(frozen=True, slots=True)
class _LogsWanted:
    """A run whose logs are to be read.

    Attributes:
        run: The run as it is after a poll.
        is_alive: Whether its process may still work.
        changed: The state of its log files; another one is a reason to read them again.
    """

    run: Run
    is_alive: bool
    changed: object = None


class RunPoller:
    """Polls the open runs of one room.

    Args:
        desk: Does jobs on machines, and knows the fleet.
        registry: The runs.
        open_secrets: Returns the secrets that reading a run's logs may need.
        delay_discovery: Whether this is a room, which goes on polling and discovers other
            people's runs once it has its first rows; else everything is polled at once.
    """

    def __init__(
        self,
        desk: LaunchDesk,
        registry: RunRegistry,
        *,
        open_secrets: OpenSecrets,
        delay_discovery: bool,
    ) -> None:
        self._desk = desk
        self._registry = registry
        self._open_secrets = open_secrets
        self._delay_discovery = delay_discovery
        self._poll_at: dict[str, float] = {}
        self._discover_at: dict[MachineName, float] = {}
        self._busy: set[MachineName] = set()
        self._log_reads: dict[str, _LogReads] = {}
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
        wanted: list[_LogsWanted] = []
        for run in runs:
            process = self._desk.fleet.process_of_run(run)
            if process is not None and not process.is_gone and not run.is_over:
                known = await self._registry.update(
                    after_fleet(
                        run, process, self._desk.now(), self._desk.fleet.clock_offset(run.machine)
                    )
                )
                if known.state is RunState.FINISHING and self._is_due(run):
                    wanted.append(_LogsWanted(known, await self._may_continue(process)))
            elif self._is_due(run):
                unwatched.append(run)
        try:
            if unwatched:
                wanted += await self._poll_unwatched(machine, unwatched)
            await self._read_logs(machine, wanted)
            await self._discover(machine)
        except RequestFailed:
            return  # the link was lost; the next round tries again

    async def _may_continue(self, process: Process) -> bool:
        """Whether a process may still run tasks: an eval-set also waits between two attempts.

        Inspect no longer reports a task limit for a process that is kept alive after its end.
        """
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

    async def _poll_unwatched(
        self, machine: MachineName, runs: Sequence[Run]
    ) -> Sequence[_LogsWanted]:
        """Poll runs on their machine; return those whose logs are to be read."""
        wanted: list[_LogsWanted] = []
        rows = await launcher_client.poll_runs(self._desk, machine, runs)
        now = self._desk.now()
        for run in runs:
            row = rows.get(run.id)
            if row is None or run.id in self._registry.starting:
                continue
            if run.is_over:  # a process of it is left, or somebody may have resumed it
                self._poll_after(run, _SELDOM_S)
                known = after_poll(run, row, now, is_abandoned=False)
                await self._registry.update(known)
                if known.state is RunState.LOST:
                    is_alive = row.get("alive") is True
                    wanted.append(_LogsWanted(known, is_alive, row.get("logs")))
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
            often = _SOON_S if is_soon else _OFTEN_S
            self._poll_after(run, _SELDOM_S if known.state in _SELDOM else often)
            if known.state in _NEED_LOGS:
                is_alive = row.get("alive") is True
                wanted.append(_LogsWanted(known, is_alive, row.get("logs")))
        return wanted

    async def _bar_start(self, run: Run) -> bool:
        """Take an abandoned run's start lock; False: it has started, or no answer came."""
        try:
            return await launcher_client.bar_start(self._desk, run.machine, run.directory)
        except JobFailed:
            return True
        except RequestFailed:
            return False

    async def _read_logs(self, machine: MachineName, wanted: Sequence[_LogsWanted]) -> None:
        """Read the logs of some runs of a machine, and update the runs with what they prove."""
        due = [each for each in wanted if self._is_read_due(each)]
        for secrets, group in await self._by_secrets([each.run for each in due]):
            ids = {run.id for run in group}
            try:
                reports = await launcher_client.read_logs(self._desk, machine, group, secrets)
            except JobFailed as error:  # the machine itself says why
                reports = {run.id: {"error": error.message} for run in group}
            for each in due:
                if each.run.id in ids:
                    await self._take_report(each, reports.get(each.run.id, {}))

    def _is_read_due(self, wanted: _LogsWanted) -> bool:
        """Count an attempt, unless nothing changed since a log could not be read."""
        run, now = wanted.run, asyncio.get_running_loop().time()
        last = self._log_reads.get(run.id, _LogReads())
        if run.state is RunState.LOST and wanted.changed == last.changed:
            return False
        if run.state in _SELDOM:
            if wanted.changed != last.changed:
                last = _LogReads()
            elif last.count >= _FAST_LOG_READS and now - last.at < _UNCHANGED_LOGS_S:
                return False
        reads = _LogReads(count=last.count + 1, at=now, changed=wanted.changed)
        self._log_reads[run.id] = reads
        self._poll_after(run, _SOON_S if reads.count < _FAST_LOG_READS else _SELDOM_S)
        return True

    async def _by_secrets(
        self, runs: Sequence[Run]
    ) -> Sequence[tuple[Mapping[str, str], Sequence[Run]]]:
        """Group runs by the secrets that reading their logs needs; most need none."""
        plain: list[Run] = []
        groups: list[tuple[Mapping[str, str], Sequence[Run]]] = []
        for run in runs:
            values = await secrets_of_logs(run, self._open_secrets)
            if values:
                groups.append((values, [run]))
            else:
                plain.append(run)
        if plain:
            groups.insert(0, ({}, plain))
        return groups

    async def _take_report(self, wanted: _LogsWanted, report: Mapping[str, Any]) -> None:
        run = wanted.run
        known_now = self._registry.runs.get(run.id)
        if run.state is RunState.ELSEWHERE and known_now and known_now.machine != run.machine:
            return  # its own host was asked meanwhile
        # A command looks once, so it can't wait for a log that may be readable soon.
        goes_on = self._delay_discovery
        is_patient = goes_on and self._log_reads[run.id].count < _FAST_LOG_READS
        known = after_logs(
            run,
            report,
            self._desk.now(),
            is_alive=wanted.is_alive,
            is_patient=is_patient,
            offset=self._desk.fleet.clock_offset(run.machine),
        )
        await self._update(known)

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
        known = self._registry.runs
        elsewhere = {run.id for run in known.values() if _is_only_seen_from(run, machine)}
        rows = await launcher_client.discover_runs(self._desk, machine, known.keys() - elsewhere)
        wanted: list[_LogsWanted] = []
        for row in rows:
            run = run_from_manifest(machine, row, self._desk.now())
            if run is None or (run.id in known and row.get("is_here") is not True):
                continue
            run = after_poll(run, row, self._desk.now(), is_abandoned=False)
            self._log_reads.pop(run.id, None)
            if run.state not in _NEED_LOGS or len(wanted) >= _MAX_LOGS_AT_ONCE:
                self._registry.publish(run)
            else:
                wanted.append(_LogsWanted(run, is_alive=False))
        try:
            await self._read_logs(machine, wanted)
        finally:  # without an answer, the state of a run is read from its folder
            for each in wanted:
                if each.run.id not in self._registry.runs:
                    self._registry.publish(each.run)


def _is_only_seen_from(run: Run, machine: MachineName) -> bool:
    """Whether another machine found a run without its process; this may be the run's machine."""
    return not run.is_ours and run.state is RunState.ELSEWHERE and run.machine != machine
