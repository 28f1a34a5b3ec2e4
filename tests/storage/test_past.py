"""The history of the last hours, read for a new room or for a command."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from core.desk.past import NOTHING, leftover_findings, with_past
from core.events import LinkHeard, LogRead, ProcessGone, ProcessSeen
from core.finding_events import FindingsMuted
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.finding import Finding, Severity
from core.model.log_summary import ErrorGroup, LogCounts, LogHeader, LogSamples
from core.model.mute import MAX_MUTE_S, Mute
from core.model.process import ProcessState
from core.model.sample import Sample
from core.task_events import SpinUpTimed
from storage.database import Database
from storage.journal import Journal
from storage.past import past_readonly
from tests.support.clocks import SetClock
from tests.support.fleets import fleet_after, named

M = MachineName("h100-1")
P = ProcessKey(M, 7, "boot:9")
SAMPLES = LogSamples(
    counts=LogCounts(total=2, completed=1, errored=1),
    errors=(ErrorGroup("ValueError: N", 1, ("q/1", 1)),),
    rows=(Sample(sample_id="q/1", epoch=1, status="error", raw=b"{}"),),
    cut=1,
)
LOG = LogRead(
    at=30, task=TaskKey(P, "t"), header=LogHeader(location="/l", status="error"), samples=SAMPLES
)
FINDING = Finding(
    id="end:1", kind="finished", severity="alarm", opened_at=30, machine=M, text="over"
)
EVENTS = (ProcessSeen(at=10, process=P, state=ProcessState.LIVE), ProcessGone(at=20, process=P))


async def test_the_past_holds_events_and_the_newest_state_of_findings(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    assert past_readonly(path, 0) == NOTHING
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep((*EVENTS, LinkHeard(at=25, machine=M), LOG))
        await journal.keep_findings([FINDING, replace(FINDING, id="old", opened_at=1)])
        closed = replace(FINDING, closed_at=40, changed_at=40)
        await journal.keep_findings([closed])
        past = await journal.past(15)
        assert past_readonly(path, 15) == past
    # Rows of samples stay in the log.
    kept = replace(LOG, samples=replace(SAMPLES, rows=(), cut=2))
    assert past.events == (*EVENTS, kept)
    assert past.findings == (closed,)
    assert past.since == 15


async def test_an_acknowledgement_is_found_and_a_room_that_does_not_know_it_keeps_it(
    tmp_path: Path,
) -> None:
    waiting = replace(FINDING, is_kept=True)
    async with Database.at(tmp_path / "data" / "history.sqlite3") as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings([waiting, replace(waiting, id="other")])
        assert list(await journal.acknowledged(["end:1", "other", "none"])) == []
        done = replace(waiting, closed_at=50, acknowledged_at=50)
        await journal.keep_findings([done])
        assert list(await journal.acknowledged(["end:1", "other", "none"])) == [done]
        await journal.keep_findings([replace(waiting, text="changed", changed_at=60)])
        assert done in (await journal.past(0)).findings
        again = replace(waiting, opened_at=70)
        await journal.keep_findings([again])
        assert again in (await journal.past(0)).findings


async def test_an_open_finding_stays_acknowledged_until_a_room_finds_it_worse(
    tmp_path: Path,
) -> None:
    suspect = replace(FINDING, severity="suspect")
    async with Database.at(tmp_path / "data" / "history.sqlite3") as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings([replace(suspect, acknowledged_at=50)])
        said_more = replace(suspect, text="changed", changed_at=60)
        await journal.keep_findings([said_more])
        assert (await journal.past(0)).findings == (replace(said_more, acknowledged_at=50),)
        worse = replace(suspect, severity="alarm", changed_at=70)
        await journal.keep_findings([worse])
        assert (await journal.past(0)).findings == (worse,)


async def test_mutes_are_kept_once_and_other_instances_read_them(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    first = FindingsMuted(at=10, id="a", mute=Mute(until=99, kind="stall"))
    second = FindingsMuted(at=20, id="b", mute=Mute(until=99, finding="end:1"))
    async with Database.at(path) as database:
        mine = Journal(database, limit_mib=64, clock=SetClock())
        other = Journal(database, limit_mib=64, clock=SetClock())
        await mine.keep([first, second])
        await other.keep([first])
        assert (await mine.mutes_after(0)).mutes == ()
        read = await other.mutes_after(0)
        assert read.mutes == (first, second)
        assert (await other.mutes_after(read.last)).mutes == ()
        assert (await mine.past(0)).mutes == (first, second)
        assert past_readonly(path, 0).mutes == (first, second)
        await mine.tidy(20.0 + MAX_MUTE_S)
        assert (await mine.past(0)).mutes == (second,)


async def test_a_history_without_mutes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings([FINDING])
        await database.write(lambda connection: connection.execute("DROP TABLE mute"))
    assert past_readonly(path, 0).findings == (FINDING,)


async def test_what_a_room_left_open_long_ago_is_closed_and_not_restored(tmp_path: Path) -> None:
    kept, over = replace(FINDING, id="k:1", is_kept=True), replace(FINDING, id="o:1", closed_at=31)
    async with Database.at(tmp_path / "data" / "history.sqlite3") as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings([FINDING, kept, over])
        past = await journal.past(9_000)
    assert (past.findings, past.stale) == ((kept,), (FINDING,))
    fleet = with_past(fleet_after(named(machine=M, at=9_500)), past)
    assert [each.id for each in fleet.findings] == ["k:1"]
    [closed] = leftover_findings(fleet, past)
    assert (closed.id, closed.closed_at) == (FINDING.id, 9_500)


async def test_rows_that_can_not_be_read_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep(EVENTS)
        await journal.keep_findings([FINDING])

        def spoil(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE event SET body = '{' WHERE kind = 'ProcessGone'")
            connection.execute("UPDATE finding SET body = '[]'")

        await database.write(spoil)
        past = await journal.past(0)
    assert (past.events, past.findings) == (EVENTS[:1], ())


@pytest.mark.parametrize(
    ("older", "today"),
    [("hand", "alarm"), ("look", "suspect"), ("error", "alarm"), ("good", "notice")],
)
async def test_findings_of_an_older_history_keep_their_severity(
    older: str, today: Severity, tmp_path: Path
) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings([FINDING])

        def make_older(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE finding SET body = json_set(json_remove(body, '$.severity'), '$.tone', ?)",
                (older,),
            )

        await database.write(make_older)
        past = await journal.past(0)
    assert past.findings == (replace(FINDING, severity=today),)


async def test_spin_ups_are_kept_for_longer_than_the_tasks_that_had_them(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    task = TaskKey(ProcessKey(MachineName("gone"), 7, "b:1"), "t")
    old = SpinUpTimed(at=1_000.0, task=task, name="t", model="m", seconds=900.0)
    async with Database.at(path) as database:
        mine = Journal(database, limit_mib=64, clock=SetClock())
        await mine.keep([old])
        assert (await mine.past(2_000_000.0)).spin_ups == (old,)
        assert (await mine.past(9_000_000.0)).spin_ups == ()
    fleet = with_past(Fleet(at=2_000_000.0), past_readonly(path, 2_000_000.0))
    assert fleet.spin_ups == {("t", "m"): (900.0,)}
