"""An observer of one machine, to which a test sends the frames of a probe."""

import json
from collections.abc import Mapping
from typing import Any

from core.config.model import WatchConfig
from core.events import (
    Event,
    LinkHeard,
)
from core.fleet import Fleet
from core.fold.fold import fold
from core.frames import Frame, encode
from core.ids import ProcessKey, TaskKey
from core.watch.observer import Observer
from tests.support.fleets import H1, NOW

KEY = ProcessKey(H1, 7, "b:1")
TASK = TaskKey(KEY, "t")
ROW = {
    "task_id": "t", "eval_id": "e", "task": "ctf", "status": "running", "started_at": NOW - 600,
    "samples": {"total": 9, "in_flight": 2},
}  # fmt: skip


class Observed:
    """An observer with the fleet that its events make, and the probe's clock."""

    def __init__(self) -> None:
        self.observer = Observer(H1, WatchConfig())
        self.fleet = Fleet()
        self.now = NOW
        self.set: dict[str, Mapping[str, Any]] = {}

    def receive(self, kind: str, body: object = None, **head: Any) -> list[Event]:
        """The events of a frame, without the link's."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        events = self.observer.events_of(Frame(kind, {"at": self.now, **head}, raw), self.now)
        for event in events:
            self.fleet = fold(self.fleet, event)
        return [event for event in events if not isinstance(event, LinkHeard)]

    def hello(self) -> list[Event]:
        self.set = {}
        return self.receive("hello", host="h", python="3.8.1", platform="Linux", user="op", pid=1)

    def processes(self, *rows: Mapping[str, Any]) -> list[Event]:
        base = {"pid": 7, "start": "b:1", "socket_path": "/s", "api_version": 8, "alive": True,
                "channel": "ok", "waiting_since": None}  # fmt: skip
        return self.receive("processes", [{**base, **row} for row in rows])

    def steer(self, focus: TaskKey | None = None) -> list[Frame]:
        frames = list(self.observer.frames(self.fleet, focus, self.now))
        for frame in frames:
            assert encode(frame)
            name = str(frame.head["name"])
            if frame.kind == "unwatch":
                self.set.pop(name, None)
            else:
                self.set[name] = frame.head
        return frames

    def name_of(self, sign: str) -> str:
        (name,) = [name for name in self.set if name.startswith(sign)]
        return name

    def answer(self, sign: str, body: object, **head: Any) -> list[Event]:
        place = {"pid": 7, "start": "b:1", "name": self.name_of(sign)}
        return self.receive("answer", body, **place, **{"status": 200, "took": 0.01, **head})

    def trouble(self, sign: str, error: str) -> list[Event]:
        place = {"pid": 7, "start": "b:1", "name": self.name_of(sign)}
        return self.receive("trouble", **place, error=error)

    def samples(self, *rows: tuple[int, str], sign: str = "s/", **more: Any) -> list[Event]:
        envelope = {
            "as_of": self.now,
            "counts": {"running": 0},
            "samples": [{"sample_id": n, "epoch": 1, "status": status} for n, status in rows],
            "truncated": False,
        }
        return self.answer(sign, {**envelope, **more})
