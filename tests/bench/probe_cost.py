"""The cost of the real probe to a host, and how soon a change reaches the desk."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from core.ports import Received
from ssh.factory import connection_for
from tests.bench.rows import Result, percentile
from tests.support.tree import ROOT
from tests.support.usage import Meter, resident_mib

PROCESSES = 5
SAMPLES = 100
PERIOD = 1.0


def measure(folder: Path, quick: bool) -> list[Result]:
    """Watch five evals of a hundred running samples once a second."""
    words = [
        sys.executable,
        "-m",
        "tests.support.sim.eval_server",
        str(folder),
        "--samples",
        str(SAMPLES),
    ]
    servers = [subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) for _ in range(PROCESSES)]
    try:
        for server in servers:
            assert server.stdout is not None
            assert server.stdout.readline() == b"serving\n"
        return asyncio.run(_watched(folder, 10.0 if quick else 30.0))
    finally:
        for server in servers:
            server.kill()
            server.wait()
            if server.stdout is not None:
                server.stdout.close()


async def _watched(folder: Path, seconds: float) -> list[Result]:
    machine = MachineConfig(name=MachineName("here"), link="command", data_dir=str(folder))
    connection = connection_for(
        machine, known_hosts=folder / "known_hosts", read_only=True, ask=None
    )
    late: list[float] = []
    took: list[float] = []
    pid = 0

    def receive(received: Received) -> None:
        nonlocal pid
        if not isinstance(received, Frame):
            return
        if received.kind == "hello":
            pid = received.head["pid"]
        elif received.kind == "processes":
            for process in json.loads(received.body):
                if process["channel"] == "new":
                    _watch(connection.send, process)
        elif received.kind == "answer":
            took.append(received.head["took"])
            late.extend(_lateness(received))

    running = asyncio.create_task(connection.run(receive))
    try:
        await asyncio.sleep(5)
        late.clear()
        took.clear()
        meter = Meter(pid)
        began = time.monotonic()
        await asyncio.sleep(seconds)
        share = meter.share()
        loops = sum(took) / (time.monotonic() - began) / PROCESSES
        memory = resident_mib(pid)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    goal = PERIOD + 0.020
    return [
        Result(
            what="probe, 5 evals x 100 running samples, once a second: of a core",
            value=share * 100,
            unit="%",
            goal=1.0,
        ),
        Result(what="probe, the same: memory", value=memory, unit="MB", goal=40.0),
        Result(
            what="change in an eval to its frame at the desk, p95 (period 1 s)",
            value=percentile(late, 0.95),
            unit="s",
            goal=goal,
        ),
        Result(what="one eval's time spent on our polls", value=loops * 100, unit="%", goal=1.0),
    ]


def _watch(send: object, process: dict[str, object]) -> None:
    assert callable(send)
    place = {"pid": process["pid"], "start": process["start"], "every": PERIOD, "as_of": None}
    send(Frame("watch", {**place, "name": "tasks", "path": "/tasks"}))
    number = int(str(process["pid"])) % 1000
    path = f"/evals/{f'Efarx{number:03d}'.ljust(22, '0')}/samples?active_since={{as_of}}&limit=100"
    send(Frame("watch", {**place, "name": "samples", "path": path}))


def _lateness(frame: Frame) -> list[float]:
    """Seconds since each change that this answer is the first to show."""
    if frame.head["name"] != "samples":
        return []
    now = time.time()
    return [
        now - row["last_activity_at"]
        for row in json.loads(frame.body)["samples"]
        if now - row["last_activity_at"] < 5 * PERIOD
    ]
