"""Real Inspect evals for tests: started, asked over their socket, steered, and always ended.

Each lives in a folder of its own under a short path (a control socket's path must stay under
108 bytes), with its own XDG_DATA_HOME, working folder and log folder.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from core.ctl import routes
from tests.support.waiting import EVAL_S, WAIT_S, wait_until

EVALS = Path(__file__).parent.parent / "evals"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("eval", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask_socket(path: Path, method: str, target: str, timeout: float = WAIT_S) -> tuple[int, bytes]:
    """Return HTTP status and body of one request over a unix socket."""
    connection = _UnixConnection(path, timeout)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@dataclass(kw_only=True)
class Eval:
    """A started `inspect eval` or `eval-set`.

    Attributes:
        folder: Its own: `d` is the data folder, `logs` the log folder, `out`, `err` its output.
        data_dir: Its XDG_DATA_HOME; several evals may share one.
    """

    folder: Path
    data_dir: Path
    python: str
    popen: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.popen.pid

    @property
    def log_dir(self) -> Path:
        """Where its logs are."""
        return self.folder / "logs"

    @property
    def record(self) -> Path:
        """Its discovery file."""
        return self.data_dir / "inspect_ai" / "control" / f"{self.pid}.json"

    @property
    def socket(self) -> Path:
        """Its control socket."""
        return self.record.with_suffix(".sock")

    def output(self) -> str:
        """What it wrote, for a failing test."""
        return "\n".join(
            (self.folder / name).read_text(errors="replace") for name in ("out", "err")
        )

    def records(self) -> list[dict[str, Any]]:
        """Its launch and done records so far."""
        lines = (self.folder / "out").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def done(self) -> dict[str, Any] | None:
        """Its done record; None while there is none."""
        return next((record for record in self.records() if record["event"] == "done"), None)

    # -- its control channel

    def ask(self, method: str, path: str, timeout: float = WAIT_S) -> tuple[int, bytes]:
        """Return HTTP status and body of one request."""
        return ask_socket(self.socket, method, path, timeout)

    def get(self, path: str) -> Any:
        """GET `path`, which must work."""
        status, body = self.ask("GET", path)
        assert status == 200, (path, status, body[:500])
        return json.loads(body)

    def post(self, path: str) -> Any:
        """POST `path`, which must work."""
        status, body = self.ask("POST", path)
        assert status == 200, (path, status, body[:500])
        return json.loads(body)

    def tasks(self) -> list[dict[str, Any]]:
        """Its task rows."""
        rows: list[dict[str, Any]] = self.get(routes.TASKS)
        return rows

    def task(self, name: str | None = None) -> dict[str, Any]:
        """The row of a task by its name (None: the first); empty while there is none."""
        nothing: dict[str, Any] = {}
        return next((row for row in self.tasks() if name in {None, row["task"]}), nothing)

    def samples(self, task: str | None = None) -> list[dict[str, Any]]:
        """All sample rows of a task (None: the first)."""
        rows: list[dict[str, Any]] = self.get(
            routes.samples(self.task(task)["eval_id"], all_rows=True)
        )["samples"]
        return rows

    def answers(self) -> bool:
        """Whether its control channel answers."""
        try:
            return self.ask("GET", routes.TASKS, 5.0)[0] == 200
        except OSError:
            return False

    def wait_ready(self) -> Self:
        """Wait until its control channel answers."""

        def ready() -> bool:
            assert self.popen.poll() is None, self.output()
            return self.answers()

        wait_until(ready, f"eval answers: {self.folder}", EVAL_S)
        return self

    def wait_rows(
        self, wanted: Callable[[list[dict[str, Any]]], bool], seconds: float = WAIT_S
    ) -> None:
        """Wait until its task rows are as wanted."""

        rows: list[dict[str, Any]] = []

        def there() -> bool:
            assert self.popen.poll() is None, self.output()
            rows[:] = self.tasks()
            return bool(rows) and wanted(rows)

        wait_until(there, "its task rows are as wanted", seconds, seen=lambda: rows)

    def wait_finished(self, tasks: int = 1, seconds: float = WAIT_S) -> None:
        """Wait until that many tasks are listed and all of them are completed (it parks)."""
        self.wait_rows(
            lambda rows: len(rows) >= tasks and all(row["status"] == "completed" for row in rows),
            seconds,
        )

    def pause(self, *, hard: bool = False) -> None:
        """Pause the process; soft lets samples in flight finish."""
        self.post("/pause?now=true" if hard else "/pause")

    def resume(self) -> None:
        """Resume the process."""
        self.post("/resume")

    def wait_quiesced(self, tasks: int = 1, seconds: float = WAIT_S) -> None:
        """Wait until nothing is in flight in any task."""
        self.wait_rows(
            lambda rows: (
                len(rows) >= tasks
                and all(row["quiesced"] or row["status"] == "completed" for row in rows)
            ),
            seconds,
        )

    # -- its process

    def release(self, seconds: float = WAIT_S) -> int:
        """Let a parked process end; return its exit status."""
        self.post("/release")
        return self.popen.wait(seconds)

    def kill(self) -> None:
        """SIGKILL: its discovery file and its socket stay."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()

    def end(self) -> None:
        """End it, whatever it does; nothing that it writes is worth a wait."""
        if self.popen.poll() is None:
            self.kill()

    def ctl(self, *words: str) -> Any:
        """Return what a real `inspect ctl WORDS --json` says in its data folder (about 2 s)."""
        command = [self.python, "-m", "inspect_ai", "ctl", *words, "--json"]
        done = subprocess.run(
            command, env=environment(self.data_dir, {}), cwd=self.folder, check=False,
            capture_output=True, timeout=WAIT_S,
        )  # fmt: skip
        assert done.stdout, (words, done.returncode, done.stderr.decode(errors="replace")[-1000:])
        return json.loads(done.stdout)


def environment(data_dir: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program that lives in that data folder: nothing of Inspect inherited."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INSPECT_", "COV_", "PYTEST_", "XDG_"))
    }
    return {**kept, "XDG_DATA_HOME": str(data_dir), "NO_COLOR": "1", **more}


def start_eval(
    folder: Path,
    *tasks: str,
    args: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    keep: bool = False,
    eval_set: bool = False,
    data_dir: Path | None = None,
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
    log_dir: Path | None = None,
    ignores_sigint: bool = False,
    beside: int | None = None,
) -> Eval:
    """Start an eval of `tasks` (files of tests/evals, without `.py`); it is not awaited.

    Args:
        folder: Made when it is missing; keep it short.
        tasks: Names.
        args: Task arguments, given to each of the tasks.
        options: Further words of the command line.
        keep: Whether it parks after its end.
        eval_set: `eval-set` instead of `eval`.
        data_dir: An XDG_DATA_HOME to share; None: one of its own.
        python: The interpreter whose Inspect runs it.
        env: Further variables.
        log_dir: None: `logs` in its folder.
        ignores_sigint: As what a script starts in its background; else never, wherever the
            tests themselves were started.
        beside: A process in whose mount namespace it runs, such as an sshd; None: in ours.
    """
    data_dir = folder / "d" if data_dir is None else data_dir
    data_dir.mkdir(parents=True, exist_ok=True)
    # The files come along: Inspect takes no absolute path of a task, and loads .env from here up.
    shutil.copytree(EVALS, folder / "evals", ignore=shutil.ignore_patterns("__pycache__"))
    given = [word for name, value in (args or {}).items() for word in ("-T", f"{name}={value}")]
    kept = ("--ctl-server=keep",) if keep else ()
    # A parked eval would outlive a test run that is killed.
    bound = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
    place = ("nsenter", "-m", "-t", str(beside), f"--wd={folder}", "--") if beside else ()
    command = [
        *bound, *place, python, "-m", "inspect_ai", "eval-set" if eval_set else "eval",
        *(f"evals/{name}.py" for name in tasks), *given, "--log-dir",
        str(log_dir or folder / "logs"), *json_option(python), *kept, *options,
    ]  # fmt: skip
    sigint = signal.SIG_IGN if ignores_sigint else signal.default_int_handler
    with (
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
        takes_sigint(sigint),
    ):
        popen = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
            env=environment(data_dir, env or {}), start_new_session=True,
        )  # fmt: skip
    return Eval(folder=folder, data_dir=data_dir, python=python, popen=popen)


@contextmanager
def takes_sigint(handler: Any) -> Generator[None]:
    """What children that start in this block inherit for SIGINT: ignored, or its default."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def json_option(python: str) -> tuple[str, ...]:
    """What makes its output quiet: Inspect before 0.3.250 has no `--json`."""
    return ("--json",) if python == sys.executable else ("--display", "none")


@contextmanager
def short_folder() -> Generator[Path]:
    """Yield a folder with a short path; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Evals:
    """Starts evals in one short folder and ends all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Eval] = []

    def start(self, *tasks: str, **how: Any) -> Eval:
        """Start one more (see `start_eval`), in a folder of its own."""
        one = start_eval(self.folder / str(len(self.started)), *tasks, **how)
        self.started.append(one)
        return one

    def end(self) -> None:
        """End all."""
        for one in self.started:
            one.end()


@contextmanager
def running_evals() -> Generator[Evals]:
    """Yield a starter of evals; all of them are ended afterwards."""
    with short_folder() as folder:
        evals = Evals(folder)
        try:
            yield evals
        finally:
            evals.end()


@pytest.fixture
def evals() -> Iterator[Evals]:
    """A starter of evals for one test."""
    with running_evals() as starter:
        yield starter
