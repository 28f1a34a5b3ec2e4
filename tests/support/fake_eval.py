"""An eval process without Inspect: a control socket that answers as a test tells it."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.processes import is_below

Serve = Callable[[socket.socket, str], bool]
"""Answer the request line on this connection; whether it stays open."""


def http(body: bytes, status: str = "200 OK", *, length: int | None = None) -> bytes:
    """Return an HTTP answer as uvicorn sends it."""
    size = len(body) if length is None else length
    return (
        f"HTTP/1.1 {status}\r\nserver: uvicorn\r\ncontent-length: {size}\r\n"
        "content-type: application/json\r\n\r\n"
    ).encode() + body


def says(value: Any, status: str = "200 OK") -> Serve:
    """Serve that value as JSON, always."""

    def serve(connection: socket.socket, _: str) -> bool:
        connection.sendall(http(json.dumps(value).encode(), status))
        return True

    return serve


def says_bytes(data: bytes) -> Serve:
    """Serve exactly these bytes and close."""

    def serve(connection: socket.socket, _: str) -> bool:
        connection.sendall(data)
        return False

    return serve


@dataclass
class FakeEval:
    """A control socket and its discovery record.

    Attributes:
        asked: (monotonic time, request line) of every request.
        connections: How many connections asked something: one that only shows who listens
            does not.
        in_flight, most_in_flight: Requests being answered, now and at most.
    """

    data_dir: Path
    pid: int
    serve: Serve
    asked: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    connections: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    _stop: bool = False

    @property
    def control(self) -> Path:
        """The folder of records and sockets."""
        return self.data_dir / "inspect_ai" / "control"

    @property
    def socket_path(self) -> Path:
        """Its control socket."""
        return self.control / f"{self.pid}.sock"

    @property
    def record_path(self) -> Path:
        """Its discovery record."""
        return self.control / f"{self.pid}.json"

    def paths(self) -> list[str]:
        """The paths asked for, in order."""
        return [line.split()[1] for _, line in self.asked]

    def write_record(self, **changes: Any) -> None:
        """Write the discovery record."""
        record = {
            "pid": self.pid,
            "run_id": "run1",
            "socket_path": str(self.socket_path),
            "started_at": time.time(),
            "api_version": 8,
        }
        self.record_path.write_text(json.dumps({**record, **changes}))

    def answer(self, listener: socket.socket) -> None:
        """Answer in threads at a socket at which the eval's process listens."""
        self._stop = False
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self) -> None:
        """Stop listening; the socket's file stays, as after a kill."""
        self._stop = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._stop:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if not _is_of_this_test(connection):
                connection.close()  # a probe of someone else on this computer found it
                continue
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            held = b""
            connection.settimeout(60.0)
            is_new = True
            while True:
                while b"\r\n\r\n" not in held:
                    data = connection.recv(65536)
                    if not data:
                        return
                    held += data
                head, _, held = held.partition(b"\r\n\r\n")
                line = head.split(b"\r\n")[0].decode()
                self.connections += is_new
                is_new = False
                self.asked.append((time.monotonic(), line))
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    keep = self.serve(connection, line)
                finally:
                    self.in_flight -= 1
                if not keep:
                    return


def _is_of_this_test(connection: socket.socket) -> bool:
    """Whether the process at the other end was started by this one."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return is_below(struct.unpack("iII", found)[0], os.getpid())


@contextmanager
def fake_eval(
    data_dir: Path,
    serve: Serve,
    *,
    by_name: bool = False,
    run: str | None = None,
    is_bound_by_path: bool = False,
    seconds: int = 300,
) -> Generator[FakeEval, None, None]:
    """Yield a fake eval with a process of its own, which listens at its control socket.

    Args:
        data_dir: Its XDG_DATA_HOME.
        serve: Answers a request, in a thread of the test.
        by_name: Whether its command line is that of `inspect eval`; else it is `sleep`.
        run: The run that it belongs to, in its environment.
        is_bound_by_path: Whether the kernel lists the whole path of its socket, so that every
            probe of this user finds it; else only one that looks into its data folder.
        seconds: How long its process lives at most.
    """
    control = data_dir / "inspect_ai" / "control"
    control.mkdir(parents=True, exist_ok=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def listen() -> None:
        # In the child: who listens is the peer of every connection, whoever accepts it.
        before = Path.cwd()
        os.chdir(control)
        name = f"{os.getpid()}.sock"
        listener.bind(str(control / name) if is_bound_by_path else name)
        listener.listen(64)
        os.chdir(before)

    env = {"HOME": os.environ["HOME"], **({} if run is None else {"EVALROOM_RUN": run})}
    words = ["sleep", str(seconds)]
    if by_name:
        script = data_dir / "inspect"
        script.write_text(f"import time; time.sleep({seconds})")
        words = [sys.executable, "-S", str(script), "eval", "task.py"]
    process = subprocess.Popen(words, env=env, preexec_fn=listen)  # noqa: PLW1509
    fake = FakeEval(data_dir, process.pid, serve)
    fake.answer(listener)
    fake.write_record()
    try:
        yield fake
    finally:
        fake.close()
        process.kill()
        process.wait()
