"""The probe as a plain child, spoken to without any link."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from core.frames import Frame, Splitter, encode
from tests.support.programs import program_file
from tests.support.waiting import WAIT_S, wait_until


class DirectProbe:
    """A running probe and its frames."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.child = process
        self.frames: list[Frame] = []
        self.ended = False
        self._numbers = iter(range(1, 10_000))
        self._splitter = Splitter()
        self._read = threading.Event()
        self._read.set()
        self._thread = threading.Thread(target=self._reader, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Of the probe."""
        return self.child.pid

    def send(self, kind: str, **head: Any) -> None:
        """Send it a frame."""
        assert self.child.stdin is not None
        self.child.stdin.write(encode(Frame(kind, head)))
        self.child.stdin.flush()

    def send_bytes(self, data: bytes) -> None:
        """Send it anything."""
        assert self.child.stdin is not None
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def ask(self, kind: str, **head: Any) -> int:
        """Send a request; return its id."""
        number = next(self._numbers)
        self.send(kind, id=number, **{"deadline": 10.0, **head})
        return number

    def stop_reading(self) -> None:
        """Read no more, so that its pipe fills."""
        self._read.clear()

    def go_on_reading(self) -> None:
        """Read again."""
        self._read.set()

    def of(self, kind: str, **wanted: Any) -> list[Frame]:
        """The frames of a kind whose head has these values."""
        return [
            frame
            for frame in list(self.frames)
            if frame.kind == kind and all(frame.head.get(k) == v for k, v in wanted.items())
        ]

    def until(self, wanted: Callable[[], Any], seconds: float = WAIT_S) -> Any:
        """Return what `wanted()` gives once it is true."""
        return wait_until(wanted, "the probe tells it", seconds, every=0.01, seen=self._tail)

    def _tail(self) -> str:
        return "\n".join(str(frame)[:300] for frame in self.frames[-12:])

    def first(self, kind: str, seconds: float = WAIT_S, **wanted: Any) -> Frame:
        """Wait for a frame of a kind."""
        frame: Frame = self.until(lambda: self.of(kind, **wanted), seconds)[0]
        return frame

    def reply(self, number: int, seconds: float = WAIT_S) -> Frame:
        """Wait for the answer to a request."""
        frame: Frame = self.until(
            lambda: self.of("reply", id=number) + self.of("refused", id=number), seconds
        )[0]
        return frame

    def processes(self) -> list[dict[str, Any]]:
        """The newest list of processes."""
        frames = self.of("processes")
        return json.loads(frames[-1].body) if frames else []

    def process(self, pid: int, seconds: float = WAIT_S, **wanted: Any) -> dict[str, Any]:
        """Wait until a process is listed with these values."""

        def found() -> list[dict[str, Any]]:
            return [
                row
                for row in self.processes()
                if row["pid"] == pid and all(row[k] == v for k, v in wanted.items())
            ]

        row: dict[str, Any] = self.until(found, seconds)[0]
        return row

    def process_ended(self, seconds: float = 5.0) -> bool:
        """Whether the probe itself ends by then."""
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def polls(self, name: str) -> list[list[Any]]:
        """The unchanged reads that beats reported."""
        return [poll for beat in self.of("beat") for poll in beat.head["polls"] if poll[2] == name]

    def _reader(self) -> None:
        assert self.child.stdout is not None
        fd = self.child.stdout.fileno()
        while True:
            self._read.wait()
            data = os.read(fd, 65536)
            if not data:
                break
            self.frames.extend(self._splitter.feed(data))
        self.ended = True


@contextmanager
def direct_probe(
    data_dir: Path | None = None,
    *,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    program: Path | None = None,
    **start: Any,
) -> Generator[DirectProbe, None, None]:
    """Yield a started probe; kill it afterwards. `program` is another file than the probe's."""
    process = subprocess.Popen(
        [python, "-u", "-I", str(program or program_file("probe")), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    probe = DirectProbe(process)
    try:
        probe.send(
            "start",
            **{
                "desk": "",
                "read_only": False,
                "data_dir": str(data_dir) if data_dir is not None else None,
                "clocks": ["as_of", "tokens_per_second", "total_time"],
                "facts_every": 60,
                "discover_every": 0.2,
                **start,
            },
        )
        probe.first("hello")
        yield probe
    finally:
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        probe.go_on_reading()
        probe._thread.join(WAIT_S)  # pyright: ignore[reportPrivateUsage]
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
