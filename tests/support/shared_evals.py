"""Real evals that several tests share: each is started once, and only read."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.evals import Eval, running_evals

parked_group = pytest.mark.xdist_group("parked_eval")
"""Marks tests that share `parked_eval`, so that it is started once."""
hostile_group = pytest.mark.xdist_group("hostile_eval")
"""Marks tests that share `hostile_eval`."""
paused_group = pytest.mark.xdist_group("paused_eval")
"""Marks tests that share `paused_eval`."""


@pytest.fixture(scope="session")
def parked_eval() -> Iterator[Eval]:
    """One process, finished and kept: tasks `turns`, `tools`, `errors` and `many` (130 samples).

    Read-only: do not steer it. Mark the test with `parked_group`.
    """
    with running_evals() as starter:
        one = starter.start(
            "turns", "tools", "errors", "many", keep=True,
            options=("--max-tasks=4", "--retry-on-error=1", "--no-fail-on-error"),
        ).wait_ready()  # fmt: skip
        one.wait_finished(4)
        yield one


@pytest.fixture(scope="session")
def hostile_eval() -> Iterator[Eval]:
    """One process, finished and kept: task `hostile`. Mark the test with `hostile_group`."""
    with running_evals() as starter:
        one = starter.start("hostile", keep=True).wait_ready()
        one.wait_finished()
        yield one


@pytest.fixture(scope="session")
def paused_eval() -> Iterator[Eval]:
    """One process with tasks `turns` and `tools`, paused in their middle, nothing in flight.

    Read-only: do not steer it. Mark the test with `paused_group`.
    """
    with running_evals() as starter:
        gate = starter.folder / "gate"
        one = starter.start(
            "turns", "tools", args={"samples": 6, "gate": gate, "free": 2},
            options=("--max-tasks=2", "--max-samples=2", "--epochs=2", "--no-fail-on-error"),
        ).wait_ready()  # fmt: skip
        one.wait_rows(lambda rows: len(rows) == 2 and all(_has_some(row) for row in rows))
        one.pause()
        gate.touch()  # those in flight go on to their end
        one.wait_quiesced(2)
        yield one


def _has_some(row: dict[str, Any]) -> bool:
    return bool(1 <= row["samples"]["completed"] < row["samples"]["total"])
