"""An sshd of its own for each test that breaks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sshd import Sshd, running


@pytest.fixture
def own_sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    (tmp_path / "operator").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with running() as server:
        yield server
