"""From a spec with packages and a private repository to a finished log, by a real uv and git."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from inspect_ai.log import EvalLog

from core.config.model import MachineConfig
from core.errors import JobFailed
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.provision.dependencies import ProvisionedRun, provision
from core.model.job import Job
from ssh.local_uv import local_uv
from tests.support.evals import short_folder
from tests.support.fetching import LocalWorker
from tests.support.final_logs import final_log
from tests.support.repositories import repository, serving
from tests.support.specs import Home, plan, spec
from tests.support.tree import ROOT
from tests.support.uv import uv_env
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.slow
SMOKE_FILE = ROOT / "ssh" / "shipped" / "tasks" / "smoke.py"
FAR = MachineConfig(name=MachineName("local"), host="x")
TOKEN = "glpat-never-to-be-seen-again"


@pytest.fixture
def home() -> Iterator[Home]:
    with short_folder() as folder:
        (folder / "home").mkdir()
        yield Home(folder / "home")


@pytest.fixture
def worker(home: Home) -> LocalWorker:
    return LocalWorker(home.folder, env=uv_env())


async def brought(worker: LocalWorker, asked: RunPlan, token: str | None = None) -> ProvisionedRun:
    return await provision(worker, asked, token=token, uv=local_uv, on_progress=lambda _: None)


def started_without_network(home: Home, asked: RunPlan) -> EvalLog:
    """Start a run as its machine would, cut off from every network; return its final log."""
    folder = home.write(asked)
    cut_off = ["unshare", "-n"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*cut_off, "/bin/sh", str(folder / "start.sh")], env=home.env(uv_env()),
        capture_output=True, text=True, timeout=WAIT_S, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    try:
        return final_log(record["log_dir"])
    finally:
        with suppress(ProcessLookupError):
            os.kill(record["pid"], signal.SIGKILL)


async def test_packages_and_a_private_repository_become_a_log_with_the_known_score(
    home: Home, worker: LocalWorker
) -> None:
    served = home.folder.parent / "served"
    task = f"import humanize\nimport helping\n{SMOKE_FILE.read_text()}"
    source = repository(served / "code", {"helping.py": "", "evals/mine.py": task})
    text = json.dumps(
        {"task": "evals/mine.py@evalroom/smoke", "model": "mockllm/model", "machine": "local",
         "on_error": "stop", "args": {"samples": 10, "pass_rate": 0.7}, "packages": ["humanize"],
         "code": {"repository": "https://x/code", "token": "forge"}}
    )  # fmt: skip
    with serving(served, TOKEN) as server:
        asked_spec = spec("", text=text)
        assert asked_spec.code is not None
        asked_spec = replace(
            asked_spec, code=replace(asked_spec.code, repository=server.url("code"))
        )
        asked = plan(asked_spec, machine=FAR)
        got = await brought(worker, asked, TOKEN)
        assert (got.commit, got.inspect) == (source.git("rev-parse", "HEAD"), "0.3.285")
        again = await brought(worker, asked, TOKEN)
    assert (again.commit, again.uv) == (got.commit, got.uv)
    assert all(each.endswith("already there") for each in again.how)
    log = await asyncio.to_thread(started_without_network, home, asked)
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(0.7)
    assert log.eval.packages["inspect_ai"] == "0.3.285"
    there = home.folder / asked.directory.removeprefix("~/")
    assert not [f for f in there.rglob("*") if f.is_file() and TOKEN.encode() in f.read_bytes()]


async def test_two_fill_the_cache_at_once(worker: LocalWorker) -> None:
    asked = plan(spec("inspect = '0.3.285'"))
    both = await asyncio.gather(brought(worker, asked), brought(worker, asked))
    assert {each.inspect for each in both} == {"0.3.285"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("inspect = '0.3.28599'", "there is no version of inspect-ai==0.3.28599"),
        ("packages = ['evalroom-no-such-package']", "evalroom-no-such-package was not found"),
        ("packages = ['humanize<4', 'humanize>4.2']", "humanize"),
    ],
)
async def test_packages_that_can_not_be_had_are_a_sentence(
    worker: LocalWorker, more: str, says: str
) -> None:
    with pytest.raises(JobFailed) as caught:
        await brought(worker, plan(spec(more)))
    assert says in caught.value.message
    assert "check `packages`, `inspect` and `python`" in caught.value.advice


async def test_without_a_network_what_is_there_serves_and_what_is_not_is_reported(
    home: Home, worker: LocalWorker
) -> None:
    asked = plan(spec("inspect = '0.3.285'"))
    await brought(worker, asked)
    if os.geteuid() != 0:
        pytest.skip("only root takes a network away")
    worker.has_network = False
    assert (await brought(worker, asked)).how[
        1
    ] == "Inspect 0.3.285 and its packages: already there"
    worker.env = {**worker.env, "UV_CACHE_DIR": str(home.folder / "fresh"), "UV_HTTP_RETRIES": "0"}
    with pytest.raises(JobFailed, match="can't reach the package index") as caught:
        await brought(worker, asked)
    assert "UV_DEFAULT_INDEX" in caught.value.advice


async def test_with_a_given_interpreter_nothing_is_done(worker: LocalWorker) -> None:
    asked = plan(spec(f"python = {sys.executable!r}"), machine=FAR)
    assert await brought(worker, asked) == ProvisionedRun()
    assert worker.jobs == list[Job]()
    assert not list(worker.home.iterdir())
