"""Guides on disk: as they stood, and taken over once."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from core.errors import StorageError, UsageWrong
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind, StepState
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, TaskKey, address_of
from core.model.order import Instance
from storage.database import Database
from storage.guides import Guides, read_guides
from storage.schema import APPLICATION_ID, migrations
from tests.support.orders import HERE

P = ProcessKey(MachineName("h100-1"), 7, "boot:\udc80")
NEXT = replace(HERE, pid=2, start="2")
GUIDE = Guide(
    id="a1",
    kind=GuideKind.INCIDENT,
    name="openai/gpt-5",
    targets=(
        address_of(ModelKey(P, "openai/gpt-5")),
        address_of(SampleKey(TaskKey(P, "t"), "1", 2)),
        address_of(SampleKey(TaskKey(P, "t"), 1, 2)),
    ),
    steps=(
        GuideStep(
            kind=StepKind.PAUSE, title="pause", state=StepState.DONE, sentence="1 paused",
            plans=("p1",), settled=(address_of(P),), since=4.0,
        ),
        GuideStep(kind=StepKind.RESUME, title="resume"),
    ),
    made_at=3.0,
    instance=HERE,
    is_now=True,
    command="cd /x && inspect eval-set",
    variables=("HF_TOKEN",),
    logs=("/logs/a.eval",),
    notes=("mind",),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def book(database: Database, *alive: Instance) -> Guides:
    return Guides(database, alive=lambda instance, _: instance in alive)


async def test_a_guide_comes_back_as_it_was_saved_also_without_a_database_of_its_own(
    path: Path,
) -> None:
    async with Database.at(path) as database:
        await book(database).save(replace(GUIDE, name="before"))
        await book(database).save(GUIDE)
        assert list(await book(database).recent(5)) == [GUIDE]
    assert read_guides(path, 5) == (GUIDE,)
    assert read_guides(path.with_name("none"), 5) == ()


async def test_an_older_guide_gets_the_word_of_today(path: Path) -> None:
    older = replace(GUIDE, kind=GuideKind.INTERRUPT)
    path.parent.mkdir(mode=0o700)
    body = json.dumps(msgspec.to_builtins(older))
    with closing(sqlite3.connect(path)) as raw:
        for number, sql in migrations()[:7]:
            raw.executescript(sql)
            raw.execute(f"PRAGMA user_version = {number}")
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        raw.execute(
            "INSERT INTO guide (id, at, host, boot, desk_pid, desk_start, operator, body)"
            " VALUES (?, 1, ?, ?, ?, ?, ?, ?)",
            (older.id, HERE.host, HERE.boot, HERE.pid, HERE.start, HERE.operator, body),
        )
        raw.execute("UPDATE guide SET body = json_set(body, '$.kind', 'park')")
        raw.commit()
    assert list(read_guides(path, 5)) == [older]
    async with Database.at(path) as database:
        [row] = await database.read("SELECT json_extract(body, '$.kind') AS kind FROM guide")
        assert row["kind"] == "interrupt"


async def test_open_guides_are_listed_before_those_that_ended(path: Path) -> None:
    async with Database.at(path) as database:
        await book(database).save(GUIDE)
        await book(database).save(replace(GUIDE, id="b2", made_at=9.0, ended_at=10.0))
        assert [each.id for each in await book(database).recent(5)] == ["a1", "b2"]
        assert [each.id for each in await book(database).recent(1)] == ["a1"]


async def test_of_two_evalrooms_one_takes_a_dead_ones_guide_over(path: Path) -> None:
    async with Database.at(path) as one, Database.at(path) as two:
        await book(one).save(GUIDE)
        third = replace(HERE, pid=3, start="3")
        got = await asyncio.gather(
            book(one, NEXT, third).claim("a1", NEXT),
            book(two, NEXT, third).claim("a1", third),
            return_exceptions=True,
        )
        taken = [each for each in got if isinstance(each, Guide)]
        assert len(taken) == 1
        assert [type(each) for each in got if each not in taken] == [UsageWrong]
        with pytest.raises(StorageError, match="another evalroom instance has taken over"):
            await book(one).save(GUIDE)
        [kept] = await book(one).recent(5)
        assert kept.instance == taken[0].instance


def unknown(instance: Instance, here: Instance) -> None:
    """Of another computer nobody can tell."""
    del instance, here


async def test_a_guide_that_runs_or_ended_or_does_not_exist_is_not_taken_over(path: Path) -> None:
    async with Database.at(path) as database:
        await book(database).save(GUIDE)
        with pytest.raises(UsageWrong, match="still running"):
            await book(database, HERE).claim("a1", NEXT)
        with pytest.raises(UsageWrong, match="on here"):
            await Guides(database, alive=unknown).claim("a1", NEXT)
        with pytest.raises(UsageWrong, match="no guide"):
            await book(database).claim("zz", NEXT)
        await book(database).save(replace(GUIDE, ended_at=5.0))
        with pytest.raises(UsageWrong, match="has ended"):
            await book(database).claim("a1", NEXT)
