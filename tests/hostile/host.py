"""A hostile host: it speaks the probe's protocol, and sends what it likes.

It stands at the other end of a command link (`machine_of`), lets the desk start its Python there
as on any machine, and then carries out one attack of `ATTACKS` for as long as the link is up. It
can send any frame of any size at any speed, answer any poll and request, and write to standard
error. It runs as an ordinary child process of the test; it reaches nothing else.

    [sys.executable, "tests/hostile/host.py", ATTACK, FILE]    the command of the link

With FILE it is silent but for beats until that file exists.
"""

import json
import os
import random
import re
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

CHUNK_BYTES = 2048
"""How much of the program each mark stands for (`ssh.handshake`)."""
PART_BYTES = 1024 * 1024
SECONDS_EACH = 1.5
PID, START = 4242, "boot:1"


def machine_of(attack: str, name: str = "evil", *, starts_at: Path | None = None) -> str:
    """Return the TOML of a machine that is such a host; it attacks once a file exists."""
    words = [sys.executable, str(Path(__file__).resolve()), attack]
    command = json.dumps(words if starts_at is None else [*words, str(starts_at)])
    return f'[[machines]]\nname = "{name}"\nlink = "command"\ncommand = {command}\n'


# -- what it says


def out(data: bytes) -> None:
    """Write to the desk."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:65536]) :]


def frame(kind: str, body: bytes = b"", **head: Any) -> None:
    """Send one frame, in parts where it is large."""
    parts = max(1, -(-len(body) // PART_BYTES))
    for part in range(parts):
        piece = body[part * PART_BYTES : (part + 1) * PART_BYTES]
        more = {"part": part, "parts": parts, "stream": 1} if parts > 1 else {}
        line = {"v": 1, "kind": kind, **head, **more, "body": len(piece)}
        out(json.dumps(line).encode() + b"\n" + piece)


def hello() -> None:
    """Say hello as a probe does."""
    frame("hello", at=time.time(), pid=os.getpid(), python="3.11", host="evil", user="root",
          platform="Linux", read_only=False)  # fmt: skip


def beat() -> None:
    """Send a beat."""
    frame("beat", at=time.time(), polls=[])


def process(pid: int = PID, **more: object) -> dict[str, object]:
    """Return a row of the list of processes."""
    row = {"pid": pid, "start": START, "run_id": "r", "api_version": 6, "alive": True}
    return {**row, "channel": "ok", "socket_path": "/s", "data_dir": "/d", **more}


def processes(rows: list[dict[str, object]]) -> None:
    """Send a list of processes."""
    frame("processes", json.dumps(rows).encode(), at=time.time())


def task(number: int, done: int = 0, **more: object) -> dict[str, object]:
    """Return a row of a task list."""
    return {
        "task_id": f"t{number}",
        "eval_id": f"e{number}",
        "task": f"task {number}",
        "model": "m",
        "status": "running",
        "samples": {"total": 100, "completed": done % 100, "errored": 0, "in_flight": 4},
        **more,
    }


def sample(number: int, **more: object) -> dict[str, object]:
    """Return a row of a list of samples."""
    row = {"sample_id": f"s{number}", "epoch": 1, "status": "running", "started_at": time.time()}
    return {**row, "total_tokens": number, "last_activity_at": time.time(), **more}


# -- what it hears


class OverError(Exception):
    """The time of an attack is over."""


class Desk:
    """What the desk wants: its polls, by name, and the requests that wait for an answer.

    Attributes:
        ends_at: When to raise `OverError` in place of hearing more, seconds of `time.monotonic`.
    """

    def __init__(self) -> None:
        self.ends_at = float("inf")
        self.polls: dict[str, dict[str, object]] = {}
        self.requests: list[dict[str, object]] = []
        self._data = b""

    def hear(self, seconds: float = 0.0) -> None:
        """Take what the desk has sent; leave when it has closed the link."""
        if time.monotonic() > self.ends_at:
            raise OverError
        while select.select([0], [], [], seconds)[0]:
            data = os.read(0, 65536)
            if not data:
                os._exit(0)
            self._data += data
            *lines, self._data = self._data.split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            seconds = 0.0

    def _take(self, head: dict[str, object]) -> None:
        if head["kind"] == "watch":
            self.polls[str(head["name"])] = head
        elif head["kind"] == "unwatch":
            self.polls.pop(str(head["name"]), None)
        elif "id" in head:
            self.requests.append(head)

    def poll(self, starts: str) -> dict[str, object]:
        """Wait until it polls a name that starts so."""
        while True:
            found = [head for name, head in self.polls.items() if name.startswith(starts)]
            if found:
                return found[0]
            self.hear(0.2)
            beat()


def answer(poll: Mapping[str, object], body: bytes) -> None:
    """Answer a poll."""
    place: Any = {name: poll[name] for name in ("pid", "start", "name")}
    frame("answer", body, **place, at=time.time(), took=0.001, status=200)


def numbers() -> Iterator[int]:
    """Count for ever."""
    number = 0
    while True:
        yield number
        number += 1


# -- the attacks

ATTACKS: dict[str, Callable[[Desk], None]] = {}


def attack(do: Callable[[Desk], None]) -> Callable[[Desk], None]:
    """Note an attack by its name."""
    ATTACKS[do.__name__.replace("_", "-")] = do
    return do


@attack
def honest(desk: Desk) -> None:
    """Have three tasks, and answer every poll twice a second."""
    processes([process()])
    desk.poll("tasks")
    for turn in numbers():
        desk.hear(0.5)
        for name, poll in list(desk.polls.items()):
            if name == "tasks":
                answer(poll, json.dumps([task(n, turn) for n in range(3)]).encode())


@attack
def many_processes(desk: Desk) -> None:
    """List 150,000 processes in each frame, all of them changed."""
    for turn in numbers():
        processes([process(pid, cwd=f"/{turn}") for pid in range(150_000)])
        desk.hear()


@attack
def new_processes(desk: Desk) -> None:
    """List 2,000 processes that nobody has seen before, in every frame."""
    for turn in numbers():
        processes([process(pid, start=f"{turn}") for pid in range(2_000)])
        desk.hear()


@attack
def long_texts(desk: Desk) -> None:
    """List processes whose texts are megabytes long."""
    for turn in numbers():
        long = f"{turn}" * 400_000
        processes([process(pid, argv=[long, *["x"] * 100_000], cwd=long) for pid in range(5)])
        desk.hear()


@attack
def many_tasks(desk: Desk) -> None:
    """Answer with 30 MB of task rows, again and again."""
    processes([process()])
    poll = desk.poll("tasks")
    for turn in numbers():
        answer(poll, json.dumps([task(n, turn) for n in range(150_000)]).encode())
        desk.hear()


@attack
def small_tasks(desk: Desk) -> None:
    """Answer with the smallest rows that are tasks: 900,000 in 30 MB."""
    processes([process()])
    poll = desk.poll("tasks")
    body = b"[" + b",".join(b'{"task_id":"%d","eval_id":""}' % n for n in range(900_000)) + b"]"
    while True:
        answer(poll, body)
        desk.hear()


@attack
def all_limits(desk: Desk) -> None:
    """Stay within every limit: 2,000 processes with 10,000 tasks that change all the time."""
    processes([process(pid) for pid in range(1, 2_001)])
    desk.poll("tasks")
    for turn in numbers():
        for pid in range(1, 11):
            poll = {"pid": pid, "start": START, "name": "tasks"}
            answer(poll, json.dumps([task(n, turn) for n in range(1_000)]).encode())
        desk.hear()


@attack
def new_tasks(desk: Desk) -> None:
    """Answer with 1,000 tasks that nobody has seen before, every time."""
    processes([process()])
    poll = desk.poll("tasks")
    for turn in numbers():
        answer(poll, json.dumps([task(turn * 1_000 + n) for n in range(1_000)]).encode())
        desk.hear()


@attack
def many_samples(desk: Desk) -> None:
    """Answer with 30 MB of running samples, again and again."""
    processes([process()])
    answer(desk.poll("tasks"), json.dumps([task(1)]).encode())
    poll = desk.poll("s/")
    counts = {"running": 150_000}
    for turn in numbers():
        rows = [sample(n, turn_count=turn) for n in range(150_000)]
        answer(poll, json.dumps({"as_of": 1.0, "counts": counts, "samples": rows}).encode())
        desk.hear()
        poll = desk.poll("s/")


@attack
def many_facts(desk: Desk) -> None:
    """Report 100,000 GPUs, containers and disks."""
    gpus = [{"index": n, "name": "H100", "utilisation": 5.0} for n in range(100_000)]
    containers = [{"id": f"{n:012x}", "project": f"inspect-a-i{n:06x}"} for n in range(100_000)]
    disks = [{"path": f"/{n}", "what": "logs", "total": 9, "free": 1} for n in range(100_000)]
    for turn in numbers():
        docker = {"state": "ok", "containers": containers}
        value = {"at": time.time(), "gpus": gpus, "disks": disks, "docker": docker, "cpus": turn}
        frame("facts", json.dumps(value).encode(), at=time.time())
        desk.hear()


@attack
def tiny_frames(desk: Desk) -> None:
    """Send beats without a pause, thousands in each write."""
    processes([process()])
    line = json.dumps({"v": 1, "kind": "beat", "at": time.time(), "body": 0}).encode() + b"\n"
    while True:
        out(line * 1_000)
        desk.hear()


@attack
def unchanged_polls(desk: Desk) -> None:
    """Send beats that name a poll a thousand times, without a pause."""
    processes([process()])
    desk.poll("tasks")
    for _ in numbers():
        rows = [[PID, START, "tasks", time.time(), 0.1]] * 1_000
        frame("beat", at=time.time(), polls=rows)
        desk.hear()


@attack
def troubles(desk: Desk) -> None:
    """Say that a poll failed, each time for another reason."""
    processes([process()])
    desk.poll("tasks")
    for turn in numbers():
        place: Any = {"pid": PID, "start": START, "name": "tasks", "at": time.time()}
        frame("trouble", **place, error=f"reason {turn} " + "x" * 4_000, status=None)
        desk.hear()


@attack
def doing(desk: Desk) -> None:
    """Have 2,000 tasks of one name, and a trace by which their samples do 1,000 long commands."""
    processes([process()])
    poll = desk.poll("tasks")
    row = {"action": "Subprocess", "what": "x" * 4_000, "words": "y" * 8_000, "task": "task"}
    for turn in numbers():
        answer(poll, json.dumps([task(n, turn, task="task") for n in range(2_000)]).encode())
        for name, each in list(desk.polls.items()):
            if name.startswith("s/"):
                rows = [sample(n) for n in range(1_000)]
                body = {"as_of": time.time(), "counts": {"running": 1_000}, "samples": rows}
                answer(each, json.dumps(body).encode())
                desk.hear()
        rows = [{**row, "since": 1.0, "sample_id": f"s{n}", "epoch": 1} for n in range(1_000)]
        frame("doing", json.dumps(rows).encode(), pid=PID, start=START, at=time.time())
        desk.hear()


@attack
def flapping(desk: Desk) -> None:
    """Have processes come and go, change their state and their tasks, in every frame."""
    for turn in numbers():
        alive = bool(turn % 2)
        processes([process(pid, start=f"{pid}", alive=alive) for pid in range(turn, turn + 50)])
        desk.hear()
        for name, poll in list(desk.polls.items()):
            if name == "tasks":
                rows = [task(n, turn, status="completed" if alive else "running") for n in range(9)]
                answer(poll, json.dumps(rows).encode())


@attack
def junk_answers(desk: Desk) -> None:
    """Answer polls with documents that are hard to read: nested, of nothing, of digits."""
    processes([process()])
    parts = (
        (b"", b"[", 16_000_000, b""),
        (b"[", b"{},", 10_000_000, b"{}]"),
        (b"[", b'"",', 10_000_000, b'""]'),
        (b'["', b"\\\\", 15_000_000, b'"]'),
        (b"[", b"9", 30_000_000, b"]"),
        (b"[", b"\xff", 30_000_000, b"]"),
        (b'[{"task_id":"', b"x", 30_000_000, b'","eval_id":"e"}]'),
        (b"{", b'"a":1,', 5_000_000, b'"a":NaN}'),
        (b"[NaN", b",[]", 9_000_000, b"]"),
    )
    for turn in numbers():
        before, part, times, after = parts[turn % len(parts)]
        body = before + part * times + after
        answer(desk.poll("tasks"), body)
        frame("facts", body[:1_000_000], at=time.time())
        frame("processes", body, at=time.time())
        processes([process()])
        desk.hear()


@attack
def parts(desk: Desk) -> None:
    """Begin two answers of 32 MB, and never end them; then beat on."""
    processes([process()])
    desk.poll("tasks")
    for part in range(30):
        for stream in (1, 2):
            place: Any = {"pid": PID, "start": START, "name": "tasks", "status": 200}
            line = {"v": 1, "kind": "answer", **place, "part": part, "parts": 33, "stream": stream}
            out(json.dumps({**line, "body": PART_BYTES}).encode() + b"\n" + b" " * PART_BYTES)
        desk.hear()
    while True:
        desk.hear(0.5)
        beat()


@attack
def errors(desk: Desk) -> None:
    """Write to standard error without a pause."""
    processes([process()])
    while True:
        os.write(2, b"\x1b[2J" + b"x" * 60_000 + b"\n")
        beat()
        desk.hear()


@attack
def endless_line(desk: Desk) -> None:
    """Begin a head that never ends."""
    del desk
    while True:
        out(b"{" * 65_536)


@attack
def slow_line(desk: Desk) -> None:
    """Begin a head that never ends, a byte at a time."""
    beat()
    while True:
        out(b"{")
        desk.hear(0.05)


@attack
def replies(desk: Desk) -> None:
    """Answer every request, and a thousand that nobody made, with 30 MB."""
    processes([process()])
    for turn in numbers():
        desk.hear(0.01)
        numbers_ = [each["id"] for each in desk.requests] or [turn + 1_000_000]
        desk.requests.clear()
        for number in numbers_:
            frame("reply", b"[" + b"{}," * 10_000_000 + b"{}]", id=number, at=0, took=0, status=200)


@attack
def in_turn(desk: Desk) -> None:
    """Carry the attacks out one after the other, a second or two each, in any order."""
    names = sorted(set(ATTACKS) - {"in-turn", "honest"})
    random.shuffle(names)
    for name in names:
        desk.ends_at = time.monotonic() + SECONDS_EACH
        with suppress(OverError):
            ATTACKS[name](desk)
        desk.ends_at = float("inf")


# -- its way in


def _take_program() -> None:
    """Play the login shell and the Python that the desk starts, and throw the program away."""
    while True:
        found = re.search(r'n="(\w+)"\+"(\w+)"', _line())
        if found is not None:
            break
    nonce = "".join(found.groups())
    out(f"ready {nonce}\n".encode())
    while not (line := _line()).startswith(nonce):
        pass
    left = int(line.split()[1])
    while left:
        chunk = min(CHUNK_BYTES, left)
        left -= chunk
        while chunk:
            chunk -= len(os.read(0, chunk))
        out(f"got {nonce}\n".encode())
    _line()  # the start frame


def _line() -> str:
    """Return a line of standard input, and read nothing beyond it."""
    data = b""
    while not data.endswith(b"\n"):
        got = os.read(0, 1)
        if not got:
            os._exit(0)
        data += got
    return data.decode()


def main() -> None:
    """Carry an attack out until the link is closed.

    A host has processors of its own. Here it shares them with the room, so that it gives way.
    """
    os.nice(19)
    _take_program()
    hello()
    desk = Desk()
    try:
        while len(sys.argv) > 2 and not Path(sys.argv[2]).exists():
            beat()
            desk.hear(0.2)
        ATTACKS[sys.argv[1]](desk)
    except OSError:
        os._exit(0)


if __name__ == "__main__":
    main()
