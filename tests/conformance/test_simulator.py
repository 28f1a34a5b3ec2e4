"""The simulator of many machines speaks as the real probe does: benchmarks rest on it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.config.model import MachineConfig, WatchConfig
from core.events import Event, MachineNamed, SamplesSeen, TasksSeen
from core.fleet import Fleet
from core.fold.fold import fold
from core.frames import Frame
from core.ids import MachineName
from core.launch.run.launcher_client import discover_runs
from core.model.job import Job
from core.ports import MachineConnection, Received, Reply
from core.watch.observer import Observer
from ssh.factory import connection_for
from tests.support.evals import short_folder
from tests.support.sim.machines import simulator
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S

HERE = MachineName("here")
QUICK = WatchConfig(facts_every=1.0)


class Watched:
    """A connection that is watched by an observer, and all that came of it."""

    def __init__(self, connection: MachineConnection) -> None:
        self.connection = connection
        self.fleet = fold(Fleet(), MachineNamed(at=0.0, machine=HERE, address="", kind="command"))
        self.frames: list[Frame] = []
        self.events: list[Event] = []
        self._observer = Observer(HERE, QUICK)
        self._news = asyncio.Event()

    def receive(self, received: Received) -> None:
        """Fold the connection's frames; then poll as the fleet needs."""
        at = float(len(self.events))
        if isinstance(received, Frame):
            self.frames.append(received)
        for event in self._observer.events_of(received, at):
            self.events.append(event)
            self.fleet = fold(self.fleet, event)
        for frame in self._observer.frames(self.fleet, None, at):
            self.connection.send(frame)
        self._news.set()

    async def until_seen(self) -> None:
        """Wait until task rows, a whole sample list, a delta and a beat with polls came."""
        async with asyncio.timeout(WAIT_S):
            while not self._is_seen():
                self._news.clear()
                await self._news.wait()

    def _is_seen(self) -> bool:
        lists = [event.whole for event in self.events if isinstance(event, SamplesSeen)]
        return (
            any(isinstance(event, TasksSeen) for event in self.events)
            and {True, False} <= set(lists)
            and any(frame.kind == "beat" and frame.head["polls"] for frame in self.frames)
            and any(frame.kind == "facts" for frame in self.frames)
        )

    def heads(self) -> dict[str, set[str]]:
        """The fields of each kind of frame that came."""
        fields: dict[str, set[str]] = {}
        for frame in self.frames:
            fields.setdefault(frame.kind, set()).update(frame.head)
        return fields

    def body(self, kind: str) -> Any:
        """The newest body of a kind of frame."""
        return json.loads(next(f.body for f in reversed(self.frames) if f.kind == kind))


@asynccontextmanager
async def watched(config: MachineConfig, folder: Path) -> AsyncGenerator[Watched]:
    """Watch one machine."""
    connection = connection_for(
        config, known_hosts=folder / "known_hosts", read_only=True, ask=None, watch=QUICK
    )
    one = Watched(connection)
    running = asyncio.create_task(connection.run(one.receive))
    try:
        await one.until_seen()
        yield one
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as path:
        yield path


@pytest.fixture
def served(folder: Path) -> Iterator[Path]:
    """A data folder with one eval's socket, answered by the same numbers as the simulator's."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.support.sim.eval_server", str(folder / "d")),
            *("--samples", "20", "--changing", "0.2"),
        ],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"serving\n"
    yield folder / "d"
    server.kill()
    server.wait()
    server.stdout.close()


async def test_frames_replies_and_events_are_those_of_the_real_probe(
    folder: Path, served: Path
) -> None:
    real_config = MachineConfig(name=HERE, link="command", data_dir=str(served))
    with simulator(folder, processes=1, samples=20, changing=0.2) as sim:
        sim_config = MachineConfig(name=HERE, link="command", python=str(sim.python))
        async with watched(real_config, folder) as real, watched(sim_config, folder) as simulated:
            kinds = {"hello", "processes", "answer", "beat", "facts", "trouble"}
            real_heads, sim_heads = real.heads(), simulated.heads()
            for kind in kinds:
                assert sim_heads[kind] <= real_heads[kind], kind
                required = real_heads[kind] - {"executable"}  # sent, but nobody reads it
                assert required <= sim_heads[kind], kind
            ours = next(row for row in real.body("processes") if row["data_dir"] == str(served))
            assert set(simulated.body("processes")[0]) == set(ours)
            assert set(simulated.body("facts")) <= set(real.body("facts"))
            assert _outcomes(await _ask(simulated)) == _outcomes(await _ask(real))
            assert _kinds(simulated) <= _kinds(real)


async def test_a_job_finds_a_machine_without_runs(folder: Path) -> None:
    with simulator(folder, processes=1) as sim:
        config = MachineConfig(name=HERE, link="command", python=str(sim.python))
        async with watched(config, folder) as one:
            assert await discover_runs(_Worker(one.connection), HERE, ()) == ()


class _Worker:
    """Does jobs over one connection."""

    def __init__(self, connection: MachineConnection) -> None:
        self._connection = connection

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        assert machine == self._connection.machine
        return await self._connection.work(job, deadline=deadline)


async def _ask(one: Watched) -> tuple[Reply, Reply]:
    key = next(iter(one.fleet.processes))
    for process in one.fleet.processes.values():
        if process.tasks:
            key = process.key
    place = {"pid": key.pid, "start": key.start}
    good = await one.connection.request(Frame("get", {**place, "path": "/tasks"}), deadline=WAIT_S)
    bad = await one.connection.request(Frame("get", {**place, "path": "/nothing"}), deadline=WAIT_S)
    return good, bad


def _outcomes(replies: tuple[Reply, Reply]) -> list[tuple[int | None, str | None, str]]:
    return [(reply.status, reply.error, type(json.loads(reply.body)).__name__) for reply in replies]


def _kinds(one: Watched) -> set[str]:
    return {type(event).__name__ for event in one.events}
