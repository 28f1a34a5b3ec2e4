"""One real sshd for the tests that only log in."""

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
def tmp_path() -> Iterator[Path]:
    """A folder with a short path: a control socket's must stay under 108 bytes."""
    with short_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own ssh_config, keys and agent out."""
    home = tmp_path / "operator"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
