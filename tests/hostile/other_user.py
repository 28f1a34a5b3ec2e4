"""Another account of the machine: it runs what a test gives it, and may do all that it can."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import WAIT_S

PYTHON = "/usr/bin/python3"
"""An interpreter that every account can run."""


@dataclass(frozen=True, slots=True)
class OtherUser:
    """An account that is neither root nor the one that runs the tests."""

    uid: int = 65533

    def starts(
        self, code: str, *words: str | Path, cwd: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start Python code as this account; its standard input stays open until it is closed."""
        return subprocess.Popen(
            [PYTHON, "-I", "-c", code, *map(str, words)],
            cwd=cwd or "/", env={"PATH": "/usr/bin:/bin", "HOME": "/"}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            user=self.uid, group=self.uid, extra_groups=[], umask=0o022,
        )  # fmt: skip

    def does(self, code: str, *words: str | Path, cwd: Path | None = None) -> str:
        """Run Python code as this account to its end; return its output, or its last error."""
        out, err = self.starts(code, *words, cwd=cwd).communicate(timeout=WAIT_S)
        return out.strip() or (err.strip().splitlines() or [""])[-1]


def other_user() -> OtherUser:
    """Return another account; only root can act as one."""
    if os.geteuid() != 0 or not Path(PYTHON).exists():
        pytest.skip("only root can act as another account, with a python that all can run")
    return OtherUser()
