"""One real sshd for the tests that launch, and folders with short paths."""

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
