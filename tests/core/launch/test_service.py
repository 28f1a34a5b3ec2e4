"""A launch from its plan to its logs, over real links, with a real Inspect."""

import asyncio
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import JobFailed
from core.ids import MachineName
from core.launch.run import launcher_client
from core.launch.run.sessions import end_session, list_sessions
from core.model.run import RunState
from tests.support.launches import alive, end_all, launching, wait_all_gone
from tests.support.reached import machine_of, trusting
from tests.support.specs import EVALS, spec
from tests.support.sshd import SUPER, Sshd
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")


def gpu_host(sshd: Sshd) -> MachineConfig:
    return machine_of(sshd, SUPER, name=MachineName("gpu"), python=sys.executable)


async def test_a_spec_becomes_a_run_that_is_watched_and_scored_by_its_log(
    sshd: Sshd, folder: Path
) -> None:
    machine = gpu_host(sshd)
    async with launching([machine], folder, known_hosts=trusting(sshd, folder)) as here:
        await here.watched.desk.first_poll(WAIT_S)
        checked = here.checked(spec("", "machine=gpu"))
        found: list[RunState] = []
        [run] = await here.launches.launch(checked, on_change=lambda each: found.append(each.state))
        assert found[:3] == [RunState.PREPARING, RunState.STARTING, RunState.RUNNING]
        run = await here.over(run)
        assert (run.state, run.status, run.message) == (RunState.SUCCESS, "success", "")
        [log] = run.logs
        [metric] = log.metrics
        assert metric.name == "accuracy"
        assert metric.value == pytest.approx(0.7)
        assert (log.completed_samples, log.total_samples) == (10, 10)
        there = sshd.home(SUPER) / run.directory.removeprefix("~/")
        assert stat.S_IMODE(there.stat().st_mode) == 0o700

        # A start that is sent again starts nothing again, and prints what it printed.
        plan = checked[0].plan
        status, out, _ = await launcher_client.start_run(here.place, plan, {})
        assert status == 75
        assert f'"pid": {run.pid}' in out
        await asyncio.to_thread(wait_all_gone, run.id)

        # What it printed is read from its end, and from where the last piece ended.
        piece = await here.launches.output(run)
        assert b'"event": "done"' in piece.data
        assert (await here.launches.output(run, start=piece.end)).data == b""

    # The next evalroom knows it from the disk; one of another operator finds it on the machine.
    async with launching([machine], folder, known_hosts=trusting(sshd, folder)) as here:
        assert await here.comes_to(run.id, RunState.SUCCESS) == run
    other = folder / "other"
    other.mkdir()
    async with launching([machine], other, known_hosts=trusting(sshd, folder)) as here:
        seen = await here.comes_to(run.id, RunState.SUCCESS)
        assert (seen.is_ours, seen.operator, seen.logs) == (False, "Ada", run.logs)
        assert replace(seen, at=run.at).spec == run.spec


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (("model=nope/x",), "Inspect does not know the provider nope"),
        (("python=/nowhere/python3",), "/nowhere/python3 can't be started"),
    ],
)
async def test_a_launch_that_fails_says_why_and_leaves_nothing_running(
    sshd: Sshd, folder: Path, sets: tuple[str, ...], says: str
) -> None:
    async with launching([gpu_host(sshd)], folder, known_hosts=trusting(sshd, folder)) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec("", "machine=gpu", *sets)))
        run = await here.over(run)
        assert run.state is RunState.ERROR
        assert says in run.message
        await asyncio.to_thread(wait_all_gone, run.id)


LONG = f"""
task = "turns.py@turns"
model = "mockllm/model"
machine = "gpu"
on_error = "continue"
code = {{ directory = "{EVALS}" }}
args = {{ samples = 6, turns = 4_000, sleep = 0.5 }}
"""


async def test_an_eval_that_is_killed_is_lost_and_never_done(sshd: Sshd, folder: Path) -> None:
    async with launching([gpu_host(sshd)], folder, known_hosts=trusting(sshd, folder)) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec(text=LONG)))
        assert run.state is RunState.RUNNING
        assert run.pid in alive(run.id)
        end_all([run.id])
        run = await here.over(run)
        assert (run.state, run.status) == (RunState.LOST, "started")
        assert "one of its logs is incomplete" in run.message


@pytest.mark.slow
async def test_a_matrix_of_tasks_models_and_machines_is_as_many_runs(
    sshd: Sshd, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 x 2 x 2: on each machine one after the other, none in the folder of another."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    local = MachineConfig(name=MachineName("here"), link="command", python=sys.executable)
    asked = spec(
        "", 'machine=["gpu", "here"]', 'task=["evalroom/smoke", "evalroom/arithmetic"]',
        'model=["mockllm/model", "mockllm/other"]', "args={}",
    )  # fmt: skip
    known = trusting(sshd, folder)
    async with launching([gpu_host(sshd), local], folder, known_hosts=known) as here:
        await here.watched.desk.first_poll(WAIT_S)
        checked = here.checked(asked)
        assert len(checked) == 8
        runs = await here.launches.launch(checked)
        over = [await here.over(run) for run in runs]
        assert {run.state for run in over} == {RunState.SUCCESS}
        assert len({(run.task, run.model, run.machine) for run in over}) == 8
        assert len({run.log_dir for run in over}) == 8
        assert len({run.launch for run in over}) == 1
        assert [len(run.logs) for run in over] == [1] * 8


FAILS = f"""
task = "echo.py@failing"
model = "mockllm/model"
machine = "gpu"
on_error = "continue"
code = {{ directory = "{EVALS}" }}
args = {{ samples = 2, failing = 1 }}
retry_attempts = 1
keep = true
options = {{ retry_wait = 3 }}
"""


@pytest.mark.slow
async def test_a_run_that_rests_between_attempts_is_not_over_and_one_that_is_kept_is(
    sshd: Sshd, folder: Path
) -> None:
    async with launching([gpu_host(sshd)], folder, known_hosts=trusting(sshd, folder)) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec(text=FAILS)))
        try:
            run = await here.over(run)
            assert (run.state, run.status) == (RunState.ERROR, "error")
            assert run.pid in alive(run.id)
            process = here.watched.fleet.process_of_run(run)
            assert process is not None
            task = here.watched.fleet.tasks[process.tasks[-1]]
            assert task.row.attempts == 2
        finally:
            end_all([run.id])


async def test_a_run_in_tmux_is_found_by_its_id_and_its_screen_says_why_it_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmux_server: None
) -> None:
    del tmux_server
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    local = MachineConfig(name=MachineName("gpu"), link="command", python=sys.executable)
    async with launching([local], folder, secrets={"S": "sk-canary"}) as here:
        await here.watched.desk.first_poll(WAIT_S)
        good = spec("secrets = ['S']", "machine=gpu", "engine=tmux")
        bad = spec("", "machine=gpu", "engine=tmux", "model=nope/x")
        checked = (*here.checked(good), *here.checked(bad))
        runs = await here.launches.launch(checked)
        done, failed = [await here.over(run) for run in runs]
        assert (done.state, done.attach[:2]) == (RunState.SUCCESS, ("tmux", "-u"))
        assert failed.state is RunState.ERROR
        assert "Inspect does not know the provider nope" in failed.message
        assert b"nope" in (await here.launches.output(failed)).data
        found = await list_sessions(here.place, [local.name])
        assert {each.session.run for each in found} == {each.id for each in runs}
        for each in found:
            await end_session(here.place, each)
            await end_session(here.place, each)  # it is gone already
        with pytest.raises(JobFailed, match="its tmux session has ended"):
            await here.launches.output(failed)
        assert await list_sessions(here.place, [local.name]) == ()
        # A start that is sent again leaves no secrets where nothing reads them.
        assert (await launcher_client.start_run(here.place, checked[0].plan, {"S": "sk-canary"}))[
            0
        ] == 75
        assert not list((folder / ".evalroom" / "secrets").iterdir())
