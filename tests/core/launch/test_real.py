"""Plans carried out on a real Inspect: arguments, scores and attempts."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog

from core.launch.plan.eval_set_args import eval_set_args, worst_case
from core.launch.plan.matrix import expand
from tests.support.evals import short_folder
from tests.support.final_logs import final_log
from tests.support.processes import environ_of, lives, words_of
from tests.support.specs import EVALS, LOCAL, Home, plan, spec
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until

pytestmark = pytest.mark.xdist_group("launches")
SECRET = "sk-never-to-be-seen-again"
HOSTILE = 'it\'s "so" $(touch pwned) `id`\n-line two, ünïcode 😀 \\ \t%s *?~'


@pytest.fixture
def home() -> Iterator[Home]:
    with short_folder() as folder:
        yield Home(folder)


def _accuracy(log: EvalLog) -> float:
    assert log.status == "success", log.error
    assert log.results is not None
    return float(log.results.scores[0].metrics["accuracy"].value)


def _interrupted(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    return not lives(pid)


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_script_starts_a_run_that_scores_as_known_and_an_interrupt_ends_it(home: Home) -> None:
    asked = plan(spec("keep = true\nsecrets = ['OPENAI_API_KEY']\nenv = { PLAIN = 'p' }"))
    # Neither the login's variables nor a .env above the run's folder change a launch.
    (home.folder / ".env").write_text("INSPECT_EVAL_LIMIT=2\nXDG_DATA_HOME=/nowhere\n")
    started = home.start(
        asked,
        stdin=json.dumps({"OPENAI_API_KEY": SECRET}) + "\n",
        env={"INSPECT_EVAL_LIMIT": "1", "INSPECT_EVAL_CTL_SERVER": "false"},
    )
    assert started.returncode == 0, started.stderr
    record = json.loads(started.stdout)
    pid = record["pid"]
    try:
        folder = home.folder / asked.directory.removeprefix("~/")
        assert json.loads((folder / "launch.json").read_text()) == record
        assert record["log_dir"] == str(folder / "logs")
        assert record["control"]["socket_path"].startswith(f"{home.folder}/.local/share/")
        environ = environ_of(pid)
        assert {
            "EVALROOM_RUN": asked.run, "PLAIN": "p", "OPENAI_API_KEY": SECRET,
        }.items() <= environ.items()  # fmt: skip
        assert "INSPECT_EVAL_LIMIT" not in environ
        assert SECRET not in " ".join(words_of(pid))

        log = final_log(folder / "logs")
        assert _accuracy(log) == pytest.approx(0.7)
        assert (log.eval.task, log.eval.dataset.samples) == ("evalroom/smoke", 10)
        assert log.results is not None
        assert log.results.completed_samples == 10
        assert log.stats.model_usage["mockllm/model"].total_tokens == 160

        again = home.start(asked)
        assert (again.returncode, again.stdout) == (75, started.stdout)

        # Its parents ignored it. One that comes between a run's end and its parking is lost.
        wait_until(lambda: _interrupted(pid), "the parked run ends", every=0.5)
        own = [folder, *(each for each in folder.iterdir() if each.name != "logs")]
        assert {oct(each.stat().st_mode & 0o077) for each in own} == {"0o0"}
        assert not _holding(home.folder, SECRET)
    finally:
        _end(pid)


def _holding(folder: Path, text: str) -> list[Path]:
    return [f for f in folder.rglob("*") if f.is_file() and text.encode() in f.read_bytes()]


def test_a_script_without_its_secret_starts_nothing(home: Home) -> None:
    asked = plan(spec("secrets = ['OPENAI_API_KEY']"))
    started = home.start(asked)
    assert started.returncode != 0
    assert "no secret was given for OPENAI_API_KEY" in started.stderr
    assert not (home.folder / ".local").exists()


@pytest.mark.slow
def test_hostile_values_arrive_byte_for_byte(home: Home) -> None:
    code = home.folder / "it's $(x) ünï"
    code.mkdir()
    (code / "echo.py").write_text((EVALS / "echo.py").read_text())
    source = {
        "task": "echo.py@echo", "model": "mockllm/model", "machine": "local", "on_error": "stop",
        "code": {"directory": str(code)},
        "args": {"text": HOSTILE, "more": [HOSTILE, {"k,ey": None}, "no"], "number": 1e-5},
        "model_args": {"note": HOSTILE, "flag": True},
        "model_roles": {"grader": {"model": "mockllm/other", "system_message": HOSTILE}},
        "metadata": {"text": HOSTILE.replace(",", ""), "list": ["a,b", -1, 1e22]},
        "tags": ["-x", "it's $(x)"],
        "options": {"system_message": f"-{HOSTILE}", "stop_seqs": "-;$(x)"},
        "env": {"ECHO_TO": str(home.folder / "received"), "ECHO_ENV": f"-{HOSTILE}"},
    }  # fmt: skip
    started = home.start(plan(spec(text=json.dumps(source))))
    assert started.returncode == 0, started.stderr
    record = json.loads(started.stdout)
    log = final_log(Path(record["log_dir"]))
    assert _accuracy(log) == 1.0
    received = json.loads((home.folder / "received").read_text().splitlines()[0])
    assert received == {**source["args"], "env": f"-{HOSTILE}"}  # type: ignore[dict-item]
    assert {k: v for k, v in log.eval.task_args.items() if v is not None} == source["args"]
    assert log.eval.model_args == source["model_args"]
    metadata = dict(log.eval.metadata or {})
    assert metadata.pop("evalroom_run", None) is not None
    assert metadata == source["metadata"]
    assert set(log.eval.tags or ()) == set(source["tags"])
    assert log.plan.config.system_message == f"-{HOSTILE}"
    assert log.plan.config.stop_seqs == ["-;$(x)"]
    roles = log.eval.model_roles or {}
    assert roles["grader"].config.system_message == HOSTILE  # type: ignore[union-attr]
    assert not list(home.folder.rglob("pwned"))


_RUN_ALL = """
import json, os, sys
from inspect_ai._cli.main import inspect
for folder, words in json.load(sys.stdin):
    os.chdir(folder)
    os.environ["ECHO_TO"] = os.path.join(folder, "received")
    inspect(args=[*words, "--json"], standalone_mode=False)
"""


@pytest.mark.slow
def test_the_attempts_follow_from_on_error(home: Home) -> None:
    """Ten samples, one at a time, the first of which fails: counted is how often that one ran."""
    cases: dict[str, tuple[tuple[str, ...], int, bool, str, int]] = {
        # the choice, attempts of the first sample, whether all the others ran (once), the log's
        # status, the worst case
        "stop": (("on_error=stop",), 1, False, "error", 10),
        "continue": (("on_error=continue", "retry_attempts=2"), 3, True, "error", 30),
        "tolerate": (("on_error={ tolerate = 0.2 }", "retry_attempts=1"), 1, True, "success", 20),
        "too many": (("on_error={ tolerate = 2 }", "retry_attempts=0", "args.failing=3"),
                     1, False, "error", 10),
        "per sample": (("on_error=continue", "retry_attempts=0", "retry_on_error=2"),
                       3, True, "error", 30),
        "the default": (("on_error=continue", "limit=1"), 11, False, "error", 11),
    }  # fmt: skip
    base = """
task = "echo.py@failing"
model = "mockllm/model"
machine = "local"
on_error = "stop"
max_samples = 1
limit = 10
code = "/x"
[args]
samples = 10
failing = 1
"""
    work: list[tuple[str, list[str]]] = []
    for name, (sets, *_, worst) in cases.items():
        asked = spec("", *sets, text=base)
        assert (found := worst_case(asked)).samples is not None
        assert found.attempts * (found.samples or 0) == worst
        folder = home.folder / name.replace(" ", "-")
        folder.mkdir()
        (folder / "echo.py").write_text((EVALS / "echo.py").read_text())
        (launch,) = expand(asked, [LOCAL])
        words = ["echo.py@failing" if w == "/x/echo.py@failing" else w
                 for w in eval_set_args(launch, log_dir="logs").words]  # fmt: skip
        work.append((str(folder), words))
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL], input=json.dumps(work), text=True, capture_output=True,
        env=home.env({"XDG_DATA_HOME": str(home.folder)}), timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    seen = {}
    for name, (where, _) in zip(cases, work, strict=True):
        lines = (Path(where) / "received").read_text().split()
        others = [each for each in lines if each != "1"]
        seen[name] = (lines.count("1"), len(others) == 9, final_log(Path(where) / "logs").status)
    assert seen == {name: case[1:4] for name, case in cases.items()}


@pytest.mark.slow
def test_the_scores_of_built_in_tasks_are_known_in_advance(home: Home) -> None:
    rates = (0, 0.25, 0.333, 1)
    tasks = ROOT / "ssh" / "shipped" / "tasks"
    work: list[tuple[str, list[str]]] = []
    for rate in rates:
        folder = home.folder / f"s{rate}"
        folder.mkdir()
        (folder / "smoke.py").write_text((tasks / "smoke.py").read_text())
        words = ["eval", "smoke.py@evalroom/smoke", "--model", "mockllm/model", "-T",
                 f"pass_rate={rate}", "-T", "samples=7"]  # fmt: skip
        work.append((str(folder), words))
    sums = home.folder / "sums"
    sums.mkdir()
    (sums / "arithmetic.py").write_text((tasks / "arithmetic.py").read_text())
    work.append((str(sums), ["eval", "arithmetic.py@evalroom/arithmetic", "--model",
                             "mockllm/model"]))  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL], input=json.dumps(work), text=True, capture_output=True,
        env=home.env({"XDG_DATA_HOME": str(home.folder)}), timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    scores = [_accuracy(final_log(Path(folder) / "logs")) for folder, _ in work]
    assert scores == pytest.approx([0, 2 / 7, 2 / 7, 1, 1])


@pytest.mark.parametrize(
    ("output", "number"),
    [("57", 57), ("It is 57.", 57), ("**1,057**", 1057), ("3 + 54 = 57.0", 57), ("-5", -5),
     ("none", None)],
)  # fmt: skip
def test_an_answer_is_read_as_a_number(output: str, number: float | None) -> None:
    names: dict[str, Any] = {}
    tasks = ROOT / "ssh" / "shipped" / "tasks"
    exec((tasks / "arithmetic.py").read_text(), names)
    assert names["last_number"](output) == number
