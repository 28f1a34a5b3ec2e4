"""One program that stands for the probes of many machines: it speaks frames, and nothing else.

    python -m tests.support.sim.far_side SOCKET [--processes 5] [--samples 20] [--changing 1.0]

Each connection to SOCKET is one machine. A relay (`tests/support/sim/relay.py`) joins a real
link to it, and runs the jobs of a launch by itself. `tests/conformance/test_simulator.py` holds
both to what a real machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from core.frames import Frame, Splitter, encode
from tests.support.sim.evals import SimEval

AS_OF = re.compile(r"[&?][^&?=]*=\{as_of\}")


@dataclass
class Watch:
    """A GET with a period, and what it last answered."""

    sim: SimEval
    name: str
    path: str
    every: float
    as_of: float | None
    sent: bytes | None = None
    alive: bool = True


@dataclass
class Settings:
    """How large a simulated machine is; its processes are numbered from `first`."""

    processes: int = 5
    first: int = 0
    samples: int = 20
    changing: float = 1.0
    offset: float = 0.0


@dataclass
class FarSide:
    """One simulated machine, as its probe would speak."""

    name: str
    settings: Settings
    clocks: frozenset[str] = frozenset()
    evals: dict[int, SimEval] = field(default_factory=dict[int, SimEval])
    watches: dict[tuple[int, str], Watch] = field(default_factory=dict[tuple[int, str], Watch])
    polls: list[list[Any]] = field(default_factory=list[list[Any]])
    _due: list[tuple[float, int, Watch]] = field(default_factory=list[tuple[float, int, Watch]])
    _turn: itertools.count[int] = field(default_factory=itertools.count)
    _changes: itertools.count[int] = field(default_factory=itertools.count)
    _next_change: float = 0.0
    _next_beat: float = 0.0

    def open(self, now: float) -> list[Frame]:
        """Return what a probe says first."""
        self.evals = {
            sim.pid: sim
            for sim in (
                SimEval(self.name, number, self.settings.samples, now - 60)
                for number in range(
                    self.settings.first, self.settings.first + self.settings.processes
                )
            )
        }
        self._next_change = self._next_beat = now
        hello = {
            "probe": "sim",
            "pid": 1,
            "python": "3.12.0",
            "host": self.name,
            "platform": "Linux",
            "user": "sim",
            "boot_id": "sim",
            "namespace": "pid:[4026531836]",
            "second_part": None,
            "at": now,
        }
        listed = [sim.process() for sim in self.evals.values()]
        return [
            Frame("hello", hello),
            Frame("processes", {"at": now, "left_out": 0}, json.dumps(listed).encode()),
            Frame("facts", {"at": now, "id": None}, json.dumps(_facts(now)).encode()),
        ]

    def answers_to(self, frame: Frame, now: float) -> list[Frame]:
        """Take one frame of the desk's; return what is answered at once."""
        head = frame.head
        match frame.kind:
            case "start":
                self.clocks = frozenset(head.get("clocks", ()))
                return self.open(now)
            case "watch":
                self._watch(head, now)
            case "unwatch":
                former = self.watches.pop((head["pid"], head["name"]), None)
                if former:
                    former.alive = False
            case "get" | "logs" | "facts":
                return [self._reply(frame.kind, head, now)]
            case _:
                pass
        return []

    def tick(self, now: float) -> list[Frame]:
        """Return what has come due."""
        self._change(now)
        out: list[Frame] = []
        while self._due and self._due[0][0] <= now:
            due, _, watch = heapq.heappop(self._due)
            if not watch.alive:
                continue
            out += self._poll(watch, now)
            again = max(due + watch.every, now)
            heapq.heappush(self._due, (again, next(self._turn), watch))
        if now >= self._next_beat:
            self._next_beat = now + (1.0 if self.polls else 5.0)
            out.append(Frame("beat", {"at": now, "polls": self.polls}))
            self.polls = []
        return out

    def _watch(self, head: Any, now: float) -> None:
        sim = self.evals.get(head["pid"])
        if sim is None or sim.start != head["start"]:
            return
        key = (head["pid"], head["name"])
        former = self.watches.get(key)
        if former is not None:
            former.alive = False
        watch = Watch(sim, head["name"], head["path"], head["every"], head.get("as_of"))
        if former is not None and former.path == watch.path:
            watch.sent, watch.as_of = former.sent, former.as_of
        self.watches[key] = watch
        heapq.heappush(self._due, (now, next(self._turn), watch))

    def _poll(self, watch: Watch, now: float) -> list[Frame]:
        path = watch.path
        if "{as_of}" in path:
            known = watch.as_of
            path = AS_OF.sub("", path) if known is None else path.replace("{as_of}", f"{known}")
            if "?" not in path:
                path = path.replace("&", "?", 1)
        body = watch.sim.answer(path, now)
        place = [watch.sim.pid, watch.sim.start, watch.name, now, 0.001]
        head: dict[str, Any] = {
            "pid": watch.sim.pid,
            "start": watch.sim.start,
            "name": watch.name,
            "at": now,
            "took": 0.001,
        }
        if body is None:
            return self._missing(watch, head)
        parsed: object = json.loads(body)
        watch.as_of = _as_of(parsed)
        essence = json.dumps(_without(parsed, self.clocks)).encode()
        if essence == watch.sent:
            self.polls.append(place)
            return []
        watch.sent = essence
        return [Frame("answer", {**head, "status": 200}, body)]

    def _missing(self, watch: Watch, head: dict[str, Any]) -> list[Frame]:
        error = b'{"detail": "Not Found"}'
        if watch.sent == error:
            return []
        watch.sent = error
        place = {name: head[name] for name in ("pid", "start", "name", "at")}
        return [Frame("trouble", {**place, "error": "http 404", "status": 404}, error)]

    def _change(self, now: float) -> None:
        step = 1.0 / self.settings.changing if self.settings.changing else float("inf")
        while self._next_change <= now:
            turn = next(self._changes)
            sims = list(self.evals.values())
            sim = sims[turn % len(sims)]
            sim.change((turn // len(sims)) % sim.samples, now)
            self._next_change += step

    def _reply(self, kind: str, head: Any, now: float) -> Frame:
        if kind == "facts":
            facts = json.dumps(_facts(now)).encode()
            return Frame("facts", {"at": now, "id": head.get("id")}, facts)
        sim = self.evals.get(head.get("pid"))
        body = sim.answer(head["path"], now) if sim and kind == "get" else None
        answer = {"id": head["id"], "at": now, "took": 0.001}
        if body is None:
            return Frame(
                "reply", {**answer, "status": 404, "error": None}, b'{"detail": "Not Found"}'
            )
        return Frame("reply", {**answer, "status": 200, "error": None}, body)


def _as_of(parsed: object) -> float | None:
    return cast("dict[str, Any]", parsed).get("as_of") if isinstance(parsed, dict) else None


def _without(value: object, clocks: frozenset[str]) -> object:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {k: _without(v, clocks) for k, v in fields.items() if k not in clocks}
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_without(item, clocks) for item in items]
    return value


def _facts(now: float) -> dict[str, Any]:
    gpu: dict[str, Any] = {
        "uuid": "GPU-sim",
        "name": "NVIDIA H100 80GB HBM3",
        "utilisation": 91.0,
        "memory_used": 60 << 30,
        "memory_total": 80 << 30,
        "temperature": 60.0,
        "power": 500.0,
        "power_limit": 700.0,
        "mig": None,
        "pids": [],
        "lost": False,
    }
    return {
        "at": now,
        "cpus": 64,
        "load": [3.0, 3.0, 3.0],
        "memory": {"total": 512 << 30, "available": 300 << 30},
        "disks": [{"path": "/", "what": "home", "total": 1 << 40, "free": 1 << 39}],
        "gpus": [{"index": index, **gpu} for index in range(8)],
        "gpu_tool": "nvidia-smi",
        "gpu_state": "ok",
        "docker": {"state": "absent", "version": None, "containers": []},
        "inspect": {"version": "0.3.285", "python": "python3", "state": "ok"},
        "clock": now,
    }


async def _within(reader: asyncio.StreamReader, seconds: float) -> bytes | None:
    try:
        return await asyncio.wait_for(reader.read(65536), seconds)
    except TimeoutError:
        return None


async def serve(path: str, settings: Settings) -> None:
    """Answer every connection to the unix socket `path` as one machine, until cancelled."""
    numbers = itertools.count()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        side = FarSide(f"sim{next(numbers):03d}", settings)
        splitter = Splitter()
        started = False
        try:
            while True:
                data = await _within(reader, 0.1)
                if data == b"":
                    return
                now = time.time() + settings.offset
                for frame in splitter.feed(data or b""):
                    started = True
                    writer.writelines(encode(f) for f in side.answers_to(frame, now))
                if started:
                    writer.writelines(encode(f) for f in side.tick(now))
                    await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_unix_server(one, path, backlog=512)
    print("serving", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--changing", type=float, default=1.0)
    words = parser.parse_args()
    Path(words.socket).unlink(missing_ok=True)
    settings = Settings(processes=words.processes, samples=words.samples, changing=words.changing)
    asyncio.run(serve(words.socket, settings))


if __name__ == "__main__":
    main()
