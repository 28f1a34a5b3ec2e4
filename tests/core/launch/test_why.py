"""Why a run failed: errors of its samples by cause, and commands that really show them."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalSpec,
    write_eval_log,
)

from cli.commands.runs import print_run
from cli.parser.command_line import parse
from cli.parser.runs import RunCommand
from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.run import RunLog, RunState
from core.views.pages.run_page import why_command
from tests.support.launches import launching
from tests.support.runs import run as made_run
from tests.support.specs import EVALS, spec
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")

FAILS = f"""
task = "errors.py@errors"
model = "mockllm/model"
machine = "here"
on_error = "continue"
retry_attempts = 0
code = {{ directory = "{EVALS}" }}
args = {{ samples = 6, always = 3, first = 1, sleep = 0.01, fatal = true }}
"""


async def test_a_run_whose_samples_failed_says_why_and_the_advised_command_shows_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    local = MachineConfig(name=MachineName("here"), link="command", python=sys.executable)
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec(text=FAILS)))
        run = await here.over(run)
        assert run.state is RunState.ERROR
        assert run.message.startswith("3 samples errored: 2 x ValueError"), run.message
        assert "1 x ConnectionError" in run.message
        [log] = run.logs
        assert [group.count for group in log.errors] == [2, 1]

        _, *words = shlex.split(why_command(run, log))
        command = parse(words).command
        assert isinstance(command, RunCommand)
        assert await print_run(here.watched.desk, here.launches, command) == 0
        printed = capsys.readouterr().out
        assert "Traceback (most recent call last)" in printed
        assert "can never be read" in printed
        assert "lost its sandbox" in printed
        assert "\x1b" not in printed
        # The database keeps it for the next evalroom.
        await here.launches.registry.load(10)
        assert here.launches.registry.runs[run.id] == run


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_the_command_for_an_error_of_the_eval_itself_prints_it(tmp_path: Path, status: str) -> None:
    message = "the sandbox image is missing"
    error = EvalError(message=message, traceback="", traceback_ansi="")
    about = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="t", model="m/x", config=EvalConfig(),
        dataset=EvalDataset(),
    )  # fmt: skip
    where = tmp_path / "a b.eval"
    has = error if status == "error" else None
    write_eval_log(EvalLog(eval=about, status=status, error=has), str(where))  # type: ignore[arg-type]
    log = RunLog(location=str(where), status=status, cause=message if has else "")
    line = why_command(
        replace(made_run(1), command_line=f"{sys.executable} -m inspect_ai eval-set t.py"), log
    )
    if has is None:
        assert line == "", "the log of a cancelled eval holds no error to print"
        return
    ran = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    assert json.loads(ran.stdout)["error"]["message"] == message
