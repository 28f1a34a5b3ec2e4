"""`inspect ctl ... --json` for tests, quick enough to be asked a hundred times."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.evals import Eval, environment
from tests.support.waiting import WAIT_S


@dataclass(frozen=True, slots=True)
class Said:
    """The output of a command line."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output."""
        assert self.out, (self.status, self.err[-1000:])
        return json.loads(self.out)


class Ctl:
    """Inspect's own command line, kept warm (tests/support/ctl_server.py)."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("ctl_server.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(Path("/nonexistent"), {}),
        )  # fmt: skip
        self._remembered: dict[tuple[int, tuple[str, ...]], Any] = {}
        assert self._read() == "ready\n"

    def __call__(self, one: Eval, *words: str) -> Any:
        """Return what `inspect ctl WORDS --json` says in the data folder of an eval."""
        printed = self.run(one, *words)
        assert printed.status == 0, (words, printed)
        return printed.json

    def once(self, one: Eval, *words: str) -> Any:
        """As a call, for an eval where nothing moves: its answer is remembered."""
        key = (one.pid, words)
        if key not in self._remembered:
            self._remembered[key] = self(one, *words)
        return self._remembered[key]

    def run(self, one: Eval, *words: str) -> Said:
        """Run it; return its whole output."""
        asked = {
            "argv": ["ctl", *words, "--json"],
            "env": {"XDG_DATA_HOME": str(one.data_dir)},
            "cwd": str(one.folder),
        }
        assert self._popen.stdin is not None
        self._popen.stdin.write(json.dumps(asked) + "\n")
        self._popen.stdin.flush()
        result = json.loads(self._read())
        return Said(result["status"], result["out"], result["err"])

    def _read(self) -> str:
        assert self._popen.stdout is not None
        return self._popen.stdout.readline()

    def end(self) -> None:
        """End it."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._popen.stdin.close()
        self._popen.wait(WAIT_S)
        self._popen.stdout.close()


@pytest.fixture(scope="session")
def ctl() -> Iterator[Ctl]:
    """Inspect's own command line."""
    warm = Ctl()
    yield warm
    warm.end()
