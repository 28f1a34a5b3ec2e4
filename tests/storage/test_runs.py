"""Runs on disk: before they start, as they change, and whose they are."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from core.ids import MachineName
from core.model.order import Instance
from core.model.run import Run, RunLog, RunState
from core.model.task import Metric
from storage.database import Database
from storage.orders import OrderJournal
from storage.runs import SqliteRunStore, read_runs

HERE = Instance(host="h", boot="b", pid=1, start="s", operator="Ada")
DEAD, ELSEWHERE = replace(HERE, pid=2), replace(HERE, pid=3)


def run(name: str, at: float = 1.0, **more: object) -> Run:
    values: dict[str, object] = {
        "id": name, "machine": MachineName("m"), "at": at, "operator": "Ada",
        "state": RunState.QUEUED, "task": "t", "model": "m/x",
        "spec": {"task": "t", "args": {"a": [1, None, "ü\ud800"]}}, **more,
    }  # fmt: skip
    return Run(**values)  # type: ignore[arg-type]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database, None]:
    async with Database.at(tmp_path / "data" / "history.sqlite3") as opened:
        yield opened


def alive(instance: Instance, here: Instance) -> bool | None:
    del here
    return {2: False, 3: None}.get(instance.pid, True)


async def test_a_run_comes_back_as_it_was_written_and_makes_a_process_ours(
    database: Database,
) -> None:
    runs = SqliteRunStore(database)
    metric = Metric(scorer="s", name="accuracy", value=0.7)
    log = RunLog(location="/x.eval", status="success", metrics=(metric,))
    first = run("r1")
    await runs.add([first, run("r2", at=2.0)], HERE)
    assert [each.id for each in await runs.recent(10)] == ["r2", "r1"]
    over = replace(first, state=RunState.DONE, logs=(log,), pid=7, ended_at=9.0, attach=("a",))
    await runs.save(over)
    assert await runs.recent(10) == (run("r2", at=2.0), over)
    assert await OrderJournal(database).run_ids() == {"r1", "r2"}


async def test_an_evalroom_that_knows_less_of_a_run_takes_nothing_from_the_disk(
    database: Database,
) -> None:
    runs = SqliteRunStore(database)
    preparing = run("r1", state=RunState.PREPARING)
    await runs.add([preparing], HERE)
    known = replace(preparing, state=RunState.RUNNING, commit="abc", output_file="/o", pid=7)
    await runs.save(known)
    # Another room read it while it was prepared, and sees its process now.
    await runs.save(replace(preparing, state=RunState.FINALISING, start="b-1"))
    assert await runs.recent(1) == (replace(known, state=RunState.FINALISING, start="b-1"),)
    done = replace(known, state=RunState.DONE, ended_at=9.0)
    await runs.save(done)
    await runs.save(replace(known, state=RunState.FINALISING))
    assert await runs.recent(1) == (replace(done, start="b-1"),)


async def test_what_no_living_evalroom_starts_is_abandoned(database: Database) -> None:
    runs = SqliteRunStore(database, alive=alive)
    other = replace(HERE, pid=4)
    for name, of in (("mine", HERE), ("dead", DEAD), ("far", ELSEWHERE), ("living", other)):
        await runs.add([run(name)], of)
    await runs.add([run("over", state=RunState.DONE)], DEAD)
    await runs.save(run("over", state=RunState.DONE))
    assert await runs.abandoned(HERE) == {"mine", "dead"}


async def test_a_command_reads_runs_of_any_history(database: Database, tmp_path: Path) -> None:
    assert read_runs(tmp_path / "none.sqlite3", 5) == ()
    await SqliteRunStore(database).add([run("r1")], HERE)
    assert [each.id for each in read_runs(database.path, 5)] == ["r1"]
