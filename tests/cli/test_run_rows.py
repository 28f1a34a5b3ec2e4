"""A run as lines for people, and its output."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from cli.commands.runs import print_output
from cli.render.runs import example_lines, run_json, run_lines, why_lines
from core.errors import UsageWrong
from core.launch.ports import ErrorExample, OutputChunk
from core.model.log_summary import ErrorGroup
from core.model.run import Run, RunLog, RunState
from tests.support.runs import run

GROUP = ErrorGroup("ValueError: no file\x1b[2J", 3, ("q 1", 2))
LOG = RunLog(
    location="/logs/a b.eval", status="error", task="mine", model="mockllm/model", cause="it broke"
)


def test_a_failed_run_names_a_command_of_its_own_inspect_that_shows_why() -> None:
    failed = run(
        1, RunState.ERROR, logs=(LOG,), message="one of its logs has the status error",
        directory="~/.evalroom/runs/1", log_dir="logs",
        command_line="/venv/bin/python -m inspect_ai eval-set mine.py@mine --detach",
    )  # fmt: skip
    text = "\n".join(run_lines(failed))
    assert "/venv/bin/python -m inspect_ai log dump --header-only '/logs/a b.eval'" in text
    assert "None" not in text
    assert run_json(failed)["log_dir"] == "~/.evalroom/runs/1/logs"
    assert "logs      ~/.evalroom/runs/1/logs" in text


def test_the_causes_of_errors_are_printed_with_the_command_that_shows_one_of_each() -> None:
    failed = run(1, RunState.ERROR, logs=(replace(LOG, cause="", errors=(GROUP,)),))
    text = "\n".join(run_lines(failed))
    assert "3 x ValueError: no file" in text
    assert "(such as sample q 1, epoch 2)" in text
    assert f"evalroom run {failed.id} --content" in text
    assert "\x1b" not in text
    [log] = run_json(failed)["logs"]
    [group] = log["errors"]
    assert (group["count"], group["sample_id"], group["epoch"]) == (3, "q 1", 2)
    examples = [
        ErrorExample(group=GROUP, text="Traceback\x1b[2J\nValueError"),
        ErrorExample(group=GROUP, text=None, trouble="the file does not exist"),
    ]
    text = "\n".join(example_lines(examples))
    assert "        ValueError" in text
    assert "can't read it: the file does not exist" in text
    assert "\x1b" not in text


def test_the_output_is_named_only_if_the_run_started() -> None:
    started = run(2, RunState.ERROR, logs=(), started_at=1.0)
    assert f"evalroom output {started.id}" in "\n".join(why_lines(started))
    assert list(why_lines(run(3, RunState.ERROR, logs=(), started_at=None))) == []
    assert list(why_lines(run(4, RunState.SUCCESS, logs=()))) == []


class StoredRun:
    """A desk and its launches at once: one run that does not change, and its output."""

    def __init__(self, known: Run, data: bytes = b"") -> None:
        self.registry = SimpleNamespace(runs={known.id: known})
        self.data = data

    async def first_poll(self, timeout: float) -> bool:
        del timeout
        return True

    async def poll_once(self) -> None:
        """Find nothing new."""

    async def output(self, known: Run, *, start: int | None = None) -> OutputChunk:
        del known
        data = self.data[start or 0 :]
        return OutputChunk(data=data, end=len(self.data), size=len(self.data))


async def test_a_screen_is_printed_once_and_never_followed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = run(5, RunState.SUCCESS, screen=("tmux", "capture-pane"), output_file="")
    stored: Any = StoredRun(known, b"the last screen\n")
    assert await print_output(stored, stored, known.id, follow=False, timeout=1) == 0
    assert capsys.readouterr().out == "the last screen\n"
    with pytest.raises(UsageWrong) as refused:
        await print_output(stored, stored, known.id, follow=True, timeout=1)
    assert f"evalroom attach {known.id}" in refused.value.advice


async def test_a_run_without_output_says_so_beside_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = run(6, RunState.ERROR, logs=())
    stored: Any = StoredRun(known)
    assert await print_output(stored, stored, known.id, follow=False, timeout=1) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"evalroom: {known.id} printed nothing\n")
