"""An observer that knows one running eval."""

import pytest

from tests.support.observing import ROW, Observed


@pytest.fixture
def watched() -> Observed:
    """With one process and one running task, polled."""
    found = Observed()
    found.hello()
    found.processes({})
    found.steer()
    found.answer("tasks", [ROW])
    found.steer()
    return found
