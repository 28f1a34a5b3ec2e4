"""A run's own logs are found among others in the same folder, by a real Inspect."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalResults,
    EvalSpec,
    write_eval_log,
)

from ssh.shipped.common.proc import BOOT_ID, start_mark
from ssh.shipped.launcher.inspects import env_of
from ssh.shipped.launcher.log_files import log_candidates
from ssh.shipped.launcher.own_logs import LogClaims
from ssh.shipped.launcher.run_hosts import host_of
from ssh.shipped.launcher.run_logs import read_logs
from ssh.shipped.launcher.run_rows import poll_runs
from tests.support.shipped_answers import prints_answer
from tests.support.waiting import wait_until

RUN = "20260101-000000-aaaaaaaa"
OTHER = "20260101-000000-bbbbbbbb"
STARTED = 1_767_225_600.0
"""When the run was started, Unix seconds."""


@pytest.fixture
def log() -> EvalLog:
    """A log as Inspect writes it at the end of an eval."""
    created = datetime.fromtimestamp(STARTED, UTC).isoformat()
    about = EvalSpec(
        created=created, task="t", model="mockllm/model", dataset=EvalDataset(name="d", samples=1),
        config=EvalConfig(),
    )  # fmt: skip
    return EvalLog(eval=about, status="success", results=EvalResults(total_samples=1), samples=[])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a run that logs into a folder outside its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".evalroom" / "runs" / RUN
    (folder / "started").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    record(folder)
    manifest(folder)
    return tmp_path


HERE = os.uname().nodename
SPACE = f"{Path('/proc/self/ns/pid').readlink()}\n"


def record(folder: Path, *, host: str = HERE, boot: str = BOOT_ID, space: str = SPACE) -> None:
    """Record the start of a run as its script does."""
    text = f"{host}\n{STARTED:.0f}\n{boot}\n{space}machine\n"
    (folder / "started" / "host").write_text(text)


def manifest(
    folder: Path, command: str = f"inspect eval-set --metadata evalroom_run={RUN}"
) -> None:
    """Write a run's manifest."""
    words = [sys.executable, "-m", "inspect_ai"]
    about = {"run": RUN, "task": "t.py@t", "model": "mockllm/model", "inspect": words}
    (folder / "run.json").write_text(json.dumps({**about, "command_line": command}))


def put(
    log: EvalLog, where: Path, name: str, *, run: str | None = None, status: str = "success",
    eval_set: str | None = None, at: float = 10.0, task: str = "t", samples: int = 1,
) -> Path:  # fmt: skip
    """Write a log of this name; `at` is when it was begun, seconds after the run's start."""
    other = log.model_copy(deep=True)
    other.eval.metadata = None if run is None else {"evalroom_run": run}
    other.eval.eval_set_id, other.eval.task, other.eval.task_id = eval_set, task, name
    other.eval.created = datetime.fromtimestamp(STARTED + at, UTC).isoformat()
    other.status = status  # type: ignore[assignment]
    assert other.results is not None
    other.results.completed_samples = samples
    path = where / f"2026-01-01T00-00-00+00-00_{name}.eval"
    write_eval_log(other, str(path))
    return path


def report(home: Path, log_dir: str | None = None) -> dict[str, Any]:
    """The report of the run's logs."""
    folder = home / ".evalroom" / "runs" / RUN
    asked = {"run": RUN, "directory": str(folder), "log_dir": log_dir or str(home / "shared")}
    found: list[dict[str, Any]] = read_logs({"runs": [asked], "secrets": {}})["reports"]
    return found[0]


def names(found: dict[str, Any]) -> list[str]:
    """The names of the logs in a report."""
    return [row["log"].rpartition("_")[2].removesuffix(".eval") for row in found["logs"]]


def test_a_run_is_known_by_its_own_log_among_those_of_others(home: Path, log: EvalLog) -> None:
    shared = home / "shared"
    put(log, shared, "own", run=RUN, eval_set="s", samples=7)
    put(log, shared, "error", status="error")
    put(log, shared, "started", status="started", eval_set="s")
    put(log, shared, "of-another-run", run=OTHER, eval_set="s", at=11)
    for number in range(25):
        put(log, shared, f"newer{number}", eval_set="x", at=100 + number, samples=3)
    found = report(home)
    assert names(found) == ["own"]
    assert found["logs"][0]["header"]["results"]["completed_samples"] == 7
    assert found["others"] == 28
    assert "error" not in found


def row(
    name: str, *, run: str | None = None, eval_set: str | None = None, at: float = 10.0,
    task: str = "t", folder: str = "/shared",
) -> dict[str, Any]:  # fmt: skip
    """The answer of the log script for a log; `at` is when it was begun, seconds after the run."""
    about = {"run": run, "eval_set_id": eval_set, "task": task, "model": "mockllm/model",
             "created": datetime.fromtimestamp(STARTED + at, UTC).isoformat()}  # fmt: skip
    return {"log": f"{folder}/x_{name}.eval", "header": {"status": "success", "eval": about}}


def own(home: Path, *rows: dict[str, Any], log_dir: str = "/shared") -> list[str]:
    """The names of those of these logs that are the run's own."""
    folder = home / ".evalroom" / "runs" / RUN
    about = json.loads((folder / "run.json").read_text())
    found, others = LogClaims(str(folder), about, log_dir).own(list(rows))
    assert others == len(rows) - len(found)
    return names({"logs": found})


def test_an_eval_set_that_goes_on_has_the_logs_that_it_found(home: Path) -> None:
    rows = (
        row("own", run=RUN, eval_set="s"),
        row("before", run=OTHER, eval_set="s", at=-100),
        row("older-evalroom", eval_set="s", at=-100),
        row("other-set", run=OTHER, eval_set="x", at=-100),
        row("other-task", run=OTHER, eval_set="s", at=-100, task="u"),
        row("by-hand", eval_set="s", at=5),
        {"log": "/shared/x_unread.eval", "error": "bad"},
        {"log": "/shared/x_junk.eval", "header": {"eval": 7}},
    )
    assert own(home, *rows) == ["own", "before", "older-evalroom"]


def test_the_record_of_its_end_says_which_logs_are_a_runs_own(home: Path) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    output = home / "eval.out"
    launched = {"event": "launch", "pid": 4, "output_file": str(output)}
    (folder / "launch.json").write_text(json.dumps(launched))
    listed = [{"location": "file:///shared/x_skipped.eval"}, {"location": 3}, 7]
    ended = {"event": "done", "logs": listed}
    output.write_text(f"noise {json.dumps(ended)}\nmore noise")
    rows = (row("skipped", run=OTHER, at=-100), row("other", run=OTHER, at=-100))
    assert own(home, *rows) == ["skipped"]


def test_a_run_of_an_older_evalroom_has_the_logs_of_its_task(home: Path) -> None:
    manifest(home / ".evalroom" / "runs" / RUN, "inspect eval-set t.py@t")
    assert own(home, row("its"), row("not-its", task="u")) == ["its"]


def test_all_logs_in_its_own_folder_are_a_runs_own(home: Path) -> None:
    assert own(home, row("a"), {"log": "x_b.eval", "error": "bad"}, log_dir="logs") == ["a", "b"]


def test_a_log_that_nobody_can_read_proves_nothing(home: Path) -> None:
    (home / "shared" / "2026-01-01T00-00-00+00-00_b.eval").write_bytes(b"half a zip")
    found = report(home)
    assert found["logs"] == []
    assert found["error"]


def test_another_inspect_reads_what_the_runs_own_no_longer_can(home: Path, log: EvalLog) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    about = json.loads((folder / "run.json").read_text())
    about["inspect"] = ["/nowhere/venv/bin/python", "-m", "inspect_ai"]
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "logs").mkdir()
    put(log, folder / "logs", "own")
    assert names(report(home, "logs")) == ["own"]


def test_the_environment_of_a_run_has_its_code_and_its_variables(home: Path) -> None:
    folder = str(home / ".evalroom" / "runs" / RUN)
    about = {"spec": {"code": {"repository": "x"}, "env": {"PYTHONPATH": "/more", "A": "b"}}}
    env = env_of(folder, {**about, "data_dir": "~/data"})
    assert env["PYTHONPATH"] == f"{folder}/code:/more"
    assert (env["A"], env["XDG_DATA_HOME"]) == ("b", str(home / "data"))
    assert env_of(folder, {"spec": {"code": {"directory": "/c"}}})["PYTHONPATH"] == "/c"


def test_logs_that_others_wrote_before_and_after_do_not_crowd_out_a_runs_own(home: Path) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    start = (folder / "started").stat().st_mtime
    paths = [home / "shared" / f"2026-01-01T00-00-{number:03}.eval" for number in range(300)]
    for number, path in enumerate(paths):
        path.write_bytes(b"")
        os.utime(path, (start + number - 150, start + number - 150))
    found = log_candidates(str(home / "shared"), str(folder), {str(paths[-1])})
    assert len(found) == 200
    assert found[0] == str(paths[-1]), "the run's end named it"
    assert str(paths[150]) in found, "the first after the start"


def row_of(home: Path) -> dict[str, Any]:
    """The row of the run as it is polled."""
    folder = home / ".evalroom" / "runs" / RUN
    asked = {"runs": [{"run": RUN, "directory": str(folder)}]}
    [found] = cast("dict[str, list[dict[str, Any]]]", poll_runs(asked))["runs"]
    return found


@pytest.mark.parametrize(
    ("host", "boot", "space", "is_here"),
    [
        (HERE, BOOT_ID, SPACE, True),
        (HERE, BOOT_ID, "", True),  # no readlink
        (HERE, BOOT_ID, "pid:[1]\n", False),  # a container that bears the host's name
        ("its-name-before", BOOT_ID, SPACE, True),  # the same kernel, whatever it is called now
        ("node2", BOOT_ID, "", False),
        ("node2", "another-boot", SPACE, False),
        (HERE, "another-boot", SPACE, False),  # a host of the same name
        ("", "", "", None),
    ],
)
def test_a_run_names_its_host(
    home: Path, host: str, boot: str, space: str, is_here: bool | None
) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    record(folder, host=host, boot=boot, space=space)
    assert host_of(str(folder)) == (host, is_here)
    assert (row_of(home)["host"], row_of(home)["is_here"]) == (host, is_here)


def test_a_restarted_machine_knows_its_runs_by_its_id(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    (home / "machine-id").write_text("machine\n")
    monkeypatch.setattr("ssh.shipped.launcher.run_hosts.MACHINE_ID_FILE", str(home / "machine-id"))
    record(folder, boot="the-boot-before")
    assert host_of(str(folder)) == (os.uname().nodename, True)


def test_a_process_is_known_by_its_start_though_its_environment_is_empty(home: Path) -> None:
    started = home / ".evalroom" / "runs" / RUN / "started"
    with subprocess.Popen(["sleep", "3600"], env={}) as child:
        try:
            stat = Path(f"/proc/{child.pid}/stat").read_text()
            (started / "stat").write_text(stat)
            row = row_of(home)
            assert (row["alive"], row["pid"]) == (True, child.pid)
            assert row["start"] == start_mark(child.pid)
            fields = stat.rpartition(")")[2].split()
            fields[19] = str(int(fields[19]) - 1)  # a process that had this pid before
            (started / "stat").write_text(f"{child.pid} (sleep) {' '.join(fields)}")
            assert row_of(home)["alive"] is False
        finally:
            child.kill()
    (started / "stat").write_text(stat)
    assert row_of(home)["alive"] is False


def test_the_process_at_the_other_end_of_the_control_socket_is_the_runs(home: Path) -> None:
    folder = home / ".evalroom" / "runs" / RUN
    path = home / "s.sock"
    launched = {"event": "launch", "pid": 4, "control": {"socket_path": str(path)}}
    (folder / "launch.json").write_text(json.dumps(launched))
    assert row_of(home)["alive"] is False
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        row = row_of(home)
    assert (row["alive"], row["pid"]) == (True, os.getpid())


def test_a_child_that_outlives_its_eval_is_left_over_and_not_the_eval(home: Path) -> None:
    env = {"EVALROOM_RUN": RUN, "PATH": os.environ["PATH"]}
    with subprocess.Popen(["sleep", "3600"], env=env) as child:
        try:
            wait_until(lambda: row_of(home)["left"], "the child is left over")
            row = row_of(home)
            assert (row["alive"], row["left"]) == (False, [[child.pid, "sleep 3600"]])
        finally:
            child.kill()
    assert row_of(home)["left"] == []


@pytest.mark.parametrize("starter", ["detach", "terminal", "uv"])
def test_a_child_that_an_eval_forked_is_not_the_eval(home: Path, starter: str) -> None:
    """Its command line is that of the eval; the record of the start tells them apart."""
    folder = home / ".evalroom" / "runs" / RUN
    with subprocess.Popen(["sleep", "3600"]) as ended:
        stat = Path(f"/proc/{ended.pid}/stat").read_text()
        ended.kill()
    (folder / "started" / "stat").write_text(stat)
    about = json.loads((folder / "run.json").read_text())
    if starter == "detach":
        record = {"event": "launch", "pid": ended.pid}
        (folder / "launch.json").write_text(json.dumps(record))
    elif starter == "uv":
        (folder / "run.json").write_text(json.dumps({**about, "inspect": ["uv", "inspect"]}))
    env = {"EVALROOM_RUN": RUN, "PATH": os.environ["PATH"]}
    words = [sys.executable, "-c", "import time; time.sleep(3600)", "eval-set"]
    with subprocess.Popen(words, env=env) as child:
        try:
            if starter == "uv":  # the eval lives, though the uv that started it does not
                wait_until(lambda: row_of(home)["pid"] == child.pid, "the eval is seen")
            else:
                wait_until(lambda: row_of(home)["left"], "the child is left over")
                assert row_of(home)["alive"] is False
        finally:
            child.kill()


def test_a_process_that_starts_an_eval_is_not_left_over(home: Path) -> None:
    env = {"EVALROOM_RUN": RUN, "PATH": os.environ["PATH"]}
    words = [sys.executable, "-c", "import time; time.sleep(3600)", "eval-set", "--detach"]
    with subprocess.Popen(words, env=env) as child:
        try:
            wait_until(lambda: row_of(home)["alive"], "the start is seen")
            assert (row_of(home)["pid"], row_of(home)["left"]) == (None, [])
        finally:
            child.kill()


def test_logs_are_read_with_the_runs_environment_and_secrets(home: Path) -> None:
    """Its interpreter stands in: it answers only where it finds what the run had."""
    folder = home / ".evalroom" / "runs" / RUN
    python = home / "python3"
    told = {**row("own", run=RUN), "log": str(home / "shared" / "x_own.eval")}
    python.write_text(
        f'#!/bin/sh\n[ "$TOKEN,$PLAIN,$INSPECT_X" = hidden,plain, ] && {prints_answer(told)}\n'
        'case "$*" in *hidden*) exit 9;; esac\n'
    )
    python.chmod(0o755)
    about = json.loads((folder / "run.json").read_text())
    about.update(inspect=[str(python), "-m", "inspect_ai"], spec={"env": {"PLAIN": "plain"}})
    (folder / "run.json").write_text(json.dumps(about))
    (home / "shared" / "x_own.eval").write_bytes(b"")
    asked = {"run": RUN, "directory": str(folder), "log_dir": str(home / "shared")}
    for secrets, found in (({"TOKEN": "hidden"}, ["own"]), ({}, [])):
        [report] = read_logs({"runs": [asked], "secrets": secrets})["reports"]
        assert names(report) == found
