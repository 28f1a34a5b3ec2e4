"""A run as lines for people."""

from core.model.run import RunLog, RunState
from tests.support.runs import run
from tui.commands.run_rows import run_lines, why_lines

LOG = RunLog(location="/logs/a b.eval", status="error", task="mine", model="mockllm/model")


def test_a_failed_run_says_which_command_tells_why_by_the_inspect_that_ran_it() -> None:
    failed = run(
        1, RunState.FAILED, logs=(LOG,), said="its log says error",
        command_line="/venv/bin/python -m inspect_ai eval-set mine.py@mine --detach",
    )  # fmt: skip
    told = "\n".join(run_lines(failed))
    assert "/venv/bin/python -m inspect_ai log dump --header-only '/logs/a b.eval'" in told
    assert "None" not in told


def test_what_was_printed_is_pointed_at_only_where_something_was_started() -> None:
    started = run(2, RunState.FAILED, logs=(), started_at=1.0)
    assert f"evalroom output {started.id}" in "\n".join(why_lines(started))
    assert list(why_lines(run(3, RunState.FAILED, logs=(), started_at=None))) == []
    assert list(why_lines(run(4, RunState.DONE, logs=()))) == []
