"""Limits of the place where an eval will live: checked before, and named afterwards."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.launch.preflight.limit_checks import limit_checks
from core.launch.preflight.survey_facts import LimitFacts, TmuxServerFacts, parse_survey
from core.launch.run.run_logs import after_logs
from core.model.job import Job
from core.model.machine import ToolState
from core.model.run import RunState
from tests.support.coroutines import run_async
from tests.support.evals import short_folder
from tests.support.fetching import HERE, LocalWorker
from tests.support.runs import run as run_of
from tests.support.specs import spec
from tests.support.surveys import GIB, WELL, failed, folder, found, texts
from tests.support.waiting import WAIT_S

MIB = 1024**2


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"open_files": 64}, "stop open files: a process may open 64 files (ulimit -n), and"),
        ({"open_files": 256}, "warning open files: a process may open 256 files (ulimit -n); 10"),
        ({"processes_left": 8}, "stop processes: only 8 more processes and threads may start"),
        ({"processes_left": 99}, "warning processes: only 99 more"),
        (
            {"memory": 256 * MIB},
            "stop memory limit: the control group of runs allows only",
        ),
    ],
)
def test_limits_that_do_not_suffice_are_reported(limits: Mapping[str, Any], says: str) -> None:
    facts = replace(WELL, limits=found(LimitFacts(**limits)))
    [sentence] = texts(list(limit_checks(facts, spec())))
    assert sentence.startswith(says)
    assert not sentence.endswith("; ")


def test_sufficient_limits_are_ok() -> None:
    limits = LimitFacts(open_files=1024, processes_left=5000, memory=8 * GIB)
    facts = replace(WELL, limits=found(limits), temporary=found(folder(full="/tmp")))
    assert texts(list(limit_checks(facts, spec()))) == []
    assert texts(list(limit_checks(facts))) == []
    many = spec("max_samples = 500\nlimit = 500", text=_MANY)
    [sentence] = texts(list(limit_checks(facts, many)))
    assert "500 samples at once may need 6200" in sentence


_MANY = 'task = "a/b"\nmodel = "mockllm/model"\nmachine = "local"\non_error = "continue"\n'


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"free": 3 * MIB}, "the folder for temporary files (/tmp) is full: only 3 MiB free"),
        ({"has_files_left": False}, "can't hold more files"),
        ({"is_writable": False}, "is not writable"),
        ({"exists": False}, "does not exist; create it"),
    ],
)
def test_a_folder_for_temporary_files_that_is_of_no_use_stops(
    changes: Mapping[str, Any], says: str
) -> None:
    facts = replace(WELL, temporary=found(folder(full="/tmp", **changes)))
    [sentence] = texts(list(limit_checks(facts)))
    assert sentence.startswith("stop TMPDIR: the folder for temporary files (/tmp)")
    assert says in sentence
    [sentence] = texts(list(limit_checks(replace(WELL, temporary=failed(ToolState.STUCK)))))
    assert "does not respond" in sentence


def test_a_tmux_server_keeps_the_limits_of_its_start() -> None:
    old = TmuxServerFacts(pid=77, open_files=64)
    facts = replace(WELL, limits=found(LimitFacts(open_files=4096)), tmux_server=found(old))
    assert texts(list(limit_checks(facts, spec()))) == []
    in_tmux = spec('engine = "tmux"')
    [sentence] = texts(list(limit_checks(facts, in_tmux)))
    assert sentence.startswith("stop open files: in the tmux server (pid 77), which keeps the")
    assert "a process may open 64 files" in sentence
    assert "tmux -u -L evalroom kill-server" in sentence
    roomy = replace(facts, limits=found(LimitFacts(open_files=64)),
                    tmux_server=found(replace(old, open_files=None)))  # fmt: skip
    assert texts(list(limit_checks(roomy, in_tmux))) == []
    none = replace(
        facts, limits=found(LimitFacts(open_files=64)), tmux_server=failed(ToolState.FAILED)
    )
    [sentence] = texts(list(limit_checks(none, in_tmux)))
    assert sentence.startswith("stop open files: a process may open 64 files")


def test_a_survey_reports_the_limits_of_a_running_tmux_server() -> None:
    words = ("tmux", "-u", "-L", "evalroom")
    with short_folder() as home, pytest.MonkeyPatch.context() as monkey:
        monkey.setenv("TMUX_TMPDIR", str(home))
        worker = LocalWorker(home)
        job = Job(program="survey", verb="survey", given={"tmux": words})
        answer = run_async(worker.work(HERE, job, deadline=WAIT_S))
        assert answer["tmux_server"]["state"] == "failed"  # none runs
        limited = f"ulimit -n 99; {' '.join(words)} -f /dev/null new-session -d sleep 600"
        subprocess.run(["/bin/sh", "-c", limited], check=True)
        try:
            answer = run_async(worker.work(HERE, job, deadline=WAIT_S))
        finally:
            subprocess.run([*words, "kill-server"], check=True)
    server = answer["tmux_server"]["value"]
    assert server["open_files"] == 99
    assert server["pid"] > 1
    assert parse_survey(answer).tmux_server.value == TmuxServerFacts(**server)


async def test_a_survey_reports_the_limits_of_its_own_login() -> None:
    with short_folder() as home:
        python = Path(home) / "python"
        python.write_text('#!/bin/sh\nulimit -n 64\nexec python3 "$@"\n')
        python.chmod(0o755)
        worker = LocalWorker(home, {"TMPDIR": f"{home}/gone"}, python=str(python))
        job = Job(program="survey", verb="survey", given={})
        answer = await worker.work(HERE, job, deadline=WAIT_S)
    assert answer["limits"]["value"]["open_files"] == 64
    place = answer["temporary"]["value"]
    assert (place["full"], place["exists"]) == (f"{home}/gone", False)


STARTED = {
    "log": "/l/a.eval",
    "header": {"status": "started", "eval": {"task": "t", "task_id": "i", "model": "m"}},
}
KILLS = {"group": 1, "limit": 512 * MIB, "machine": 1}
BY_GROUP = "the kernel killed 1 process of its control group for lack of memory (limit 0.5 GiB)"
BY_MACHINE = (
    "since the run started, the kernel killed 2 processes on the machine for lack of memory"
)
FILES = "it ran out of open files (ulimit -n)"


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ({"kills": KILLS, "output": "OSError: Too many open files"}, BY_GROUP),
        ({"kills": {"group": 0, "machine": 2}}, BY_MACHINE),
        ({"kills": None, "output": "OSError: [Errno 24] Too many open files"}, FILES),
        ({"kills": {"group": "x"}, "output": "No space left on device: '/tmp/a'"},
         "the disk of /tmp/a is full"),
    ],
)  # fmt: skip
def test_a_limit_that_was_reached_is_the_reason_of_a_runs_end(
    report: Mapping[str, Any], why: str
) -> None:
    run = run_of(1, RunState.FINISHING, logs=())
    over = after_logs(run, report, 9.0, is_alive=False)
    assert (over.state, over.message) == (
        RunState.ERROR,
        f"its process ended and left no log: {why}",
    )
    lost = after_logs(run, {**report, "logs": [STARTED]}, 9.0, is_alive=False)
    assert lost.state is RunState.LOST
    assert lost.message.endswith(f"one of its logs is incomplete: {why}")
