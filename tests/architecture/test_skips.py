"""A skipped test is named at the end of a run, and in CI it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tree import ROOT

SKIPPED = """
import pytest
from tests.support.tree import ROOT

def test_that_runs():
    assert True

def test_that_skips_itself():
    pytest.skip("no reason one here")

@pytest.mark.skipif(True, reason="no reason two here")
def test_that_is_marked():
    assert True

@pytest.mark.xfail(strict=True, reason="it is known")
def test_that_is_known_to_fail():
    assert False

@pytest.fixture
def lacking():
    pytest.skip("no reason three here")

def test_whose_fixture_skips(lacking):
    assert True
"""
MODULE = "import pytest\npytest.importorskip('no_such_module', reason='no reason four here')\n"
NAMES = ("test_that_skips_itself", "test_that_is_marked", "test_whose_fixture_skips")


def run(folder: Path, ci: str, workers: str) -> tuple[int, str]:
    """Run both files as this project's pytest would; return its status and its output."""
    (folder / "test_some.py").write_text(SKIPPED)
    (folder / "test_module.py").write_text(MODULE)
    words = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-n", workers]
    own = ["-p", "tests.support.skips", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    own.append("--continue-on-collection-errors")
    done = subprocess.run(
        [*words, *own, str(folder / "test_some.py"), str(folder / "test_module.py")],
        cwd=ROOT, env={**os.environ, "CI": ci}, capture_output=True, text=True, check=False,
        timeout=50,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_skipped_test_is_named_with_its_reason(tmp_path: Path, workers: str) -> None:
    status, out = run(tmp_path, "", workers)
    assert status == 0, out
    summary = out.partition("short test summary info")[2]
    lines = [line for line in summary.splitlines() if line.startswith("SKIPPED")]
    for name, number in zip(NAMES, ("one", "two", "three"), strict=True):
        assert [line for line in lines if name in line and f"no reason {number} here" in line], out
    assert [line for line in lines if "test_module" in line and "no reason four here" in line], out
    assert len(lines) == 4


@pytest.mark.parametrize("workers", ["0", "1"])
def test_in_ci_a_skip_is_a_failure(tmp_path: Path, workers: str) -> None:
    status, out = run(tmp_path, "true", workers)
    assert status != 0
    for name, number in zip(NAMES, ("one", "two", "three"), strict=True):
        assert f"{name} was skipped, and nothing may be skipped in CI: " in out
        assert f"no reason {number} here" in out
    assert "no reason four here" in out
    assert "SKIPPED" not in out
