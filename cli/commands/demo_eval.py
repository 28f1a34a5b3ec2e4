"""Starts, stops and removes the eval-set of the demo.

All its files (logs, discovery files, traces) are in one temporary folder, apart from
the operator's evals. The folder is deleted when the demo ends.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path

from core.config.model import MachineConfig
from core.errors import EvalroomError, StorageError
from core.ids import MachineName
from core.text import shown

TASKS = ("evalroom/sums", "evalroom/archive")
"""The tasks of the eval-set, as their logs name them."""

MACHINE = MachineName("local")

RUN = "demo"
"""The id of its run, in the environment of its process: the operator launched it."""

_PREFIX = "evalroom-demo-"
_GRACE_S = 10.0
_FULL_SIZE_FROM_S = 60.0


class DemoFailed(EvalroomError):
    """The demo's eval-set did not succeed."""


class Demo:
    """The running eval-set.

    Attributes:
        folder: The folder of all its files.
        seconds: About how long it takes.
    """

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds
        self._process = process

    @property
    def pid(self) -> int:
        """The pid of its process."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status; None while it runs. It does not say how the tasks ended."""
        return self._process.poll()

    def machine(self) -> MachineConfig:
        """This computer as a machine, with the demo's own data folder."""
        return demo_machine(self.folder)

    def last_errors(self) -> str:
        """Return the last lines that the eval-set wrote to standard error."""
        try:
            raw = (self.folder / "err.txt").read_bytes()[-4_000:]
        except OSError:
            return ""
        return shown(" ".join(raw.decode("utf-8", "replace").split()[-60:]), 400)

    def stop(self) -> None:
        """End it if it still runs (SIGINT first) and delete its folder. Blocks."""
        for number, wait in (
            (signal.SIGINT, _GRACE_S),
            (signal.SIGTERM, 3.0),
            (signal.SIGKILL, 3.0),
        ):
            if self._process.poll() is not None:
                break
            _signal_all(self._process.pid, number)
            try:
                self._process.wait(wait)
            except subprocess.TimeoutExpired:
                continue
        _signal_all(self._process.pid, signal.SIGKILL)  # leftover processes of its session
        shutil.rmtree(self.folder, ignore_errors=True)


def _signal_all(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def demo_machine(folder: Path) -> MachineConfig:
    """Return this computer as a machine whose evals store their data in a demo's folder."""
    return MachineConfig(
        name=MACHINE, link="command", python=sys.executable, data_dir=str(folder / "data")
    )


@asynccontextmanager
async def demo_running(seconds: float) -> AsyncGenerator[Demo, None]:
    """Run the demo's eval-set during the block; end and remove it afterwards.

    Raises:
        StorageError: It can't be started.
    """
    demo = start(seconds)
    try:
        yield demo
    finally:
        # No await: a second interrupt must not leave it running.
        demo.stop()


def start(seconds: float) -> Demo:
    """Start the eval-set in a session of its own.

    Raises:
        StorageError: It can't be started.
    """
    remove_forgotten(Path(tempfile.gettempdir()))
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        (folder / "pid").write_text(str(os.getpid()))
    except OSError as error:
        raise StorageError(
            f"can't create a temporary folder: {error.strerror}", "check that the disk has space"
        ) from error
    try:
        process = _launch(folder, seconds)
        (folder / "eval").write_text(str(process.pid))
        return Demo(folder, process, seconds)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StorageError(f"can't start the demo: {error.strerror}") from error


def remove_forgotten(place: Path) -> None:
    """Delete the folders of demos that were killed before they could clean up.

    A folder is deleted once neither its evalroom nor its eval runs.
    """
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            if folder.stat().st_uid != os.geteuid() or folder.is_symlink():
                continue
            makers = [int((folder / name).read_text()) for name in ("pid", "eval")]
        except (OSError, ValueError):
            continue
        if not any(map(_is_alive, makers)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _launch(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    source = resources.files("ssh").joinpath("shipped", "tasks", "demo.py")
    (folder / "demo.py").write_bytes(source.read_bytes())
    samples, pace = size_for(seconds)
    tasks = [f"demo.py@{name}" for name in TASKS]
    words = [sys.executable, "-m", "inspect_ai", "eval-set", *tasks, "--log-dir", "logs"]
    words += ["--json", "--max-tasks", "2", "--max-samples", "6", "--retry-on-error=1"]
    words += ["-T", f"pace={pace:.3f}", "-T", f"samples={samples}"]
    with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
        # A shell without job control starts us with SIGINT ignored, and that is inherited.
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and words
                words,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                umask=0o077,
            )
        finally:
            if ignored:
                signal.signal(signal.SIGINT, signal.SIG_IGN)


def size_for(seconds: float) -> tuple[int, float]:
    """Return a number of samples and a pace for a demo of about this many seconds."""
    if seconds >= _FULL_SIZE_FROM_S:
        return 16, (seconds - 5) / 105
    return 6, max(0.01, (seconds - 12) / 45)


def _environment(folder: Path) -> Mapping[str, str]:
    """Return the operator's environment without variables that would change the eval."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT_")}
    return {
        **kept,
        "XDG_DATA_HOME": str(folder / "data"),
        "PYTHONUNBUFFERED": "1",
        "EVALROOM_RUN": RUN,
    }
