"""GPUs that a holder reserves, and a login that a survey looks at."""

from collections.abc import Iterator

import pytest

from tests.support.evals import short_folder
from tests.support.gpus import TWO, Gpus, Ran
from tests.support.standins import Login


@pytest.fixture
def gpus() -> Iterator[Gpus]:
    with short_folder() as folder:
        yield Gpus(folder).are(TWO)


@pytest.fixture
def ended() -> Iterator[list[Ran]]:
    """Processes that are ended after the test."""
    rans: list[Ran] = []
    yield rans
    for each in rans:
        each.end()


@pytest.fixture
def login() -> Iterator[Login]:
    with short_folder() as folder:
        yield Login(folder)
