"""Ten minutes of bad weather over three machines leave nothing behind."""

import asyncio
import contextlib
import gc
import json
import os
import random
import socket
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from tests.support.desk_on_evals import Watched, watching
from tests.support.evals import short_folder
from tests.support.fake_eval import FakeEval, fake_eval, http
from tests.support.network_weather import Weather, weather_before
from tests.support.reached import PYTHON, machine_of
from tests.support.sshd import Sshd, running
from tests.support.usage import children, resident_mib

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_000)]

SPELLS = 50
SPELL_S = 12.0
"""How long each kind of weather lasts, seconds: ten minutes in all."""
SETTLE_S = 30.0
SAMPLES = 200


class Busy:
    """A control server whose rows differ at each read."""

    def __init__(self) -> None:
        self._reads = 0

    def __call__(self, connection: socket.socket, line: str) -> bool:
        self._reads += 1
        path = line.split()[1]
        value: object = {}
        if path == "/tasks":
            value = [self._task()]
        elif "samples" in path:
            value = {
                "as_of": time.time(), "counts": {"running": SAMPLES}, "truncated": False,
                "samples": [self._sample(number) for number in range(SAMPLES)],
            }  # fmt: skip
        connection.sendall(http(json.dumps(value).encode()))
        return True

    def _task(self) -> dict[str, object]:
        counts = {"total": 2 * SAMPLES, "completed": 0, "in_flight": SAMPLES, "errored": 0}
        return {
            "task_id": "T1", "task": "turns", "eval_id": "E1", "model": "m/x", "attempts": 1,
            "status": "running", "log_location": "/nowhere/x.eval", "samples": counts,
            "started_at": 1.0, "total_tokens": self._reads,
        }  # fmt: skip

    def _sample(self, number: int) -> dict[str, object]:
        return {
            "sample_id": f"sample-{number}", "epoch": 1, "status": "running",
            "total_tokens": self._reads + number, "turn_count": number,
        }  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What this process holds: memory (MiB), descriptors, threads, tasks and children."""

    memory: float
    descriptors: int
    threads: int
    tasks: int
    children: int

    @classmethod
    def now(cls) -> "Held":
        """Measure it."""
        gc.collect()
        return cls(
            memory=resident_mib(os.getpid()),
            descriptors=len(os.listdir("/proc/self/fd")),  # noqa: PTH208
            threads=threading.active_count(),
            tasks=len(asyncio.all_tasks()),
            children=len(children(os.getpid())),
        )


@dataclass
class Scene:
    """Three machines, each behind its own weather, and a desk that watches them."""

    watched: Watched
    weathers: list[Weather]
    fake: FakeEval

    async def is_calm(self) -> Held:
        """Wait until all machines are up and looked at, then measure."""
        for weather in self.weathers:
            weather.rate, weather.delay = None, 0.0
            weather.clear()
        await self.watched.until(
            lambda: all(each.link.is_up for each in self.watched.fleet.machines.values()),
            "all are up",
            90,
        )
        since = time.time()
        await self.watched.until(
            lambda: (
                len(self.watched.fleet.tasks) == len(self.weathers)
                and all(task.heard_at > since for task in self.watched.fleet.tasks.values())
            ),
            "all are looked at",
        )
        await asyncio.sleep(SETTLE_S)  # dead connections and their programs end
        self.forget()
        return Held.now()

    def forget(self) -> None:
        """Drop the memory of the test itself."""
        self.watched.events.clear()
        self.fake.asked.clear()

    def change(self, kind: str, weather: Weather) -> None:
        """Bring one kind of weather."""
        weather.rate, weather.delay = None, 0.0
        weather.clear()
        if kind == "thin":
            weather.rate, weather.delay = 8_000.0, 0.2
        elif kind == "reset":
            for meeting in tuple(weather.meetings):
                meeting.cancel()
        elif kind != "fair":
            weather.darken(out=kind != "dark back", back=kind != "dark out")


KINDS = ("fair", "dark", "dark", "dark out", "dark back", "thin", "reset")


@asynccontextmanager
async def scene() -> AsyncGenerator[Scene]:
    """Two machines by asyncssh and one by ssh with a ControlMaster."""
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(short_folder())
        stack.enter_context(_home(folder))
        sshd = stack.enter_context(running(is_inside=True))
        fake = stack.enter_context(fake_eval(folder, Busy(), seconds=2_000))
        weathers = [await stack.enter_async_context(weather_before(sshd.port)) for _ in range(3)]
        known = folder / "known_hosts"
        line = sshd.known_hosts_line()
        known.write_text("".join(line.replace(str(sshd.port), str(w.port)) for w in weathers))
        machines = [
            replace(
                machine_of(sshd, "root"), name=MachineName(f"m{number}"), port=weather.port,
                data_dir=str(folder),
            )
            for number, weather in enumerate(weathers[:2])
        ]  # fmt: skip
        machines.append(_by_command(sshd, weathers[2], folder))
        yield Scene(await stack.enter_async_context(watching(machines, known)), weathers, fake)


def _by_command(sshd: Sshd, weather: Weather, folder: Path) -> MachineConfig:
    command = (
        "ssh", "-F", "none", "-p", str(weather.port), "-i", str(sshd.key),
        "-o", f"UserKnownHostsFile={folder}/known_hosts", "-o", f"ControlPath={folder}/m",
        "-o", "ControlMaster=auto", "-o", "ControlPersist=15", "root@127.0.0.1",
    )  # fmt: skip
    return MachineConfig(
        name=MachineName("m2"), link="command", command=command, python=PYTHON,
        data_dir=str(folder),
    )  # fmt: skip


@contextmanager
def _home(folder: Path) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.delenv("SSH_AUTH_SOCK", raising=False)
        yield


async def test_ten_minutes_of_weather_leave_nothing_behind() -> None:
    """Memory may grow by a fifth; nothing else may grow."""
    rng = random.Random(7)
    async with scene() as found:
        before = await found.is_calm()
        for _ in range(SPELLS):
            for weather in found.weathers:
                found.change(rng.choice(KINDS), weather)
            await asyncio.sleep(SPELL_S)
            found.forget()
        after = await found.is_calm()
    assert after.memory < 1.2 * before.memory, (before, after)
    assert after.descriptors <= before.descriptors + 2, (before, after)
    assert after.threads <= before.threads + 2, (before, after)
    assert after.tasks <= before.tasks + 3, (before, after)
    assert after.children <= before.children + 1, (before, after)
