"""The command that resumes a parked run, built from its process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.guide.resume_command import ResumeCommand, resume_command
from core.model.process import Process, ProcessState
from core.model.task import Task, TaskRow, TaskState
from tests.support.fleets import H1, NOW, process_key, task_key

PYTHON = "/venv/bin/python"
SET = ("python", "-m", "inspect_ai", "eval-set", "ctf.py", "--log-dir", "logs/a b", "--json")
EVAL = ("/venv/bin/python3.11", "/venv/bin/inspect", "eval", "ctf.py", "--ctl-server", "keep")


def process(*argv: str, **more: Any) -> Process:
    given: dict[str, Any] = {"cwd": "/home/op/my runs", "python": PYTHON, "data_dir": "/data"}
    return Process(
        key=process_key(H1, 100), state=ProcessState.LIVE, since=NOW, argv=argv, **(given | more)
    )


def task(log: str = "/logs/one.eval", status: str = "running") -> Task:
    row = TaskRow(task_id="t1", eval_id="e1", log_location=log, status=status)
    return Task(
        key=task_key("t1", H1, 100), row=row, state=TaskState.RUNNING, as_of=NOW, heard_at=NOW,
        seen_at=NOW,
    )  # fmt: skip


def built(*argv: str, tasks: tuple[Task, ...] = (task(),), **more: Any) -> ResumeCommand:
    return resume_command(process(*argv, **more), tasks)


@pytest.mark.parametrize("extra", [(), ("--no-detach",), ("--detach", "--no-detach")])
def test_an_eval_set_is_started_again_as_it_was_and_detached(extra: tuple[str, ...]) -> None:
    assert built(*SET, *extra).command == (
        "cd '/home/op/my runs' && env XDG_DATA_HOME=/data /venv/bin/python -m inspect_ai"
        " eval-set --detach ctf.py --log-dir 'logs/a b'"
    )


def test_a_detached_eval_set_runs_inspects_own_module_and_is_resumed_too() -> None:
    argv = (
        PYTHON,
        "-m",
        "inspect_ai._cli.main",
        "eval-set",
        "/e/mine.py@hello",
        "--log-dir",
        "logs",
    )
    assert built(*argv, "--json", "--no-detach").command == (
        "cd '/home/op/my runs' && env XDG_DATA_HOME=/data /venv/bin/python -m inspect_ai._cli.main"
        " eval-set --detach /e/mine.py@hello --log-dir logs"
    )


def test_an_eval_set_without_a_log_folder_gets_the_one_it_writes_to() -> None:
    argv = ("inspect", "eval-set", "ctf.py")
    assert built(*argv).command.endswith("inspect_ai eval-set --detach --log-dir /logs ctf.py")
    assert "log folder of the run is unknown" in built(*argv, tasks=()).why_not


def test_the_logs_of_a_plain_evals_running_tasks_are_retried() -> None:
    tasks = (task("file:///logs/a%20b.eval"), task("/logs/done.eval", "completed"))
    assert built(*EVAL, tasks=tasks).command == (
        "cd '/home/op/my runs' && env XDG_DATA_HOME=/data /venv/bin/python /venv/bin/inspect"
        " eval-retry --detach --log-dir /logs --ctl-server=keep '/logs/a b.eval'"
    )


def test_variables_are_named_without_those_in_the_command() -> None:
    found = built(*SET, variables=("HF_TOKEN", "XDG_DATA_HOME"))
    assert found.variables == ("HF_TOKEN",)
    assert found.notes == (
        "Before you run the command, set these variables as they were at the start: HF_TOKEN",
    )
    assert "HF_TOKEN" not in found.command


@pytest.mark.parametrize(
    ("argv", "more", "why"),
    [
        ((), {}, "can't be read"),
        ((*SET, "..."), {}, "too long"),
        ((*SET, "-M", "base_url=***"), {}, "withheld"),
        ((*SET, "--api-key", "***"), {}, "withheld values (--api-key)"),
        ((*SET, "\x1b[2J"), {}, "can't be shown"),
        ((*SET, "\ufffd"), {}, "can't be shown"),
        (SET, {"cwd": None}, "working folder"),
        (("flow", "run", "x.py"), {}, "not an inspect eval"),
        (("inspect", "score", "x.eval"), {}, "can't be resumed"),
        (("inspect", "eval-retry", "a.eval", "b.eval"), {}, "several logs"),
    ],
)
def test_an_unknown_command_is_not_guessed(
    argv: tuple[str, ...], more: dict[str, Any], why: str
) -> None:
    found = built(*argv, **more)
    assert not found.command
    assert why in found.why_not


def test_tasks_that_have_not_begun_are_in_no_log_of_a_plain_eval() -> None:
    for unstarted, why in ((2, "2 tasks have not started"), (None, "can't tell whether all tasks")):
        found = resume_command(process(*EVAL), (task(),), unstarted=unstarted)
        assert not found.command
        assert why in found.why_not
    assert resume_command(process(*SET), (task(),), unstarted=None).command


def test_our_own_spec_comes_first() -> None:
    found = resume_command(process(), (), from_spec="evalroom resume run-1")
    assert found.command == "evalroom resume run-1"


@pytest.mark.parametrize("how", [{"cwd": "-"}, {"cwd": "runs"}, {}])
def test_a_line_that_a_shell_would_misread_is_not_a_command(how: dict[str, Any]) -> None:
    """`cd -` goes elsewhere, and `X=/inspect eval` runs the shell's own `eval`."""
    first = "inspect" if how else "X=/bin/inspect"
    assert "a shell would misread" in built(first, "eval-set", "ctf.py", **how).why_not


HOSTILE = (
    "$(touch owned)", "`touch owned`", "a; touch owned", "a' && touch owned '", '"', "~", "*",
    "x=y", "a b", "#", "!!", "%s", "-", "--", "&", "|", ">owned", "$HOME", "é", "",
)  # fmt: skip


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "fish"])
def test_hostile_words_reach_inspect_as_they_were_in_any_shell(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "a; touch owned $(x)"
    folder.mkdir()
    python = folder / "py thon"
    python.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        'print(json.dumps([os.getcwd(), os.environ["XDG_DATA_HOME"], sys.argv[1:]]))\n'
    )
    python.chmod(0o755)
    words = ("inspect", "eval-set", "ctf.py", "--log-dir", "l", *HOSTILE)
    found = built(*words, cwd=str(folder), python=str(python), data_dir="/d'; touch owned")
    done = subprocess.run(
        [shell, "-c", found.command], check=True, capture_output=True, cwd=tmp_path
    )
    cwd, data_dir, given = json.loads(done.stdout)
    assert (cwd, data_dir) == (str(folder), "/d'; touch owned")
    assert given == ["-m", "inspect_ai", "eval-set", "--detach", *words[2:]]
    assert not list(tmp_path.rglob("owned"))
