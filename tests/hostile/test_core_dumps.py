"""Programs that hold secrets leave no core dump."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import lives
from tests.support.tree import ROOT
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("module", "functions", "is_limited"),
    [
        ("cli.core_dumps", ["forbid_core_dumps"], True),
        ("storage.keyring_child", ["forbid_core_dumps"], True),
        ("ssh.shipped.common.core_dumps", ["limit_core_dumps", "be_undumpable"], True),
        ("ssh.shipped.common.core_dumps", ["be_undumpable"], False),
    ],
)
def test_a_crash_leaves_no_dump(
    module: str, functions: list[str], is_limited: bool, tmp_path: Path
) -> None:
    calls = "; ".join(f"m.{each}()" for each in functions)
    code = f"import importlib; m = importlib.import_module({module!r}); {calls}"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{code}; print('ready', flush=True); input()"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    limits = Path(f"/proc/{child.pid}/limits").read_text()
    [core] = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert (core.split()[4] == "0") or not is_limited
    assert Path(f"/proc/{child.pid}/mem").stat().st_uid == 0  # also where another account runs it
    child.send_signal(signal.SIGABRT)
    wait_until(lambda: not lives(child.pid) or child.poll() is not None, "it is gone")
    child.communicate()
    assert not os.WCOREDUMP(max(child.returncode, 0))
    assert list(tmp_path.iterdir()) == []


def test_every_program_that_handles_secrets_forbids_them() -> None:
    """Each entry calls it first."""
    for path, call in (
        ("cli/library_output.py", "forbid_core_dumps()"),
        ("storage/keyring_child.py", "forbid_core_dumps()"),
        ("ssh/shipped/fetch/main.py", "be_undumpable()"),
        ("ssh/shipped/launcher/main.py", "be_undumpable()"),
        ("ssh/shipped/probe/main.py", "limit_core_dumps()"),
        ("ssh/shipped/survey/main.py", "limit_core_dumps()"),
        ("core/launch/plan/start_script.py", "ulimit -S -c 0"),
    ):
        assert call in (ROOT / path).read_text(), path
