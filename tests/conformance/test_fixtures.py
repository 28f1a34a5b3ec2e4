"""The shared evals are as the tests that read them expect."""

import os

import pytest

from tests.support.evals import Eval
from tests.support.shared_evals import parked_group, paused_group


@parked_group
def test_the_parked_eval_is_finished_and_kept(parked_eval: Eval) -> None:
    rows = parked_eval.tasks()
    assert {row["task"] for row in rows} == {"turns", "tools", "errors", "many"}
    assert all(row["status"] == "completed" and row["keep_alive"] for row in rows)
    errors = parked_eval.task("errors")["samples"]
    assert errors["errored"] == 2


@parked_group
def test_what_shares_an_eval_runs_on_one_worker(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("loadgroup", default=False):
        assert "@parked_eval" in os.environ["PYTEST_CURRENT_TEST"]


@paused_group
def test_the_paused_eval_has_samples_done_and_samples_waiting(paused_eval: Eval) -> None:
    for row in paused_eval.tasks():
        assert row["quiesced"]
        assert row["paused"] == ["process"]
        assert row["samples"]["in_flight"] == 0
        assert row["samples"]["completed"] > 0
        assert row["samples"]["queued"] > 0
