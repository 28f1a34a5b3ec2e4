"""The real room as a program, with one more thread that tells a test what it knows and holds.

    python -m tests.support.observed_room SOCKET WORDS OF EVALROOM ...

Each connection to the unix socket SOCKET gets one JSON object, see `Observed`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cli.main import main
from cli.render.fleet_json import status_answer
from core.desk.desk import Desk
from tests.support.usage import children, resident_mib
from tests.support.waiting import WAIT_S

DESKS: list[Desk] = []


@dataclass(frozen=True)
class Held:
    """What the room holds: memory (MiB), descriptors, threads, asyncio tasks and children."""

    memory: float
    descriptors: int
    threads: int
    tasks: int
    children: int


def ask(path: Path, what: str = "") -> dict[str, Any]:
    """Return what the room at this socket knows: `fleet`, `findings`, `held`.

    Args:
        path: Its socket.
        what: `types` counts its objects by type too, after a collection.
    """
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(240)
        asked.connect(str(path))
        asked.sendall(what.encode() + b"\n")
        parts: list[bytes] = []
        while part := asked.recv(1 << 20):
            parts.append(part)
    answer: dict[str, Any] = json.loads(b"".join(parts))
    return answer


def held_of(answer: dict[str, Any]) -> Held:
    """Return what the room held when it gave that answer."""
    return Held(**answer["held"])


def _descriptors() -> list[str]:
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            found.append(str(Path(f"/proc/self/fd/{name}").readlink()))
        except OSError:
            continue
    return found


def _answer(what: str) -> dict[str, Any]:
    desk = DESKS[-1]
    fleet = desk.fleet
    descriptors = _descriptors()
    answer: dict[str, Any] = {
        "at": time.time(),
        "held": {
            "memory": resident_mib(os.getpid()),
            "descriptors": len(descriptors),
            "threads": threading.active_count(),
            "tasks": len(_tasks()),
            "children": len(children(os.getpid())),
        },
        "names": {
            "descriptors": descriptors,
            "threads": [each.name for each in threading.enumerate()],
            "tasks": sorted(_tasks()),
        },
        "fleet": status_answer(fleet, desk.now()),
        "findings": [
            {"kind": each.kind, "text": each.text, "machine": each.machine,
             "is_open": each.closed_at is None, "opened_at": each.opened_at}
            for each in fleet.findings
        ],
    }  # fmt: skip
    if what == "types":
        answer["garbage"] = gc.collect()
        answer["memory_collected"] = resident_mib(os.getpid())
        CDLL("libc.so.6").malloc_trim(0)
        answer["memory_trimmed"] = resident_mib(os.getpid())
        gc.unfreeze()
        counted = Counter(
            f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects()
        )
        answer["types"] = dict(counted.most_common(300))
    return answer


def _tasks() -> list[str]:
    for _ in range(20):
        try:
            return [task.get_name() for task in asyncio.all_tasks(LOOPS[-1]) if not task.done()]
        except RuntimeError:  # the set changed meanwhile
            continue
    return []


LOOPS: list[asyncio.AbstractEventLoop] = []


def _serve(path: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(4)
    while True:
        asked, _ = listener.accept()
        with asked:
            what = asked.recv(100).decode().strip()
            try:
                asked.sendall(json.dumps(_in_loop(what), default=str).encode())
            except OSError:
                continue


def _in_loop(what: str) -> dict[str, Any]:
    """Answer from the room's own thread: objects are half made in the midst of its work."""

    async def answer() -> dict[str, Any]:
        return _answer(what)

    return asyncio.run_coroutine_threadsafe(answer(), LOOPS[-1]).result(WAIT_S)


def _observed(made: Callable[..., None]) -> Callable[..., None]:
    def remember(self: Desk, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        DESKS.append(self)
        LOOPS.append(asyncio.get_running_loop())

    return remember


if __name__ == "__main__":
    path, *words = sys.argv[1:]
    cast("Any", Desk).__init__ = _observed(Desk.__init__)
    threading.Thread(target=_serve, args=(path,), name="observer", daemon=True).start()
    sys.argv = ["evalroom", *words]
    sys.exit(main())
