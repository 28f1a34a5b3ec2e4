"""A launch that is given up: the run never starts later, and one that did start is not failed."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.config.model import MachineConfig
from core.errors import JobFailed, RequestFailed
from core.ids import MachineName
from core.launch.run import launcher_client
from core.launch.run.run_record import new_run
from core.model.job import Job
from core.model.run import RunState
from tests.support.launches import Launched, launching, wait_all_gone
from tests.support.specs import spec
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")
HERE = MachineName("here")
Really = Callable[[], Any]


@pytest.fixture
def local(folder: Path, monkeypatch: pytest.MonkeyPatch) -> MachineConfig:
    """This computer, with a home of its own."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return MachineConfig(name=HERE, link="command", python=sys.executable)


def starts_badly(here: Launched, error: RequestFailed, *, is_done: bool) -> None:
    """Have starts answered with an error, whether they were done or not."""

    async def spoil(machine: MachineName, job: Job, really: Really) -> Any:
        del machine
        if job.verb == "start":
            if is_done:
                await really()
            raise error
        return await really()

    here.place.spoil = spoil


async def test_a_run_whose_start_failed_never_starts_later(
    local: MachineConfig, folder: Path
) -> None:
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        starts_badly(here, JobFailed("no room for its output"), is_done=False)
        checked = here.checked(spec("", "machine=here"))
        [run] = await here.launches.launch(checked)
        assert (run.state, run.message) == (RunState.ERROR, "no room for its output")

        # The start arrives after all: it was on its way, somewhere.
        here.place.spoil = None
        assert (await launcher_client.start_run(here.place, checked[0].plan, {}))[0] == 75
        await asyncio.to_thread(wait_all_gone, run.id)
        row = (await launcher_client.poll_runs(here.place, HERE, [run]))[run.id]
        assert "given up before it was started" in row["err"]


@pytest.mark.slow
async def test_a_run_that_started_is_not_failed_whatever_its_start_answered(
    local: MachineConfig, folder: Path
) -> None:
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        starts_badly(here, JobFailed("no room for its output"), is_done=True)
        [run] = await here.launches.launch(here.checked(spec("", "machine=here")))
        run = await here.over(run)
        assert (run.state, run.message) == (RunState.SUCCESS, "")


async def test_a_run_that_ran_and_whose_folder_was_removed_is_unreadable_and_says_so(
    local: MachineConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.launch.run.run_poller._RELOAD_INTERVAL_S", 0.2)
    monkeypatch.setattr("core.launch.run.run_poller._SOON_S", 0.1)
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [checked] = here.checked(spec("", "machine=here"))
        run = new_run(checked.plan, at=here.place.now(), operator="Ada", launch="x")
        await here.launches.registry.add([replace(run, state=RunState.RUNNING, pid=1)])
        run = await here.comes_to(run.id, RunState.UNREADABLE)
        assert f"{run.id} is gone" in run.message


async def test_a_run_of_an_evalroom_that_ended_is_kept_from_starting_before_it_is_called_failed(
    local: MachineConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.launch.run.run_poller._RELOAD_INTERVAL_S", 0.2)
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [checked] = here.checked(spec("", "machine=here"))
        run = new_run(checked.plan, at=here.place.now(), operator="Ada", launch="x")
        here.launches.registry.starting.add(run.id)
        await here.launches.registry.add([run])
        await launcher_client.create_folder(here.place, checked.plan, b"{}")
        here.launches.registry.starting.discard(run.id)  # it ended between the two
        run = await here.comes_to(run.id, RunState.ERROR)
        assert "evalroom exited before it started this run" in run.message
        assert (await launcher_client.start_run(here.place, checked.plan, {}))[0] == 75
        await asyncio.to_thread(wait_all_gone, run.id)
