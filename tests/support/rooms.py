"""A room that a test holds in its hand, and fleets worth a picture.

As a program it opens the real app on such a fleet: `python -m tests.support.rooms KIND`.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from cli.wiring.room import replay_services
from core.config.model import ScreenConfig
from core.errors import RequestFailed
from core.events import Event, SamplesSeen
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.sample import Activity, Sample, SampleCounts, ToolCall
from core.model.task import ProgressPoint
from core.ports import FleetUpdate, Reply, Room, Show, SignIn
from core.signal import Signal
from core.views.changes import only_older
from tests.support.clocks import LOOKING
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    facts,
    fleet_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.waiting import until
from tui.app import RoomApp
from tui.dialogs.guarded_dialog import REPEAT_S, GuardedDialog
from tui.services import RoomServices, Service
from tui.terminal.textual_internals import lines_of

EU, US = MachineName("a100-eu"), MachineName("a100-us")
COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
"""What the terminal of a test can show, whatever the test itself runs in."""


class FakeRoom:
    """A `Room` whose fleet a test sets, and that remembers what it was asked.

    Attributes:
        asked: What the screens wanted: ("focus", task), ("retry", machine) ...
        answers: What `read` answers, as (status, body), by the path's beginning; `... content`
            only where the content is asked for.
    """

    def __init__(self, fleet: Fleet | None = None) -> None:
        self._fleet = fleet if fleet is not None else Fleet()
        self._updates = Signal[FleetUpdate]()
        self._update = FleetUpdate(self._fleet, 0)
        self.at = NOW
        self.asked: list[tuple[str, Any]] = []
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.fails: Exception | None = None
        self.is_replay = False
        self.signs_in: SignIn | None = None

    @property
    def fleet(self) -> Fleet:
        return self._fleet

    def now(self) -> float:
        return self.at

    async def run(self) -> None:
        if self.fails is not None:
            raise self.fails
        await asyncio.Event().wait()

    def post(self, event: Event) -> None:
        self.asked.append(("post", event))
        self.happen(event)

    def happen(self, *events: Event) -> None:
        """Fold these events in and show what came of them."""
        for event in events:
            self._fleet = fold(self._fleet, event)
        self.become(self._fleet)

    def become(self, fleet: Fleet) -> None:
        """Show this fleet."""
        self._fleet = fleet
        before = self._update
        is_same = only_older(before.fleet, fleet)
        self._update = FleetUpdate(fleet, before.revision + (not is_same))
        self._updates.emit(self._update)

    def subscribe(self, show: Show) -> Callable[[], None]:
        return self._updates.connect(show)

    def focus(self, task: TaskKey | None) -> None:
        if self.asked[-1:] != [("focus", task)]:
            self.asked.append(("focus", task))

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        del process, deadline
        self.asked.append(("read", path))
        for known, (status, body) in self.answers.items():
            start, _, content = known.partition(" ")
            if path.startswith(start) and (not content or f"{content}=true" in path):
                return Reply(at=self.at, took=0.001, status=status, error=None, body=body)
        raise RequestFailed("the process does not answer")

    def retry(self, machine: MachineName) -> None:
        self.asked.append(("retry", machine))

    def read_log(self, task: TaskKey) -> None:
        self.asked.append(("read log", task))

    def poll_now(self, process: ProcessKey) -> None:
        self.asked.append(("poll", process))

    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        self.asked.append(("accept", (machine, fingerprint)))

    async def sign_in(self, machine: MachineName) -> SignIn | None:
        self.asked.append(("sign in", machine))
        return self.signs_in

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        return self._fleet.tasks[task].trail if task in self._fleet.tasks else ()


class MemoryStore:
    """A view store in memory."""

    def __init__(self, view: Mapping[str, Any] | None = None) -> None:
        self.view: Mapping[str, Any] = view or {}

    def load(self) -> Mapping[str, Any]:
        return self.view

    def save(self, view: Mapping[str, Any]) -> bool:
        self.view = view
        return True


def services_on(
    room: Room,
    *,
    acting: Any = None,
    guiding: Any = None,
    launching: Any = None,
    why_no_launch: str = "",
    sessions: Any = None,
    **more: Any,
) -> RoomServices:
    """Return the services of an app on a room; those that are given are there.

    Args:
        room: A replay has none of them.
        acting: Also what a test tells in its place; so the others.
        launching: Follows the runs, and starts them.
        why_no_launch: Runs are followed only.
    """
    services = replay_services(room) if room.is_replay else RoomServices(room=room)
    given = {"acting": acting, "guiding": guiding, "runs": launching, "sessions": sessions}
    if why_no_launch:
        more["launching"] = Service[Any](missing=why_no_launch)
    else:
        given["launching"] = launching
    for name, service in given.items():
        if service is not None:
            more[name] = _made(service)
    return replace(services, **more)


def _made(service: object) -> Service[Any]:
    return Service(lambda: service)


def app_on(room: Room, *, services: RoomServices | None = None, **more: Any) -> RoomApp:
    """Return the app on a room, in a terminal that shows everything.

    Args:
        room: What it shows.
        services: What it uses; None: nothing but the room.
        more: As `RoomApp` takes it.
    """
    more.setdefault("environ", COLOURS)
    return RoomApp(services or services_on(room), **more)


def screen_lines(app: App[Any]) -> list[str]:
    """Return what is on screen, line by line, as text."""
    return [strip.text for strip in lines_of(app.screen)]


def screen_text(app: App[Any]) -> str:
    """Return what is on screen, as text."""
    return "\n".join(line.rstrip() for line in screen_lines(app))


async def shows(pilot: Pilot[None], words: str, seconds: float = 30.0) -> None:
    """Wait until these words are on screen."""
    await until(
        lambda: words in screen_text(pilot.app),
        f"{words!r} is on screen",
        seconds,
        before=pilot.pause,
        every=0.02,
        seen=lambda: f"\n{screen_text(pilot.app)}",
    )


async def answerable(pilot: Pilot[None], words: str = "") -> None:
    """Wait until a dialog with these words is on screen; from then on it takes an answer."""
    await shows(pilot, words)
    dialog = pilot.app.screen
    assert isinstance(dialog, GuardedDialog), screen_text(pilot.app)
    LOOKING.go_on()
    assert dialog.was_seen
    entered_at = dialog._entered_at  # pyright: ignore[reportPrivateUsage] - an Enter would answer
    assert LOOKING.monotonic() - entered_at >= REPEAT_S


def busy_fleet() -> Fleet:
    """Return four machines with six tasks: two links in trouble, one task held, some errors."""
    before = NOW - 4_000
    events: list[Event] = [named(each) for each in (H1, H2, EU, US)]
    events += [link(LinkState.UP, each, at=before) for each in (H1, H2, EU, US)]
    events += [facts(each) for each in (H1, H2, EU)]
    events += [
        process_seen(machine, pid, at=NOW - 3_000)
        for machine, pid in (
            (H1, 100),
            (H1, 101),
            (H2, 200),
            (H2, 201),
            (EU, 300),
            (EU, 301),
            (US, 400),
        )
    ]
    events.append(link(LinkState.LAGGING, EU, at=NOW - 14, reason="nothing heard"))
    for ago, done in ((2_400, 10), (1_800, 22), (1_200, 35), (600, 50), (1, 61)):
        row = task_row("t1", done=done, errored=done // 30, flying=38, total_tokens=done * 80_000)
        events.append(tasks_seen(row, pid=100, at=NOW - ago))
    held = task_row(
        "t2", task="cybench", done=12, flying=0, queued=28, total=40, held=3, paused=("task",)
    )
    gpqa = task_row("t3", task="gpqa_diamond", model="openai/gpt-5", done=402, flying=24, total=448)
    swe = task_row(
        "t4", task="swe_bench_verified", model="vllm/acme/coder", done=8, errored=1, flying=40,
        total=500, queued=452, http_retries=61,
    )  # fmt: skip
    mle = task_row("t5", task="mle_bench_lite", flying=22, total=22)
    sums = task_row("t7", task="arithmetic", model="ollama/llama3", done=20, flying=0, total=20)
    far = task_row(
        "t6", task="cybench", model="openai/gpt-5", done=19, errored=1, flying=12, total=40
    )
    events += [
        tasks_seen(held, pid=101, at=NOW - 1),
        tasks_seen(gpqa, machine=H2, pid=200, at=NOW - 2),
        tasks_seen(swe, machine=H2, pid=201, at=NOW - 2),
        tasks_seen(mle, machine=EU, pid=300, at=NOW - 14),
        tasks_seen(sums, machine=EU, pid=301, at=NOW - 240),
        process_gone(EU, 301, at=NOW - 230),
        log_read(
            task=task_key("t7", EU, 301),
            score=0.95,
            at=NOW - 220,
            samples=logged(total=20, completed=20, scored=20),
        ),
        tasks_seen(far, machine=US, pid=400, at=NOW - 120),
        link(LinkState.DOWN, US, at=NOW - 120, reason="Connection timed out", retry_at=NOW + 8),
        samples_seen(*busy_samples(), task=task_key("t1", H1, 100), at=NOW - 1),
    ]
    return replace(fleet_after(*events), findings=busy_findings())


def busy_samples() -> list[Sample]:
    """Return samples of every status, among them one that waits to retry."""
    bash = ToolCall(id="call_1", function="bash", started_at=NOW - 252)
    waiting = Activity(type="retry_wait", count=6, started_at=NOW - 20, deadline=NOW + 45)
    rows = [
        sample(17, activity=Activity(type="tool", started_at=NOW - 252, calls=(bash,))),
        sample(44, activity=waiting, last_activity_at=NOW - 20, turn_count=7, total_tokens=31_000),
    ]
    rows += [
        sample(
            number,
            total_tokens=12_000 + number * 3_000,
            turn_count=number % 23,
            last_activity_at=NOW - number % 31,
            activity=Activity(type="model", started_at=NOW - number % 31),
        )
        for number in range(60, 96)
    ]
    rows += [
        sample(5, status="error", turn_count=31, total_tokens=140_000),
        sample(6, status="error"),
    ]
    rows += [
        sample(
            number,
            status="completed",
            scores={"includes": "C" if number % 3 else "I"},
            started_at=NOW - 60 * number - 300,
            completed_at=NOW - 60 * number,
        )
        for number in range(100, 159)
    ]
    return rows


def busy_findings() -> tuple[Finding, ...]:
    """Return findings of every tone."""
    return (
        Finding(
            id="a", kind="errors", tone="warning", opened_at=NOW - 60, machine=H1,
            task=task_key("t1"), text="2 of 100 samples errored (2%)",
        ),
        Finding(
            id="b", kind="link", tone="error", opened_at=NOW - 120, machine=US,
            text="The link is down: no data from a100-us for 20 s",
        ),
        Finding(
            id="d", kind="finished", tone="good", opened_at=NOW - 900, closed_at=NOW - 900,
            machine=EU, task=task_key("t7", EU, 301),
            text="Success: accuracy 0.95 ±0.05, 20 of 20 samples done",
        ),
    )  # fmt: skip


HOSTILE = (
    "\x1b]52;c;RVZJTA==\x07\x1b]2;EVILTITLE\x07\x1b[2J\x1b[31mred\x9b31m\x90q\x9c\u202eevil\u200b"
    "\u2066[/][@click=app.quit]GO[/] [link=http://e]t[/link] \r\n\x00\x7f\U000e0041:bomb: \ud800"
)
"""What no terminal must ever be sent: OSC 52, a title, CSI, C1, bidi, markup, a lone surrogate."""


def hostile_fleet() -> Fleet:
    """Return a fleet in which every text of a host is hostile."""
    evil, key = HOSTILE, task_key("t1")
    row = task_row(
        "t1", task=evil, model=evil, solver=evil, log_location=evil, resolving=evil,
        paused=(evil,), done=3, errored=1, flying=2, total=9,
    )  # fmt: skip
    call = ToolCall(id=evil, function=evil, started_at=NOW - 5)
    rows = [
        sample(evil, activity=Activity(type=evil, detail=evil, calls=(call,), started_at=NOW - 5)),
        sample("x" + evil, activity=Activity(type="tool", detail=evil, calls=(call,))),
        sample(3, status="completed", scores={evil: evil}, limit=evil),
        sample(4, status=evil, interrupt=evil),
    ]
    fleet = fleet_after(
        named(),
        link(),
        facts(host=evil, platform=evil, gpu_error=evil),
        process_seen(argv=("inspect", "eval", evil), cwd=evil, python=evil, run_id=evil),
        tasks_seen(row),
        SamplesSeen(
            at=NOW,
            task=key,
            eval_id="e-t1",
            as_of=NOW,
            counts=SampleCounts(running=2, completed=1),
            rows=tuple(rows),
            whole=True,
        ),
        link(LinkState.DOWN, reason=evil, advice=evil, at=NOW + 1),
        link(LinkState.UP, at=NOW + 2),
    )
    finding = Finding(
        id="a", kind=evil, tone="error", opened_at=NOW, machine=H1, task=key, text=evil
    )
    return replace(fleet, findings=(finding, *fleet.findings))


def hostile_answers() -> dict[str, tuple[int, bytes]]:
    """Return what a hostile process answers about any of its samples."""
    evil, error = HOSTILE, {"message": HOSTILE, "traceback": HOSTILE}
    call = {"id": evil, "function": evil, "arguments": {evil: evil}}
    kinds = ("tool", "model", evil)
    event = {"uuid": evil, "timestamp": 1.0, "function": evil, "model": evil, "stop_reason": evil}
    bodies: dict[str, Any] = {
        "/sample/events": {
            "events": [
                {**event, "event": kind, "uuid": kind, "result": evil, "completion": evil}
                for kind in kinds
            ],
            "next": None,
            "done": True,
        },
        "/sample/messages": {
            "as_of": 1.0,
            "status": evil,
            "count": 1,
            "messages": [{"index": 0, "role": evil, "content": evil, "tool_calls": [call]}],
        },
        "/sample/store": {
            "as_of": 1.0,
            "status": evil,
            "count": 1,
            "store": {evil: {"type": evil, "size": 1, "value": evil}},
        },
        "/sample": {
            "sample_id": 3,
            "epoch": 1,
            "status": evil,
            "error": error,
            "error_retries": [error],
            "limit_reason": evil,
        },
    }
    return {f"/evals/e-t1{path}": (200, json.dumps(body).encode()) for path, body in bodies.items()}


class _Failing(FakeRoom):
    def now(self) -> float:
        password = "sk-" + "CANARY-" + str(self.at)  # a value that a traceback must not show
        if Path(os.environ["FAIL_WHEN"]).exists():
            raise ValueError(f"broken by the test, {len(password)} long")
        return self.at


def _main(kind: str) -> int:
    if os.environ.get("IGNORE_HANGUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fleets = {"busy": busy_fleet, "hostile": hostile_fleet, "empty": Fleet, "failing": busy_fleet}
    room = _Failing(fleets[kind]()) if kind == "failing" else FakeRoom(fleets[kind]())
    if kind == "hostile":
        room.answers = hostile_answers()
    crash = os.environ.get("CRASH_FILE")

    def keep_crash(report: str) -> str | None:
        if crash is not None:
            Path(crash).write_text(report)
        return crash

    app = RoomApp(services_on(room), screen=ScreenConfig(), keep_crash=keep_crash)
    return asyncio.run(app.run_in_terminal())


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
