"""What a desk keeps in its history, and what it takes from there."""

from dataclasses import replace

import pytest

from core.desk import acknowledgements
from core.desk.past import Past
from core.events import TimePassed
from core.finding_events import FindingsMuted
from core.model.finding import Finding
from core.model.mute import Mute
from core.model.task import TaskState
from core.ports import EventStore
from tests.support.connections import FakeConnection, logs, up
from tests.support.desks import (
    KEY,
    FakeEventStore,
    FakeObserver,
    desk_of,
    frame_of,
    running,
    until,
)
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)


@pytest.fixture(autouse=True)
def observer_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.desk.Observer", FakeObserver)


async def test_events_and_progress_are_kept() -> None:
    store = FakeEventStore()
    rows = frame_of(process_seen(), tasks_seen(task_row(done=3)), samples_seen(sample(1)))
    desk = desk_of(FakeConnection(H1, up(H1), rows), store=store)
    async with running(desk):
        await until(lambda: store.points)
    assert named() in store.events
    assert process_seen() in store.events
    assert store.points[0][1].done == 3


async def test_findings_are_kept_when_they_change_and_come_back_with_their_age() -> None:
    store = FakeEventStore()
    rows = frame_of(process_seen(), tasks_seen(task_row(errored=3)), process_gone())
    desk = desk_of(
        FakeConnection(H1, up(H1), rows, answer=lambda frame: logs(frame, "error")), store=store
    )
    async with running(desk):
        await until(lambda: [each for each in store.findings if each.kind == "finished"])
    kept = {each.id: each for each in store.findings}
    kinds = sorted(each.kind for each in kept.values())
    past = Past(events=tuple(store.events), findings=tuple(kept.values()))
    again = desk_of(FakeConnection(H1), past=past, store=FakeEventStore())
    assert again.fleet.tasks[KEY].state is TaskState.ERROR
    assert again.fleet.tasks[KEY].ended_at == desk.fleet.tasks[KEY].ended_at
    assert again.fleet.processes[KEY.process].is_gone
    assert sorted(each.kind for each in again.fleet.findings) == kinds
    assert {each.opened_at for each in again.fleet.findings} == {NOW}


async def test_a_finding_that_a_command_acknowledged_closes_in_the_open_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acknowledgements, "READ_INTERVAL_S", 0.01)
    store = FakeEventStore()
    rows = frame_of(process_seen(), tasks_seen(task_row(errored=3)), process_gone())
    connection = FakeConnection(H1, up(H1), rows, answer=lambda frame: logs(frame, "error"))
    desk = desk_of(connection, store=store)
    async with running(desk):
        await until(lambda: any(each.waits for each in desk.fleet.findings))
        [waiting] = [each for each in desk.fleet.findings if each.waits]
        store.acknowledged_elsewhere.add(waiting.id)
        await until(lambda: not any(each.waits for each in desk.fleet.findings))
    [done] = [each for each in desk.fleet.findings if each.id == waiting.id]
    assert done.acknowledged_at is not None


async def test_a_mute_of_a_command_reaches_the_open_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledgements, "READ_INTERVAL_S", 0.01)
    store = FakeEventStore()
    desk = desk_of(FakeConnection(H1, up(H1)), store=store)
    mute = Mute(until=NOW + 1_000, kind="stall")
    async with running(desk):
        store.mutes_elsewhere.append(FindingsMuted(at=NOW, id="a", mute=mute))
        await until(lambda: desk.fleet.mutes == (mute,))
        end = mute.lasting(NOW)
        store.mutes_elsewhere.append(FindingsMuted(at=NOW, id="b", mute=end))
        await until(lambda: desk.fleet.mutes == ())


async def test_a_mute_that_was_ended_does_not_come_back_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acknowledgements, "READ_INTERVAL_S", 0.01)
    store = FakeEventStore()
    mute, other = Mute(until=NOW + 1_000, kind="stall"), Mute(until=NOW + 1_000, kind="disk")
    store.mutes_elsewhere += [
        FindingsMuted(at=NOW - 3, id="a", mute=mute),
        FindingsMuted(at=NOW - 2, id="b", mute=mute.lasting(NOW - 2)),
        FindingsMuted(at=NOW - 1, id="c", mute=other),
    ]
    desk = desk_of(FakeConnection(H1, up(H1)), store=store)
    seen = set[tuple[Mute, ...]]()
    desk.listen(lambda _: seen.add(desk.fleet.mutes))
    async with running(desk):
        await until(lambda: desk.fleet.mutes == (other,))
    assert all(mute not in each for each in seen)


async def test_open_findings_that_a_former_room_left_are_closed_in_the_history() -> None:
    mine = Finding(
        id="storage:1",
        kind="storage",
        severity="alarm",
        opened_at=NOW - 9,
        machine=None,
        text="full",
    )
    left = (
        mine,
        replace(mine, id="storage:2"),
        replace(mine, id="answer:1", machine=H1, process=process_seen().process),
        replace(mine, id="link:1", machine=H1),
        replace(mine, id="end:1", machine=H1, is_kept=True),
        replace(mine, id="far:1", machine=H2),
    )
    store = FakeEventStore()
    desk = desk_of(FakeConnection(H1), past=Past(findings=left), store=store)
    async with running(desk):
        await until(lambda: store.findings)
    closed = {each.id for each in store.findings if each.closed_at is not None}
    assert closed == {"storage:1", "storage:2", "answer:1"}


async def test_waiting_events_are_kept_when_the_room_closes() -> None:
    store = FakeEventStore()
    desk = desk_of(FakeConnection(H1), store=store)
    async with running(desk):
        desk.post(process_seen())
        await until(lambda: desk.fleet.processes)
    assert process_seen() in store.events


async def test_a_disk_that_fails_is_a_finding_and_the_room_goes_on() -> None:
    store = FakeEventStore()
    store.fails = True
    connection = FakeConnection(H1, up(H1))
    desk = desk_of(connection, store=store)
    async with running(desk):
        await until(lambda: desk.fleet.findings)
        [finding] = desk.fleet.findings
        assert finding.kind == "storage"
        assert "the disk is full" in finding.text
        store.fails = False
        connection.say(frame_of(process_seen()))
        await until(lambda: desk.fleet.findings[0].closed_at is not None)
    assert desk.fleet.processes


async def test_progress_is_the_stored_points_then_the_trail() -> None:
    desk = desk_of(
        FakeConnection(H1, frame_of(process_seen(), tasks_seen(task_row()))), store=FakeEventStore()
    )
    async with running(desk):
        await until(lambda: desk.fleet.tasks)
        points = await desk.progress(KEY)
    assert [point.at for point in points] == [NOW - 50, NOW]


async def test_time_makes_old_things_leave() -> None:
    desk = desk_of(
        FakeConnection(H1, frame_of(process_seen(), tasks_seen(task_row()), process_gone()))
    )
    async with running(desk):
        await until(lambda: desk.fleet.tasks)
        desk.post(TimePassed(at=NOW + 90_000))
        await until(lambda: not desk.fleet.processes)


def test_store_is_a_port() -> None:
    port: EventStore = FakeEventStore()
    assert port is not None
