"""A desk: what it shows, steers and asks."""

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from core.desk.recorder import Recorder
from core.desk.replay import read_recording
from core.errors import NotThere, StorageError
from core.events import Event, TimePassed
from core.ids import ProcessKey
from core.model.machine import LinkState
from core.ports import FleetUpdate, Received, Room, SignIn
from tests.support.connections import FakeConnection, down, reply, up
from tests.support.desks import (
    KEY,
    FakeObserver,
    desk_of,
    frame_of,
    listed,
    running,
    until,
)
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    named,
    process_key,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)


@pytest.fixture(autouse=True)
def observer_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.desk.Observer", FakeObserver)


def test_a_desk_is_a_room() -> None:
    room: Room = desk_of()
    assert not room.is_replay
    assert room.now() == NOW


async def test_frames_of_machines_are_folded_judged_and_shown() -> None:
    connection = FakeConnection(
        H1, up(H1), frame_of(process_seen(), tasks_seen(task_row(errored=2)))
    )
    shown = list[FleetUpdate]()
    desk = desk_of(connection, FakeConnection(H2, down(H2, at=NOW)))
    desk.subscribe(shown.append)
    async with running(desk):
        await until(lambda: shown and shown[-1].fleet.tasks)
    assert shown[-1].fleet.tasks[KEY].row.samples.errored == 2
    assert {finding.kind for finding in shown[-1].fleet.findings} == {"link", "errors"}
    assert list(shown[-1].fleet.machines) == [H1, H2]


async def test_many_events_are_shown_at_most_ten_times_a_second_and_the_last_is_shown() -> None:
    connection = FakeConnection(H1, up(H1), frame_of(process_seen()))
    shown = list[FleetUpdate]()
    desk = desk_of(connection)
    desk.subscribe(shown.append)
    loop = asyncio.get_running_loop()
    async with running(desk):
        await until(lambda: desk.fleet.processes)
        began = loop.time()
        for step in range(200):
            connection.say(frame_of(tasks_seen(task_row(done=step, total=200))))
            await asyncio.sleep(0.002)
        await until(lambda: shown[-1].fleet.tasks == desk.fleet.tasks)
        assert len(shown) <= (loop.time() - began) * 10 + 2


async def test_an_idle_fleet_shows_nothing() -> None:
    shown = list[FleetUpdate]()
    connection = FakeConnection(H1, up(H1))
    desk = desk_of(connection)
    async with running(desk):
        desk.subscribe(shown.append)
        await until(lambda: shown and shown[-1].fleet.machines[H1].link.state is LinkState.UP)
        count = len(shown)
        for pid in range(1, 5):  # a tenth of a second at least between two of them
            connection.say(frame_of(process_seen(pid=pid)))
            await until(partial(_shows, shown, process_key(pid=pid)))
        assert len(shown) == count + 4, "only what happened is shown"


def _shows(shown: Sequence[FleetUpdate], process: ProcessKey) -> bool:
    return process in shown[-1].fleet.processes


async def test_who_unsubscribed_sees_no_more() -> None:
    shown = list[FleetUpdate]()
    connection = FakeConnection(H1, up(H1))
    desk = desk_of(connection)
    others = list[FleetUpdate]()
    end = desk.subscribe(shown.append)
    desk.subscribe(others.append)
    async with running(desk):
        await until(lambda: shown)
        end()
        end()
        count = len(shown)
        connection.say(frame_of(process_seen()))
        await until(lambda: others[-1].fleet.processes)  # who stays has seen it by now
        assert len(shown) == count


async def test_every_event_is_heard_and_recorded_in_order(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    received = list[Event]()
    with Recorder(path) as recorder:
        desk = desk_of(FakeConnection(H1, up(H1), frame_of(process_seen())), record=recorder)
        end = desk.listen(received.append)
        async with running(desk):
            await until(lambda: desk.fleet.processes)
            desk.post(tasks_seen(task_row()))
            await until(lambda: desk.fleet.tasks)
        end()
    assert received == [up(H1), process_seen(), tasks_seen(task_row())]
    assert list(read_recording(path)) == [named(), *received]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_recording_that_fails_ends_and_is_reported_and_the_room_goes_on() -> None:
    def fail(event: Event) -> None:
        raise StorageError(f"no room for {type(event).__name__}")

    desk = desk_of(FakeConnection(H1, up(H1), frame_of(process_seen())), record=fail)
    async with running(desk):
        await until(lambda: desk.fleet.processes)
    assert [finding.kind for finding in desk.fleet.findings] == ["storage"]


# Steering


async def test_the_focused_task_reaches_the_probe_and_the_former_ones_too() -> None:
    connection, other = FakeConnection(H1, up(H1)), FakeConnection(H2, up(H2))
    desk = desk_of(connection, other)
    async with running(desk):
        await until(lambda: connection.sent and other.sent)
        desk.focus(KEY)
        await until(lambda: connection.sent[-1].head["focus"] == KEY)
        count = len(other.sent)
        desk.focus(task_key(machine=H2))
        await until(lambda: len(other.sent) > count)
        assert connection.sent[-1].head["focus"] == task_key(machine=H2)


async def test_a_chatty_machine_is_steered_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.steering.CALM_STEER_INTERVAL_S", 0.5)
    connection = FakeConnection(H1, up(H1))
    async with running(desk_of(connection)):
        began = asyncio.get_running_loop().time()
        for _ in range(50):
            await asyncio.sleep(0.005)
            connection.say(frame_of()) if connection.sent else None
        assert len(connection.sent) <= 2 + (asyncio.get_running_loop().time() - began) / 0.5
        steered = len(connection.sent)
        await until(lambda: len(connection.sent) > steered)


async def test_a_large_frame_is_decoded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[threading.Thread]()

    class Slow(FakeObserver):
        def events_of(self, received: Received, at: float) -> tuple[Event, ...]:
            threads.append(threading.current_thread())
            return super().events_of(received, at)

    connection = FakeConnection(H1, frame_of(process_seen(), body=b"x" * 1_000_000))
    monkeypatch.setattr("core.desk.desk.Observer", Slow)
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: desk.fleet.processes)
    assert threads != [threading.main_thread()]


# Asking


async def test_a_read_goes_to_the_connection_of_the_process() -> None:
    connection = FakeConnection(H1, up(H1), answer=lambda _: reply({"ok": True}, status=200))
    desk = desk_of(connection)
    async with running(desk):
        answer = await desk.read(process_key(), "/tasks")
    assert answer.body == b'{"ok": true}'
    head = connection.requests[0].head
    assert (connection.requests[0].kind, head["pid"], head["path"]) == ("get", 100, "/tasks")


async def test_a_read_of_a_machine_that_is_not_there_fails_in_words() -> None:
    with pytest.raises(NotThere, match="h100-2"):
        await desk_of(FakeConnection(H1)).read(process_key(H2), "/tasks")


def test_retry_and_accepted_keys_reach_the_connection() -> None:
    connection = FakeConnection(H1)
    desk = desk_of(connection)
    desk.retry(H1)
    desk.retry(H2)
    desk.accept_key(H1, "SHA256:x")
    assert (connection.retried, connection.accepted) == (1, ["SHA256:x"])


def test_a_process_is_polled_now_through_its_own_connection() -> None:
    connection = FakeConnection(H1)
    desk = desk_of(connection)
    desk.poll_now(process_key(H1))
    desk.poll_now(process_key(H2))
    (frame,) = connection.sent
    assert (frame.kind, frame.head["pid"]) == ("poll", process_key(H1).pid)


async def test_what_signs_in_is_for_the_connection_to_say() -> None:
    connection = FakeConnection(H1)
    connection.signs_in = SignIn(("ssh", "h100-1", "true"), is_kept=True)
    desk = desk_of(connection)
    assert await desk.sign_in(H1) == connection.signs_in
    assert await desk.sign_in(H2) is None


# First poll


async def test_the_first_poll_is_over_when_all_have_answered_or_failed() -> None:
    connection = FakeConnection(H1, up(H1))
    desk = desk_of(connection, FakeConnection(H2, down(H2)))
    async with running(desk):
        poll = asyncio.create_task(desk.first_poll(30.0))
        await until(lambda: connection.sent)
        assert desk.awaited() == ("h100-1",)
        connection.say(listed(process_seen()))
        await until(lambda: desk.fleet.processes)
        assert desk.awaited() == ("process 100 on h100-1",)
        received = list[Event]()
        desk.listen(received.append)
        desk.post(TimePassed(at=NOW))
        await until(lambda: received)
        assert not poll.done()
        connection.say(frame_of(tasks_seen(task_row())))
        assert await poll
        assert desk.awaited() == ()


async def test_the_first_poll_ends_at_its_time_all_the_same() -> None:
    desk = desk_of(FakeConnection(H1))
    async with running(desk):
        assert not await desk.first_poll(0.05)
