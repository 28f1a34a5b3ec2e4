"""evalroom as a program, with a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.reached import HOMES_EVALS
from tests.support.tree import ROOT
from tests.support.waiting import EVAL_S

EVALROOM = (sys.executable, "-m", "tests.support.patient_evalroom")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The output of a run of evalroom."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output, which is JSON."""
        assert self.out, (self.status, self.err)
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Home:
    """An operator's home: config, data and state lie in it, and nothing else is seen."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The variables of a program that lives here."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("INSPECT_", "COV_", "PYTEST_", "XDG_"))
        }
        home = {"HOME": str(self.folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        return {**kept, **home}

    @property
    def config(self) -> Path:
        """Where its config is."""
        return self.folder / ".config" / "evalroom" / "config.toml"

    def configure(self, text: str) -> None:
        """Write its config."""
        self.config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config.write_text(text)
        self.config.chmod(0o600)

    def watch_here(self, data_dir: Path, name: str = "here") -> None:
        """Name this computer, and the data folder of the evals to see."""
        self.configure(machine(name, data_dir) + NO_PRESSURE)

    def run(
        self,
        *words: str,
        timeout: float = EVAL_S,
        env: Mapping[str, str] | None = None,
        typed: bytes = b"",
    ) -> Ran:
        """Run evalroom to its end, without a terminal; `typed` is its standard input."""
        done = subprocess.run(
            [*EVALROOM, *words], env={**self.env, **(env or {})}, cwd=self.folder, check=False,
            input=typed, capture_output=True, timeout=timeout,
        )  # fmt: skip
        out = done.stdout.decode("utf-8", "surrogateescape")
        return Ran(status=done.returncode, out=out, err=done.stderr.decode("utf-8", "replace"))

    def run_closed(self, *words: str, timeout: float = EVAL_S) -> Ran:
        """Run evalroom to its end with its standard input closed."""
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *EVALROOM, *words], env=self.env,
            cwd=self.folder, capture_output=True, text=True, check=False, timeout=timeout,
        )  # fmt: skip
        return Ran(status=done.returncode, out=done.stdout, err=done.stderr)

    def start(
        self,
        *words: str,
        err: int = subprocess.DEVNULL,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start evalroom, in a session of its own; its output is a pipe."""
        return subprocess.Popen(
            [*EVALROOM, *words], env={**self.env, **(env or {})}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, start_new_session=True,
        )  # fmt: skip


NO_PRESSURE = """
[judge.pressure]
memory = { suspect = 100, alarm = 100 }
disk = { suspect = 0, alarm = 0 }
full-in = { suspect = 0, alarm = 0 }
load = { suspect = 1000, alarm = 1000 }
"""
"""What the computer that runs the tests is short of is not among the findings of a test."""


def machine(name: str, data_dir: Path | str = HOMES_EVALS, command: Sequence[str] = ()) -> str:
    """Return a `[[machines]]` table of a command link; it shows the evals of one data folder."""
    lines = ["[[machines]]", f'name = "{name}"', 'link = "command"', f'data_dir = "{data_dir}"']
    lines += [f'python = "{sys.executable}"', f"command = {json.dumps(list(command))}"]
    return "\n".join(lines) + "\n"
