"""A machine with GPUs, as far as a run can tell: a stand-in for nvidia-smi, and the holder."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import lives
from tests.support.programs import program_file
from tests.support.waiting import wait_until

HOLDER = program_file("gpu_holder")
RUN = "20260101-000000-abcdefgh"
TWO = "0, GPU-aa, Disabled\n1, GPU-bb, Disabled\n"
IN_THE_BACKGROUND = """\
import os, subprocess, sys
eval_ = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
print(eval_.pid, os.environ["CUDA_VISIBLE_DEVICES"], os.environ["EVALROOM_RUN"], flush=True)
eval_.returncode = 0
"""
"""What does to its eval what `inspect ... --detach` does: every descriptor of it is closed."""

_NVIDIA_SMI = """\
#!/bin/sh
case "$1" in
--query-gpu=*) exec awk -F ', ' -v asked="${1#*=}" '
    BEGIN { count = split(asked, fields, ","); known["name"] = "NVIDIA H100 80GB HBM3" }
    {
        known["index"] = $1; known["uuid"] = $2; known["mig.mode.current"] = $3
        known["memory.used"] = $4 + 0; known["utilization.gpu"] = $5 + 0
        known["memory.total"] = 81559
        if ($6) known["name"] = $6
        for (i = 1; i <= count; i++)
            printf "%s%s", (fields[i] in known) ? known[fields[i]] : "0", i < count ? ", " : "\\n"
    }' FOLDER/gpus.csv ;;
--query-compute-apps=*) cat FOLDER/apps.csv ;;
-q) cat FOLDER/report ;;
esac
cat FOLDER/note
exit "$(cat FOLDER/status)"
"""


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs in a folder, as nvidia-smi tells them there.

    `gpus.csv` has a row for each (index, UUID, MIG mode; also MiB in use, percent of use, name),
    `apps.csv` one for each process, `report` what `nvidia-smi -q -d PIDS` prints.
    """

    folder: Path

    @property
    def locks(self) -> Path:
        """Where they are reserved."""
        return self.folder / "locks"

    @property
    def path(self) -> str:
        """The PATH that finds nvidia-smi."""
        return f"{self.folder}:{os.environ['PATH']}"

    def are(
        self, rows: str, apps: str = "", note: str = "", status: int = 0, report: str = ""
    ) -> "Gpus":
        """Say which there are, the processes on them, and how nvidia-smi ends; return these."""
        tool = self.folder / "nvidia-smi"
        if not tool.exists():
            tool.write_text(_NVIDIA_SMI.replace("FOLDER", str(self.folder)))
            tool.chmod(0o755)
        words = {"gpus.csv": rows, "apps.csv": apps, "note": note, "status": f"{status}\n"}
        words["report"] = report
        for name, text in words.items():  # a program that asks meanwhile reads whole files
            part = self.folder / f"{name}.part"
            part.write_text(text)
            part.replace(self.folder / name)
        return self

    def words(
        self,
        count: int,
        *,
        run: str = RUN,
        way: str = "keep",
        command: Sequence[str] = (sys.executable, "-c", IN_THE_BACKGROUND),
        python: str = sys.executable,
        holder: Path = HOLDER,
    ) -> list[str]:
        """Return what starts a command on so many of them."""
        return [python, "-I", str(holder), str(count), str(self.locks), way, run, *command]

    def start(self, words: Sequence[str], **how: Any) -> subprocess.Popen[str]:
        """Start such words, as a script in a folder of a run would."""
        env = {**os.environ, "PATH": self.path}
        return subprocess.Popen(
            words, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **how,
        )  # fmt: skip

    def ran(self, count: int, **how: Any) -> "Ran":
        """Start a command on so many of them and wait until its start is over."""
        return self.end_of(self.start(self.words(count, **how)))

    @staticmethod
    def end_of(child: subprocess.Popen[str]) -> "Ran":
        """Return the result of a start."""
        out, err = child.communicate(timeout=120)
        lines = out.split()
        pid = int(lines[0]) if lines else None
        return Ran(status=child.returncode, pid=pid, given=lines[1] if lines else "", err=err)

    def is_unlocked(self, uuid: str) -> bool:
        """Whether nobody holds the lock of a GPU now."""
        with (self.locks / f"{uuid}.lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def held_by(self, uuid: str) -> Mapping[str, Any]:
        """What a reservation says of itself; nothing where it is empty."""
        text = (self.locks / f"{uuid}.lock").read_text()
        holder: Mapping[str, Any] = json.loads(text) if text else {}
        return holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a start: the eval's pid, the GPUs that it got, errors."""

    status: int
    pid: int | None
    given: str
    err: str

    def end(self) -> None:
        """Kill the eval."""
        if self.pid is not None:
            end(self.pid)

    def wait_gone(self) -> None:
        """Wait until the eval, which ran, has ended, also where nobody reaps it."""
        pid = self.pid
        assert pid is not None
        wait_until(lambda: not lives(pid), f"the eval {pid} is gone")


def end(pid: int) -> None:
    """Kill a process; one that is gone does no harm."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
