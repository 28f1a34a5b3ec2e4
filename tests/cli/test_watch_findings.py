"""`evalroom watch --findings`: its lines, its ends and its exit statuses, on a desk."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import pytest

from cli.commands import watch_findings
from cli.commands.watch_findings import ALARM_STATUS, print_findings
from cli.parser.observation import WatchCommand
from core.desk.desk import Desk
from core.errors import NoMachineReached
from core.events import Event
from core.finding_events import FindingsMerged, FindingsMuted, SameFinding
from core.model.finding import occurrence_id
from core.model.mute import Mute
from core.views.findings.names import short_id
from tests.support.clocks import SetClock
from tests.support.commands import Home
from tests.support.connections import FakeConnection, down, up
from tests.support.desks import PROBE, FakeObserver, desk_of, frame_of, listed, running, until
from tests.support.fleets import (
    H1,
    NOW,
    link,
    log_read,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)
from tests.support.stalls import hanging
from tests.support.waiting import wait_until

EVAL: tuple[Event, ...] = (process_seen(), tasks_seen(task_row(model="acme/m", flying=1)))
SUSPECT: tuple[Event, ...] = tuple(samples_seen(hanging(), at=NOW + each) for each in (90, 125))
ALARM: tuple[Event, ...] = (samples_seen(hanging(), at=NOW + 700),)
OVER: tuple[Event, ...] = tuple(
    samples_seen(sample(1, status="completed"), at=NOW + each) for each in (710, 720)
)
KIND = Mute(until=NOW + 9_000, kind="stall")


@pytest.fixture(autouse=True)
def observers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.desk.Observer", FakeObserver)
    monkeypatch.setattr(watch_findings, "SETTLE_S", 0.0)


@dataclass(frozen=True, slots=True)
class Watched:
    """A watch that runs, and what it is told."""

    desk: Desk
    connection: FakeConnection
    clock: SetClock
    ends: asyncio.Task[int]

    async def tell(self, *events: Event) -> None:
        """Let the machine send events, and wait until they are folded in."""
        folded = list[Event]()
        stop = self.desk.listen(folded.append)
        for event in events:
            self.clock.at = max(self.clock.at, event.at)
        self.connection.say(frame_of(*events))
        await until(lambda: self.ends.done() or len(folded) >= len(events))
        stop()

    async def status(self) -> int:
        """Return its exit status."""
        return await asyncio.wait_for(self.ends, 20)


@asynccontextmanager
async def watching(
    *begin: Event, ends_on: Literal["done", "alarm"] | None = None, as_json: bool = True
) -> AsyncGenerator[Watched]:
    """Run a watch on a desk with one machine that listed these."""
    clock = SetClock(NOW)
    connection = FakeConnection(H1, up(H1), listed(PROBE, *begin))
    desk = desk_of(connection, clock=clock)
    command = WatchCommand(seconds=None, findings=True, until=ends_on, timeout=5.0, as_json=as_json)
    async with running(desk):
        ends = asyncio.create_task(print_findings(desk, command, None))
        await until(lambda: ends.done() or desk.has_polled)
        try:
            yield Watched(desk, connection, clock, ends)
        finally:
            ends.cancel()
            await asyncio.gather(ends, return_exceptions=True)


def stalls(text: str) -> list[tuple[str, str, str]]:
    """The change, the severity and the id of each line about a stall."""
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["change"], row["severity"], row["id"]) for row in rows if row["kind"] == "stall"]


async def test_each_change_is_a_line_under_one_id(capsys: pytest.CaptureFixture[str]) -> None:
    async with watching(*EVAL) as watch:
        await watch.tell(*SUSPECT)
        await watch.tell(*ALARM)
        await watch.tell(*OVER)
    lines = stalls(capsys.readouterr().out)
    assert [line[:2] for line in lines] == [
        ("opened", "suspect"), ("worsened", "alarm"), ("closed", "alarm"),
    ]  # fmt: skip
    assert len({line[2] for line in lines}) == 1


async def test_lines_for_people_have_the_time_the_change_and_the_id(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watching(*EVAL, as_json=False) as watch:
        await watch.tell(*SUSPECT)
        [finding] = [each for each in watch.desk.fleet.findings if each.kind == "stall"]
    [line] = [each for each in capsys.readouterr().out.splitlines() if "stall" in each]
    assert line.split()[1:4] == ["opened", "suspect", short_id(finding)]


async def test_the_first_alarm_ends_a_watch_for_alarms_with_status_5() -> None:
    async with watching(*EVAL, ends_on="alarm") as watch:
        await watch.tell(*SUSPECT)
        assert not watch.ends.done()
        await watch.tell(*ALARM)
        assert await watch.status() == ALARM_STATUS == 5


@pytest.mark.parametrize("ends_on", ["done", "alarm"])
async def test_it_ends_with_0_once_every_eval_has_ended(
    ends_on: Literal["done", "alarm"], capsys: pytest.CaptureFixture[str]
) -> None:
    async with watching(*EVAL, ends_on=ends_on) as watch:
        await watch.tell(*SUSPECT)
        assert not watch.ends.done()
        ended = tasks_seen(task_row(status="completed", done=100, total=100), at=NOW + 130)
        await watch.tell(ended, process_gone(at=NOW + 140), log_read("success", at=NOW + 141))
        assert await watch.status() == 0
    assert "every eval has ended" in capsys.readouterr().err


async def test_alarms_do_not_end_a_watch_to_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    async with watching(*EVAL, ends_on="done") as watch:
        await watch.tell(*SUSPECT, *ALARM)
        assert not watch.ends.done()
    assert stalls(capsys.readouterr().out)


async def test_it_ends_at_once_where_no_eval_runs_and_fails_where_no_machine_answers() -> None:
    async with watching(ends_on="done") as watch:
        assert await watch.status() == 0
    desk = desk_of(FakeConnection(H1, down(H1)))
    command = WatchCommand(seconds=None, findings=True, until="done", timeout=5.0)
    async with running(desk):
        with pytest.raises(NoMachineReached):
            await asyncio.wait_for(print_findings(desk, command, None), 20)


async def test_a_muted_finding_is_silent_both_ways_and_told_once_its_mute_has_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watching(*EVAL, ends_on="alarm") as watch:
        watch.desk.post(FindingsMuted(at=NOW, id="a", mute=KIND))
        await watch.tell(*SUSPECT, *ALARM)
        assert stalls(capsys.readouterr().out) == []
        assert not watch.ends.done()
        watch.desk.post(FindingsMuted(at=NOW + 701, id="b", mute=KIND.lasting(NOW + 701)))
        assert await watch.status() == ALARM_STATUS
    [(change, severity, _)] = stalls(capsys.readouterr().out)
    assert (change, severity) == ("opened", "alarm")


async def test_what_opened_and_closed_while_it_was_muted_is_forgotten() -> None:
    desk = desk_of(FakeConnection(H1), clock=SetClock(NOW))
    command = WatchCommand(seconds=None, findings=True, until=None, timeout=5.0)
    watch = watch_findings._FindingWatch(desk, command, None)  # pyright: ignore[reportPrivateUsage]
    desk.listen(watch.on_event)
    async with running(desk):
        for event in (link(), FindingsMuted(at=NOW, id="a", mute=KIND), *EVAL, *SUSPECT):
            desk.post(event)
        await until(lambda: vars(watch)["_hushed"])
        for event in OVER:
            desk.post(event)
        await until(lambda: not vars(watch)["_hushed"])


async def test_the_end_of_a_muted_finding_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watching(*EVAL) as watch:
        await watch.tell(*SUSPECT)
        watch.desk.post(FindingsMuted(at=NOW + 126, id="a", mute=KIND))
        await until(lambda: watch.desk.fleet.mutes)
        await watch.tell(*OVER)
    assert [line[0] for line in stalls(capsys.readouterr().out)] == ["opened"]


async def test_the_id_of_another_room_is_told_and_is_no_news(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with watching(*EVAL) as watch:
        await watch.tell(*SUSPECT)
        [finding] = [each for each in watch.desk.fleet.findings if each.kind == "stall"]
        theirs = occurrence_id(finding.identity, NOW + 1)
        same = SameFinding(own=finding.id, id=theirs, opened_at=NOW)
        watch.desk.post(FindingsMerged(at=NOW + 126, same=(same,)))
        await until(lambda: any(each.id == theirs for each in watch.desk.fleet.findings))
        await watch.tell(*OVER)
    printed = capsys.readouterr().out
    lines = stalls(printed)
    assert [line[0] for line in lines] == ["opened", "renamed", "closed"]
    assert lines[1][2] == lines[2][2] != lines[0][2]
    was = [json.loads(line).get("was") for line in printed.splitlines()]
    assert was[-2:] == [
        lines[0][2], None,
    ]  # fmt: skip


def test_an_interrupt_ends_it_with_130(home: Home) -> None:
    home.watch_here(home.folder / "d")
    watch = home.start("watch", "--findings", "--json")
    try:
        wait_until(lambda: "here" in home.run("machines", "--json").out, "the watch runs")
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=60)
    finally:
        if watch.poll() is None:
            watch.kill()
            watch.communicate()
    assert watch.returncode == 130
