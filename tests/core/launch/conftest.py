"""One real sshd for the tests that launch, and folders with short paths."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.evals import short_folder
from tests.support.sshd import Sshd, running


@pytest.fixture(scope="session")
def sshd() -> Iterator[Sshd]:
    with running() as server:
        yield server


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as where:
        yield where


@pytest.fixture
def tmux_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own for tmux's servers; ours ends with the test."""
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    yield
    subprocess.run(["tmux", "-L", "evalroom", "kill-server"], check=False)
