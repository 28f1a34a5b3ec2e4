"""Runs on disk: before they start, as they change, and whose they are."""

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from core.ids import MachineName
from core.model.log_summary import Metric
from core.model.order import Instance
from core.model.run import Run, RunLog, RunState
from storage.database import Database
from storage.orders import OrderJournal
from storage.runs import SqliteRunStore, run_readonly
from storage.schema import APPLICATION_ID, migrations

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
    database: Database, tmp_path: Path
) -> None:
    runs = SqliteRunStore(database)
    metric = Metric(scorer="s", name="accuracy", value=0.7)
    log = RunLog(location="/x.eval", status="success", metrics=(metric,))
    first = run("r1")
    await runs.add([first, run("r2", at=2.0)], HERE)
    assert [each.id for each in await runs.recent(10)] == ["r2", "r1"]
    over = replace(first, state=RunState.SUCCESS, logs=(log,), pid=7, ended_at=9.0, attach=("a",))
    await runs.save(over)
    assert await runs.recent(10) == (run("r2", at=2.0), over)
    assert await OrderJournal(database).run_ids() == {"r1", "r2"}
    path = tmp_path / "data" / "history.sqlite3"
    assert run_readonly(path, "r1") == over
    assert run_readonly(path, "r3") is None
    assert run_readonly(tmp_path / "none.sqlite3", "r1") is None


async def test_an_evalroom_that_knows_less_of_a_run_takes_nothing_from_the_disk(
    database: Database,
) -> None:
    runs = SqliteRunStore(database)
    preparing = run("r1", state=RunState.PREPARING)
    await runs.add([preparing], HERE)
    known = replace(preparing, state=RunState.RUNNING, commit="abc", output_file="/o", pid=7)
    await runs.save(known)
    # Another room read it while it was prepared, and sees its process now.
    await runs.save(replace(preparing, state=RunState.FINISHING, start="b-1"))
    assert await runs.recent(1) == (replace(known, state=RunState.FINISHING, start="b-1"),)
    done = replace(known, state=RunState.SUCCESS, ended_at=9.0)
    await runs.save(done)
    await runs.save(replace(known, state=RunState.FINISHING))
    assert await runs.recent(1) == (replace(done, start="b-1"),)


async def test_the_times_of_a_run_that_is_over_are_those_stored_first(database: Database) -> None:
    runs = SqliteRunStore(database)
    await runs.add([run("r1")], HERE)
    over = run("r1", state=RunState.LOST, started_at=2.0, ended_at=9.0)
    await runs.save(over)
    other = replace(over, started_at=2.018, ended_at=9.018, message="seen by another instance")
    await runs.save(other)
    [kept] = await runs.recent(10)
    assert (kept.started_at, kept.ended_at, kept.message) == (2.0, 9.0, other.message)
    resumed = replace(other, state=RunState.SUCCESS, ended_at=99.0)
    await runs.save(resumed)
    [kept] = await runs.recent(10)
    assert kept.ended_at == 99.0


async def test_a_run_that_no_living_evalroom_starts_is_abandoned(database: Database) -> None:
    runs = SqliteRunStore(database, alive=alive)
    other = replace(HERE, pid=4)
    for name, of in (("mine", HERE), ("dead", DEAD), ("far", ELSEWHERE), ("living", other)):
        await runs.add([run(name)], of)
    await runs.add([run("over", state=RunState.SUCCESS)], DEAD)
    await runs.save(run("over", state=RunState.SUCCESS))
    assert await runs.abandoned(HERE) == {"mine", "dead"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("finalising", RunState.FINISHING), ("done", RunState.SUCCESS), ("failed", RunState.ERROR),
        ("lost", RunState.LOST),
    ],
)  # fmt: skip
async def test_an_older_run_gets_the_words_of_today(
    tmp_path: Path, old: str, new: RunState
) -> None:
    path = tmp_path / "history.sqlite3"
    with closing(sqlite3.connect(path)) as raw:
        for number, sql in migrations()[:4]:
            raw.executescript(sql)
            raw.execute(f"PRAGMA user_version = {number}")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        of_old = {**msgspec.to_builtins(replace(run("r1"), spec={})), "state": old, "said": "why"}
        del of_old["message"]
        body = json.dumps(of_old)
        rows = [("r1", body), ("r2", "not JSON"), ("r3", None)]
        raw.executemany(
            "INSERT INTO run (id, at, machine, operator, spec, body)"
            " VALUES (?, 1, 'm', 'o', '', ?)",
            rows,
        )
        raw.commit()
    async with Database.at(path) as database:
        [row] = await database.read("SELECT body FROM run WHERE id = 'r1'")
        assert json.loads(row["body"])["state"] == new
        [kept] = await SqliteRunStore(database).recent(5)
        assert kept == replace(run("r1"), state=new, message="why", spec={})


def test_a_recording_with_the_old_words_is_read() -> None:
    states = msgspec.json.decode(b'["finalising", "done", "failed"]', type=list[RunState])
    assert states == [RunState.FINISHING, RunState.SUCCESS, RunState.ERROR]
