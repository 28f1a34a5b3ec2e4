"""A survey of this computer, over a real link, with a real Inspect and stand-in tools."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import JobFailed
from core.fleet import Fleet
from core.model.job import Job
from tests.support.final_logs import final_log
from tests.support.login_surveys import BUSY, HERE, checked_plans, survey_answer, troubles
from tests.support.processes import wait_gone
from tests.support.programs import program_file
from tests.support.small_disk import small_disk_at
from tests.support.specs import Home as AtHome
from tests.support.specs import plan, spec
from tests.support.standins import NVIDIA, Login, running_from
from tests.support.surveys import of, preflight, texts
from tests.support.waiting import WAIT_S, wait_until


async def test_a_log_folder_is_reported_with_what_is_in_it(login: Login) -> None:
    logs = login.folder / "logs"
    (logs / "sub").mkdir(parents=True)
    (logs / ".eval-set-id").write_text("abc123")
    (logs / "sub" / "2026-01-01T00-00-00_t_x.eval").write_text("")
    tasks = [{"name": "gpqa", "model": "openai/x", "task_id": "1"}, "no task"]
    (logs / "eval-set.json").write_text(json.dumps({"eval_set_id": "abc123", "tasks": tasks}))
    (login.folder / "file").write_text("")
    answer = await survey_answer(
        login, logs=[str(logs), f"{login.folder}/file", f"{login.folder}/no/where"]
    )
    value = {path: each["value"] for path, each in answer["logs"]["value"].items()}
    held = value[str(logs)]
    assert (held["eval_set"], held["tasks"], held["logs"]) == (
        "abc123", [["gpqa", "openai/x"]], 1,
    )  # fmt: skip
    assert not value[f"{login.folder}/file"]["is_folder"]
    away = value[f"{login.folder}/no/where"]
    assert (away["exists"], away["near"]) == (False, str(login.folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes a network away")
async def test_that_there_is_no_network_at_all_is_a_fact(login: Login) -> None:
    worker = login.worker()
    job = Job(program="survey", verb="survey", given={"hosts": ["192.0.2.1:443"]})
    worker.has_network = False
    answer = await worker.work(HERE.name, job, deadline=WAIT_S)
    assert answer["machine"]["value"]["has_route"] is False
    assert answer["hosts"]["value"]["192.0.2.1:443"]["state"] == "failed"


async def test_a_full_disk_is_reported(login: Login) -> None:
    with small_disk_at(login.folder / "disk") as disk:
        (disk / "full").write_bytes(b"x" * 480_000)
        text = login.quick() + f'log_dir = "{disk}/logs"\n'
        [checked] = await checked_plans(login, text)
    assert any(
        each.startswith("stop disk: the disk of logs is full: only 0 MiB free")
        for each in texts(checked.checks)
    )


@contextmanager
def going(words: Sequence[str], folder: Path) -> Generator[int]:
    """A program that runs within the block; its pid."""
    child = subprocess.Popen(words, cwd=folder, start_new_session=True)
    try:
        yield child.pid
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


async def test_an_eval_of_anybody_in_the_same_log_folder_is_found(login: Login) -> None:
    """Its command line is what tells it, as that of a real one does."""
    logs = login.folder / "logs"
    (login.folder / "inspect").write_text("import time\ntime.sleep(600)\n")
    words = [sys.executable, "inspect", "eval-set", "t.py", "--log-dir", "logs", "--json"]
    with going(words, login.folder) as pid:
        text = login.quick() + f'log_dir = "{logs}"\n'
        [checked] = await checked_plans(login, text)
    [line] = troubles(checked)
    assert f"the eval with pid {pid} of " in line
    assert f"is logging into {logs}; wait until it ends" in line


@pytest.mark.slow
async def test_a_log_folder_of_a_real_eval_set_is_known_again(login: Login) -> None:
    logs = login.folder / "logs"
    asked = of("evalroom/smoke") + f'log_dir = "{logs}"\n'
    login.home.mkdir()
    started = AtHome(login.home).start(plan(spec(text=asked)))
    assert started.returncode == 0, started.stderr
    assert (await asyncio.to_thread(final_log, logs)).status == "success"
    wait_until(lambda: not running_from(logs), "it is gone")
    [same] = await checked_plans(login, asked)
    [line] = troubles(same)
    assert line.startswith(
        f"warning log folder: {logs} contains an eval-set of the same task and model"
    )
    [other] = await checked_plans(login, asked.replace("evalroom/smoke", "evalroom/arithmetic"))
    [line] = troubles(other)
    said_so = "contains another eval-set: evalroom/smoke with mockllm/model (1 log); choose another"
    assert line.startswith(f"stop log folder: {logs} {said_so}")


async def test_reserved_gpus_are_reported_with_their_holders(login: Login) -> None:
    login.tool("nvidia-smi", NVIDIA.replace("echo 'GPU-aa, 4242'", ":"))
    locks = login.folder / "locks"
    locks.mkdir()
    about: dict[str, Any] = {"run": "20260101-x", "operator": "Ada", "pids": {}}
    (locks / "GPU-aa.lock").write_text(json.dumps(about))
    (locks / "GPU-bb.lock").write_text("")
    (locks / "turn.lock").write_text("")
    machine = replace(HERE, gpu_locks=str(locks))
    text = login.quick() + "gpus = 2\n"
    made = plan(spec(text=text), machine=machine)
    with (locks / "GPU-aa.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        checks = await preflight(
            login.worker(), made, machine, Fleet(), secrets=(), deadline=WAIT_S
        )
    [line] = [each for each in texts(checks) if not BUSY.match(each)]
    assert "1 of 2 are free: GPU 0 is reserved by run 20260101-x of Ada; wait" in line
    checks = await preflight(login.worker(), made, machine, Fleet(), secrets=(), deadline=WAIT_S)
    assert not [each for each in texts(checks) if not BUSY.match(each)]


async def test_cached_files_and_set_variables_are_reported_by_names(login: Login) -> None:
    hub = login.home / "hf" / "hub"
    (hub / "models--org--m" / "snapshots" / "1").mkdir(parents=True)
    (hub / "datasets--org--d").mkdir()
    login.env = {"HF_HOME": str(login.home / "hf"), "HF_HUB_OFFLINE": "1", "A_KEY": "sk-hidden"}
    answer = await survey_answer(
        login, models=["org/m", "org/no"], names=["A_KEY", "NO_KEY"], programs=["tmux", "nope"],
        hosts=["localhost:1"],
    )  # fmt: skip
    caches = answer["caches"]["value"]
    assert (caches["offline"], caches["datasets"]) == (["HF_HUB_OFFLINE"], 1)
    assert caches["models"] == {"org/m": True, "org/no": False}
    assert answer["variables"]["value"] == ["A_KEY"]
    assert answer["programs"]["value"]["tmux"]["value"].startswith("tmux ")
    assert answer["programs"]["value"]["nope"]["state"] == "absent"
    assert answer["hosts"]["value"]["localhost:1"]["state"] == "failed"
    assert "sk-hidden" not in json.dumps(answer)


def test_a_survey_whose_link_is_cut_ends_with_all_that_it_started(login: Login) -> None:
    import os

    login.tool("docker", "sleep 600")
    env = {**os.environ, "PATH": f"{login.tools}:{os.environ['PATH']}"}
    # Its tools have all the time of the world: it is the cut that ends them.
    patient = login.folder / "patient.py"
    text = program_file("survey").read_text()
    assert "TOOL_TIMEOUT_S = 8.0" in text
    patient.write_text(text.replace("TOOL_TIMEOUT_S = 8.0", "TOOL_TIMEOUT_S = 600.0"))
    child = subprocess.Popen([sys.executable, "-I", str(patient)], stdin=subprocess.PIPE, env=env)
    assert child.stdin is not None
    child.stdin.write(b'{"verb": "survey", "given": {}}\n')
    child.stdin.flush()
    wait_until(lambda: running_from(login.tools), "docker is asked")
    child.stdin.close()
    child.wait(WAIT_S)
    wait_gone(lambda: running_from(login.tools), "its tools are")


async def test_a_request_that_is_not_a_question_is_refused_in_a_sentence(login: Login) -> None:
    job = Job(program="survey", verb="dance")
    with pytest.raises(JobFailed, match="no verb dance"):
        await login.worker().work(HERE.name, job, deadline=WAIT_S)
