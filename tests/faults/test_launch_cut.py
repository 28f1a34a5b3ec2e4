"""A launch whose link is cut, or whose evalroom is killed, at each step: it runs exactly once."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.errors import RequestFailed
from core.ids import MachineName
from core.model.job import Job
from core.model.run import RunState
from ssh.jobs import JOB_MARKER
from tests.core.launch.test_service import gpu_host
from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tests.support.launches import end_all, launching, wait_all_gone
from tests.support.processes import children_of, command_of
from tests.support.reached import trusting
from tests.support.specs import SMOKE, spec
from tests.support.sshd import SUPER, Sshd
from tests.support.waiting import WAIT_S, until, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cuts")]
Really = Callable[[], Any]


@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.parametrize("verb", ["place", "start"])
async def test_a_launch_whose_link_is_cut_goes_on_and_runs_once(
    own_sshd: Sshd, tmp_path: Path, verb: str, moment: str
) -> None:
    with short_folder() as folder:
        known = trusting(own_sshd, tmp_path)
        async with launching([gpu_host(own_sshd)], folder, known_hosts=known) as here:
            await here.watched.desk.first_poll(WAIT_S)
            cut: list[str] = []

            async def spoil(machine: MachineName, job: Job, really: Really) -> Any:
                if job.verb != verb or cut:
                    return await really()
                cut.append(verb)
                if moment == "before":
                    own_sshd.signal_sessions(signal.SIGKILL)
                    return await really()
                if moment == "after":
                    await really()
                    own_sshd.signal_sessions(signal.SIGKILL)
                    raise RequestFailed(f"the link to {machine} went")
                asked = asyncio.ensure_future(really())
                await until(lambda: asked.done() or _does_a_job(own_sshd), "the job is begun")
                own_sshd.signal_sessions(signal.SIGKILL)
                return await asked

            here.place.spoil = spoil
            [run] = await here.launches.launch(here.checked(spec("", "machine=gpu")))
            run = await here.over(run)
            assert cut
            assert run.state is RunState.SUCCESS, run.message
            there = own_sshd.home(SUPER) / ".evalroom" / "runs"
            assert [each.name for each in there.iterdir()] == [run.id]
            assert len(list(there.rglob("*.eval"))) == 1
            await asyncio.to_thread(wait_all_gone, run.id)


def _does_a_job(sshd: Sshd) -> bool:
    """Whether a session's program is that of a job."""
    programs = (child for session in sshd.sessions() for child in children_of(session))
    return any(JOB_MARKER in command_of(program) for program in programs)


MOMENTS: dict[str, Callable[[Path, str], bool]] = {
    "written": lambda _, __: True,
    "placed": lambda folder, run: (folder / run).is_dir(),
    "started": lambda folder, run: (folder / run / "started").is_dir(),
    "running": lambda folder, run: (folder / run / "launch.json").exists(),
}


@pytest.mark.parametrize("moment", list(MOMENTS))
def test_a_run_of_a_killed_evalroom_is_found_by_its_id(moment: str) -> None:
    with short_folder() as folder:
        home = Home(folder)
        home.configure(machine("local"))
        (folder / "s.toml").write_text(SMOKE)
        child = home.start("launch", "s.toml", "--yes", "--wait")
        database = folder / ".local/share/evalroom/history.sqlite3"
        run = wait_until(lambda: _run_in(database), "a run is written down", every=0.01)
        runs = folder / ".evalroom" / "runs"
        wait_until(lambda: MOMENTS[moment](runs, run), moment, every=0.01)
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        try:
            printed = wait_until(lambda: _over(home, run), "it is known what became of it")
            logs = list(runs.rglob("*.eval"))
            errors = runs / run / "launch.err"
            is_barred = errors.exists() and "given up" in errors.read_text()
            if (runs / run / "started").is_dir() and not is_barred:
                assert (printed["state"], len(logs)) == ("success", 1), printed
                assert printed["scores"][0]["value"] == pytest.approx(0.7)
            else:
                assert (printed["state"], logs) == ("error", [])
                assert "evalroom exited before it started this run" in printed["message"]
            wait_all_gone(run)
        finally:
            end_all([run])


def _run_in(database: Path) -> str | None:
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT id FROM run").fetchall()
    except sqlite3.OperationalError:  # it is just being made
        return None
    return str(rows[0][0]) if rows else None


def _over(home: Home, run: str) -> Any:
    printed = home.run("run", run, "--json").json
    return printed if printed["state"] in {"success", "error", "lost"} else None
