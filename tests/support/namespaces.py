"""Processes in namespaces of their own, as in a container, without a container engine."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.processes import all_pids, is_below
from tests.support.waiting import wait_until

_SERVE = """
import json, os, socket, sys, time
pid, control, signals = int(sys.argv[2]), sys.argv[3], sys.argv[4]
if pid:
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(pid - 1))
if os.fork():
    os.wait()
    sys.exit()
path = f"{control}/{os.getpid()}.sock"
listener = socket.socket(socket.AF_UNIX)
os.chdir(control)
listener.bind(f"{os.getpid()}.sock")
listener.listen(8)
record = dict(pid=os.getpid(), socket_path=path, started_at=time.time(), run_id="inside",
              api_version=8)
with open(f"{control}/.part", "w") as file:
    json.dump(record, file)
os.rename(f"{control}/.part", f"{control}/{os.getpid()}.json")
while True:
    connection, _ = listener.accept()
    asked = connection.recv(65536)
    if asked:
        with open(signals, "ab") as file:
            file.write(asked)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n[]")
    connection.close()
"""


@dataclass
class ContainedEval:
    """An eval in namespaces of its own, with its record in a data folder that it shares with us.

    Attributes:
        inner_pid: The pid that it has there, and that its record names.
        record: Its discovery record.
        asked_file: What it was asked.
    """

    inner_pid: int
    record: Path
    asked_file: Path
    outer: "subprocess.Popen[bytes]" = field(repr=False)

    @property
    def pid(self) -> int:
        """The pid that it has here."""
        return wait_until(self._outer_pid, "the contained eval is seen here")

    @property
    def asked(self) -> bytes:
        """What it was asked so far."""
        return self.asked_file.read_bytes() if self.asked_file.exists() else b""

    def _outer_pid(self) -> int | None:
        for pid in all_pids():
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            [pids] = [x.split()[1:] for x in status.splitlines() if x.startswith("NSpid:")] or [[]]
            if len(pids) > 1 and int(pids[-1]) == self.inner_pid and is_below(pid, self.outer.pid):
                return pid
        return None


@contextmanager
def contained_eval(
    data_dir: Path, pid: int = 0, run: str = "", verb: str = "listen"
) -> Generator[ContainedEval, None, None]:
    """Yield an eval that runs as `pid` (0: any) in pid and mount namespaces of its own.

    `run` is the run that it claims to belong to, by its environment; `verb` the first word after
    `inspect` in its command line.
    """
    control = data_dir / "inspect_ai" / "control"
    control.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = set(control.glob("*.json"))
    asked = data_dir / "asked"
    script = data_dir / "inspect"
    script.write_text(_SERVE)
    own = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    outer = subprocess.Popen(
        ["unshare", *own, "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, "-S",
         str(script), verb, str(pid), str(control), str(asked)],
        env={**os.environ, "EVALROOM_RUN": run},
    )  # fmt: skip
    try:
        record = wait_until(
            lambda: next(iter(set(control.glob("*.json")) - before), None), "it has a record"
        )
        yield ContainedEval(int(record.stem), record, asked, outer)
    finally:
        outer.kill()
        outer.wait()
