"""A failing test is named at the end of a run, whatever its message holds and however it ends."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

FAILS = r"""
import os
import sys

def test_that_fails():
    print("printed \udcff")
    sys.stderr.write("written \udcfe\n")
    assert "\ud800" == "an" + "other"

def test_that_passes():
    assert True

def test_that_ends_its_worker():
    os._exit(3)
"""


def run(folder: Path, *words: str) -> str:
    """Run both tests as this project's pytest would; return its output."""
    (folder / "test_some.py").write_text(FAILS)
    pytest_here = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")]
    own = ["-p", "tests.support.report_texts", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    done = subprocess.run(
        [*pytest_here, *own, *words, str(folder / "test_some.py")],
        cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stdout + done.stderr


def failed(out: str) -> list[str]:
    """Return the names of failed tests in the summary of a run."""
    lines = out.partition("short test summary info")[2].splitlines()
    named = (re.match(r"FAILED \S+::(\w+)", line) for line in lines)
    return [found.group(1) for found in named if found]


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_message_with_a_lone_surrogate_ends_no_run(tmp_path: Path, workers: str) -> None:
    out = run(tmp_path, "-n", workers, "-k", "fails or passes")
    assert failed(out) == ["test_that_fails"], out
    assert r"\ud800" in out
    assert "1 failed, 1 passed" in out


def test_a_run_whose_worker_ends_names_what_failed(tmp_path: Path) -> None:
    # In the order of the file: what a worker should have run after its end, nobody runs.
    out = run(tmp_path, "-n", "1", "--max-worker-restart=0", "-p", "no:randomly")
    assert {"test_that_fails", "test_that_ends_its_worker"} <= set(failed(out)), out
