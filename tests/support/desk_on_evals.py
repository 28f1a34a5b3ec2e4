"""A desk over real evals, through real probes."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from core.config.model import CADENCES, Cadence, MachineConfig, WatchConfig
from core.desk.desk import Desk
from core.desk.past import NOTHING, Past
from core.events import Event, MachineNamed
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey
from core.model.process import Process
from core.model.task import Task
from ssh.factory import connection_for
from tests.support.clocks import RealClock
from tests.support.evals import Eval
from tests.support.waiting import EVAL_S, WAIT_S, until

Found = TypeVar("Found")
Read = Callable[[str], Awaitable[Any]]
"""Reads a path of one eval, as JSON."""
Reader = Callable[[Eval], Awaitable[Read]]
LOCAL = MachineName("local")
PROBE_PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
OFTEN = WatchConfig(
    cadences=MappingProxyType(dict.fromkeys(CADENCES, Cadence(tasks=0.3, samples=0.3))),
    facts_every=60.0,
    discover_every=0.3,
)
"""Looks as often as a test wants to see."""


class Watched:
    """A running desk, and all the events it took."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.events: list[Event] = []
        desk.listen(self.events.append)

    @property
    def fleet(self) -> Fleet:
        """What it knows."""
        return self.desk.fleet

    async def until(
        self, wanted: Callable[[], Found | None], what: str, seconds: float = WAIT_S
    ) -> Found:
        """Return the first true answer; it fails when none came in time."""
        return await until(wanted, what, seconds, seen=self._seen)

    async def goes_on(self, events: int = 6) -> None:
        """Wait until so many more events came: what earlier ones cause has happened by then."""
        before = len(self.events)
        await self.until(lambda: len(self.events) >= before + events, "the desk takes events")

    def _seen(self) -> str:
        links = [(name, m.link) for name, m in self.fleet.machines.items()]
        processes = [(p.key, p.state, p.trouble) for p in self.fleet.processes.values()]
        tasks = [(t.row.task, t.state, t.row.samples) for t in self.fleet.tasks.values()]
        return f"\n{links}\n{processes}\n{tasks}"

    def process(self, one: Eval, machine: MachineName = LOCAL) -> Process | None:
        """The process of an eval; None while it is not known."""
        found = (
            process
            for key, process in self.fleet.processes.items()
            if (key.machine, key.pid) == (machine, one.pid)
        )
        return next(found, None)

    def tasks(self, one: Eval, machine: MachineName = LOCAL) -> tuple[Task, ...]:
        """The tasks of an eval, in the order first seen."""
        process = self.process(one, machine)
        return tuple(self.fleet.tasks[key] for key in process.tasks) if process else ()

    def task(self, one: Eval, name: str, machine: MachineName = LOCAL) -> Task | None:
        """A task of an eval by its name."""
        return next((task for task in self.tasks(one, machine) if task.row.task == name), None)

    async def key(self, one: Eval, machine: MachineName = LOCAL) -> ProcessKey:
        """The key of an eval's process, once its tasks were listed."""

        def listed() -> ProcessKey | None:
            process = self.process(one, machine)
            return process.key if process is not None and process.tasks else None

        return await self.until(listed, f"tasks of pid {one.pid}", EVAL_S)


def this_computer(data_dir: Path) -> MachineConfig:
    """This computer, watching one data folder."""
    return MachineConfig(name=LOCAL, link="command", python=PROBE_PYTHON, data_dir=str(data_dir))


@asynccontextmanager
async def watching(
    machines: Sequence[MachineConfig],
    known_hosts: Path,
    watch: WatchConfig = OFTEN,
    *,
    read_only: bool = True,
    past: Past = NOTHING,
) -> AsyncGenerator[Watched]:
    """Run a desk over `machines` for the block; its probes change nothing unless told."""
    clock = RealClock()
    desk = Desk(
        connections=[
            connection_for(
                machine, known_hosts=known_hosts, read_only=read_only, ask=None, watch=watch
            )
            for machine in machines
        ],
        named=[
            MachineNamed(
                at=clock.now(),
                machine=machine.name,
                address=machine.host or "this computer",
                kind=machine.link,
                read_only=machine.read_only,
                production=machine.production,
            )
            for machine in machines
        ],
        watch=watch,
        clock=clock,
        past=past,
    )
    watched = Watched(desk)
    running = asyncio.create_task(desk.run())
    try:
        yield watched
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@asynccontextmanager
async def watching_eval(one: Eval, past: Past = NOTHING) -> AsyncGenerator[Watched]:
    """Run a desk over one eval of this computer; `past` is what an earlier desk knew."""
    machines = [this_computer(one.data_dir)]
    async with watching(machines, one.folder / "known_hosts", past=past) as watched:
        yield watched


async def ended(
    watched: Watched, one: Eval, count: int, *, gate: Path | None = None
) -> tuple[Task, ...]:
    """Return the tasks of an eval once its process is gone and its logs were read.

    Args:
        watched: The desk over it.
        one: The eval.
        count: How many tasks it has.
        gate: A file that the samples wait for. It is made once every task is listed: an eval that
            ends before a poll saw a task leaves nothing to wait for. None: they do not wait.
    """
    if gate is not None:
        await watched.until(
            lambda: len(watched.tasks(one)) == count, "every task is listed", EVAL_S
        )
        await asyncio.to_thread(gate.touch)

    def over() -> tuple[Task, ...] | None:
        process, tasks = watched.process(one), watched.tasks(one)
        is_gone = process is not None and process.is_gone
        return tasks if is_gone and len(tasks) == count and all(t.is_over for t in tasks) else None

    return await watched.until(over, "its logs were read", EVAL_S)
