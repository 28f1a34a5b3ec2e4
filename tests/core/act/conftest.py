"""One busy eval that tests of acting share, each of which leaves it as it was."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.evals import Eval, running_evals


@pytest.fixture(scope="session")
def _busy_eval() -> Iterator[Eval]:
    with running_evals() as evals:
        one = evals.start(
            "turns", args={"samples": 200, "turns": 400, "sleep": 1.0},
            options=("--max-samples=12", "--no-fail-on-error"), env={"EVALROOM_RUN": "run-7"},
        ).wait_ready()  # fmt: skip
        one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 9)
        os.kill(one.pid, signal.SIGSTOP)  # between tests, it takes no time from others
        yield one


@pytest.fixture
def busy_eval(_busy_eval: Eval) -> Iterator[Eval]:
    """200 samples that change all the time, none of which ends soon; no pause is left behind.

    Its process bears the run id `run-7`. Mark the test with `xdist_group("busy_eval")`.
    """
    os.kill(_busy_eval.pid, signal.SIGCONT)
    yield _busy_eval
    os.kill(_busy_eval.pid, signal.SIGCONT)
    _busy_eval.post(f"/tasks/{_busy_eval.task()['task_id']}/resume")
    _busy_eval.post("/resume")
    _busy_eval.post("/release")
    os.kill(_busy_eval.pid, signal.SIGSTOP)
