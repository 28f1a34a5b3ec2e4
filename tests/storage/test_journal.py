# ruff: noqa: ASYNC240 - a test may wait for its disk
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from core.event_codec import event_of, line_of
from core.events import (
    ContentRevealed,
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    MachineRead,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
    TimePassed,
)
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.log_summary import LogHeader, Metric
from core.model.machine import LinkState, MachineFacts
from core.model.process import ProcessState
from core.model.sample import SampleCounts
from core.model.task import ProgressPoint, TaskCounts, TaskRow
from core.task_events import SpinUpTimed
from storage.database import Database
from storage.event_columns import event_columns
from storage.identity import operator_name
from storage.journal import Journal
from storage.retention import EventFilter
from tests.support.clocks import SetClock
from tests.support.stored_events import stored_events

M = MachineName("h100-1")
P = ProcessKey(M, 7, "boot:9")
T = TaskKey(P, "abc")
ROW = TaskRow(task_id="abc", eval_id="e1", task="t", samples=TaskCounts(total=4), raw=b"{}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def journal(database: Database, clock: SetClock, limit_mib: int = 64) -> Journal:
    return Journal(database, limit_mib=limit_mib, clock=clock)


def tasks(at: float, row: TaskRow = ROW) -> TasksSeen:
    return TasksSeen(at=at, process=P, as_of=at, rows=(row,))


def point(at: float, done: int = 0) -> ProgressPoint:
    return ProgressPoint(at=at, done=done, errored=0, in_flight=None, tokens=10 * done)


SAMPLES_OF_EVENTS: tuple[Event, ...] = (
    LinkChanged(at=1, machine=M, state=LinkState.DOWN, reason="no route", retry_at=2.0),
    ProcessSeen(at=2, process=P, state=ProcessState.LIVE, argv=("inspect", "eval")),
    tasks(3, replace(ROW, raw=b"")),
    ReadFailed(at=4, process=P, what="tasks", reason="http 500"),
    ScoreSeen(at=5, task=T, metrics=(Metric(scorer="s", name="accuracy", value=0.5),)),
    MachineRead(at=6, machine=M, facts=MachineFacts(at=6, load=(1.0, 2.0))),
    ProcessGone(at=7, process=P),
    LogRead(at=8, task=T, header=LogHeader(location="/l", status="success")),
    SpinUpTimed(at=9, task=T, name="t", model="m", seconds=90.0),
    ContentRevealed(at=9, sample=SampleKey(T, "s1", 1), eval_id="e", operator="Ada"),
)


async def test_stored_events_come_back_unchanged(path: Path) -> None:
    async with Database.at(path) as database:
        await journal(database, SetClock()).keep(SAMPLES_OF_EVENTS)
        kept = await stored_events(database)
        assert tuple(each.event for each in kept) == SAMPLES_OF_EVENTS
        assert len({each.desk for each in kept}) == 1


async def test_who_asked_for_content_is_added_by_the_journal(path: Path) -> None:
    asked = ContentRevealed(at=9, sample=SampleKey(T, 1, 2), eval_id="e")
    async with Database.at(path) as database:
        await journal(database, SetClock()).keep([asked, replace(asked, at=10.0)])
        kept = [each.event for each in await stored_events(database)]
    assert kept == [replace(asked, at=at, operator=operator_name()) for at in (9, 10.0)]
    assert operator_name()


async def test_the_pulse_is_not_kept(path: Path) -> None:
    pulse = (
        LinkHeard(at=1, machine=M),
        SamplesSeen(at=1, task=T, eval_id="e", as_of=1, counts=SampleCounts(), rows=(), whole=True),
        TimePassed(at=1),
    )
    async with Database.at(path) as database:
        await journal(database, SetClock()).keep(pulse)
        assert not await stored_events(database)


def test_a_look_that_shows_nothing_new_is_not_news() -> None:
    events = EventFilter()
    assert events.changed_part(tasks(1)) == tasks(1, replace(ROW, raw=b""))
    more = replace(ROW, total_tokens=5, samples=TaskCounts(total=4, completed=1))
    assert events.changed_part(tasks(2, more)) is None
    assert events.changed_part(tasks(3, replace(more, eval_id="e2", attempts=2))) is not None
    assert events.changed_part(tasks(4, replace(more, eval_id="e2", attempts=2))) is None


def test_a_link_that_fails_again_as_before_is_not_news() -> None:
    events = EventFilter()
    down = LinkChanged(at=1, machine=M, state=LinkState.DOWN, reason="no route")
    trying = LinkChanged(at=2, machine=M, state=LinkState.CONNECTING)
    assert events.changed_part(down) is down
    assert events.changed_part(trying) is None
    assert events.changed_part(replace(down, at=3.0)) is None
    assert events.changed_part(replace(down, at=4.0, reason="refused")) is not None


def test_the_state_of_an_ended_process_is_forgotten() -> None:
    events = EventFilter()
    events.changed_part(tasks(1))
    events.changed_part(ProcessGone(at=2, process=P))
    assert events.changed_part(tasks(3)) is not None


def test_every_event_has_its_columns_and_its_text() -> None:
    kinds = {type(event) for event in SAMPLES_OF_EVENTS}
    assert kinds <= set(get_args(Event))
    for event in SAMPLES_OF_EVENTS:
        assert event_columns(event)[0] == M
        assert event_of(line_of(event)) == event


async def test_hostile_text_of_a_host_is_kept_as_it_is(path: Path) -> None:
    hostile = "\ud800 \x1b]52;c;x\x07 \u202e"
    task = TaskKey(ProcessKey(M, 7, "s\udfff"), hostile)
    gone = ReadFailed(at=1, process=task.process, what=hostile, reason=hostile)
    async with Database.at(path) as database:
        book = journal(database, SetClock())
        await book.keep([gone])
        await book.keep_progress([(task, replace(point(1), tokens=10**30))])
        assert [each.event for each in await stored_events(database)] == [gone]
        [kept] = await book.progress(task)
        assert kept.tokens == 2**63 - 1


async def test_progress_comes_back_in_order(path: Path) -> None:
    clock = SetClock()
    async with Database.at(path) as database:
        book = journal(database, clock)
        points = [point(clock.later(1), number) for number in range(5)]
        for each in points:
            await book.keep_progress([(T, each)])
        assert await book.progress(T) == tuple(points)
        assert await book.progress(TaskKey(P, "other")) == ()


async def test_an_unchanged_task_is_stored_once_a_minute(path: Path) -> None:
    clock = SetClock()
    async with Database.at(path) as database:
        book = journal(database, clock)
        for _ in range(180):
            await book.keep_progress([(T, point(clock.later(1)))])
        assert len(await book.progress(T)) == 3


async def test_progress_is_thinned_as_it_ages(path: Path) -> None:
    clock = SetClock()
    start = clock.at
    async with Database.at(path) as database:
        book = journal(database, clock)
        for minute in range(0, 9 * 24 * 60, 60):
            at = start + minute * 60
            points = [(T, point(at + s, minute * 60 + s)) for s in range(0, 3_600, 30)]
            clock.at = at + 3_600
            await book.keep_progress(points)
        kept = await book.progress(T)
        now = clock.at
        ages = [now - each.at for each in kept]
        assert sum(age <= 3_600 for age in ages) >= 110
        hour_to_day = [age for age in ages if 3_600 + 3_700 < age < 86_400 - 3_700]
        assert len(hour_to_day) == pytest.approx(21 * 60, rel=0.06)
        day_to_week = [age for age in ages if 86_400 + 3_700 < age < 604_800 - 3_700]
        assert len(day_to_week) == pytest.approx(6 * 24 * 6, rel=0.05)
        older = [age for age in ages if age > 604_800 + 3_700]
        assert len(older) <= 2 * 24 + 3
        assert kept[-1].done > kept[0].done


async def test_the_history_keeps_to_its_size_and_the_oldest_goes(path: Path) -> None:
    clock = SetClock()
    async with Database.at(path) as database:
        book = journal(database, clock, limit_mib=1)
        for _ in range(30):
            rows = [
                ReadFailed(at=clock.later(60), process=P, what="tasks", reason=f"{n}" * 400)
                for n in range(150)
            ]
            await book.keep(rows)
        assert await database.size() > 1 << 20
        await book.tidy(clock.now())
        assert await database.size() <= 1 << 20
        assert path.stat().st_size <= (1 << 20) + 65_536
        kept = await stored_events(database)
        assert kept[-1].event.at == clock.at
        assert len(kept) > 500


async def test_two_desks_write_one_history(path: Path) -> None:
    async with Database.at(path) as one, Database.at(path) as two:
        await journal(one, SetClock()).keep(SAMPLES_OF_EVENTS[:1])
        await journal(two, SetClock()).keep(SAMPLES_OF_EVENTS[:1])
        assert len({each.desk for each in await stored_events(one)}) == 2
