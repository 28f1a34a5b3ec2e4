import asyncio
import os
import stat
from pathlib import Path

import pytest

from core.desk.recorder import Recorder
from core.desk.replay import ReplayDesk, read_recording
from core.desk.step import advance
from core.errors import StorageError, Unsupported
from core.events import Dismissed, Event
from core.fleet import Fleet
from core.ports import FleetUpdate, Room
from tests.support.clocks import SetClock
from tests.support.fleets import (
    H1,
    NOW,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.recordings import write_recording
from tests.support.waiting import until

STORY: tuple[Event, ...] = (
    named(),
    link(),
    process_seen(at=NOW + 1),
    tasks_seen(task_row(errored=1), at=NOW + 2),
    samples_seen(sample(1), sample(2, status="error"), at=NOW + 3),
    process_gone(at=NOW + 60),
    log_read("success", at=NOW + 62),
)


def _fleet() -> Fleet:
    fleet = Fleet()
    for event in STORY:
        fleet = advance(fleet, event)
    return fleet


async def test_a_recording_plays_to_the_very_fleet_that_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    write_recording(path, STORY)
    desk = ReplayDesk(read_recording(path), clock=SetClock(), speed=0)
    room: Room = desk
    shown = list[FleetUpdate]()
    room.subscribe(shown.append)
    await room.run()
    assert shown[-1].fleet == desk.fleet == _fleet()
    assert desk.is_replay
    assert desk.now() == NOW + 62
    assert len(await desk.progress(task_key())) == 1


async def test_a_live_recording_plays_again(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    with Recorder(path) as record:
        for event in STORY:
            record(event)
    assert tuple(read_recording(path)) == STORY


async def test_a_recording_plays_in_its_own_time_as_often_as_fast() -> None:
    loop = asyncio.get_running_loop()

    class Clock:
        def now(self) -> float:
            return loop.time()

        def monotonic(self) -> float:
            return loop.time()

    desk = ReplayDesk(iter(STORY), clock=Clock(), speed=200)
    began = loop.time()
    await desk.run()
    assert 0.25 <= loop.time() - began < 20


async def test_time_runs_between_two_events_and_stops_at_the_end() -> None:
    clock = SetClock(at=50.0)
    desk = ReplayDesk(iter(STORY[:5]), clock=clock, speed=10)
    run = asyncio.create_task(desk.run())
    await until(lambda: desk.fleet.machines, "it began")
    clock.later(0.05)
    assert desk.now() == pytest.approx(NOW + 0.5)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    at = desk.now()
    clock.later(100)
    assert desk.now() == at


async def test_a_recording_can_be_asked_nothing() -> None:
    desk = ReplayDesk(iter(()), clock=SetClock())
    desk.focus(None)
    desk.retry(H1)
    desk.accept_key(H1, "SHA256:x")
    with pytest.raises(Unsupported, match="replay"):
        await desk.read(process_key(), "/tasks")
    assert await desk.progress(task_key()) == ()


async def test_a_gone_process_can_be_dismissed_in_a_recording() -> None:
    desk = ReplayDesk(iter(STORY), clock=SetClock(), speed=0)
    await desk.run()
    desk.post(Dismissed(at=NOW + 99, process=process_key()))
    assert not desk.fleet.processes


async def test_a_broken_recording_shows_what_came_before_it(tmp_path: Path) -> None:
    path = tmp_path / "room.jsonl"
    write_recording(path, STORY[:3])
    path.write_text(path.read_text() + "nonsense\n")
    desk = ReplayDesk(read_recording(path), clock=SetClock(), speed=0)
    with pytest.raises(StorageError, match="line 4"):
        await desk.run()
    assert desk.fleet.processes


def test_a_recording_that_cannot_be_opened_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't be written"):
        Recorder(tmp_path / "nowhere" / "room.jsonl")


def test_a_disk_that_fails_ends_the_recording() -> None:
    def record_on(recorder: Recorder) -> None:
        for _ in range(100_000):
            recorder(named())

    recorder = Recorder(Path("/dev/full"))
    with pytest.raises(StorageError, match="No space left"):
        record_on(recorder)
    recorder.close()


def test_a_recording_that_only_its_end_could_not_finish_is_reported_and_ends() -> None:
    recorder = Recorder(Path("/dev/full"))
    recorder(named())
    recorder.close()
    with pytest.raises(StorageError, match="is not complete: No space left"):
        recorder.check()


def test_a_recording_is_its_owners_alone_and_a_device_stays_everybodys(tmp_path: Path) -> None:
    file, device = tmp_path / "room.jsonl", tmp_path / "null"
    file.touch(0o644)
    os.mkfifo(device)
    device.chmod(0o666)
    reader = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    for path in (file, device):
        Recorder(path).close()
    os.close(reader)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(device.stat().st_mode) == 0o666
