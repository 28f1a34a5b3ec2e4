"""An sshd of its own for each test that breaks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sshd import Sshd, running


@pytest.fixture
def own_sshd(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sshd]:
    (tmp_path / "operator").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with running(tmp_path_factory.mktemp("sshd")) as server:
        yield server
