"""What machines send is taken in turns: a machine that sends too much slows only itself."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from core.desk.intake import (
    ALL_SHARE,
    BURST_S,
    MAX_ALL_WAITING_BYTES,
    MAX_WAITING_BYTES,
    MAX_WAITING_FRAMES,
    SHARE,
    Intake,
)
from core.events import Event, LinkHeard
from core.frames import HEAD_WEIGHT, MAX_HEAD, Frame
from core.ids import MachineName
from core.ports import Received
from tests.support.connections import FakeConnection
from tests.support.fleets import H1, H2, NOW
from tests.support.waiting import WAIT_S, until


class Taken:
    """An intake of two machines, and the events that came of what they sent."""

    def __init__(self) -> None:
        self.connections = {each: FakeConnection(each) for each in (H1, H2)}
        self.events: list[tuple[MachineName | None, Event]] = []
        self.cost = 0.0
        self.fails = False
        self.intake = Intake(
            self.connections,
            decode=self._decode,
            decoded=lambda _machine, _received: None,
            apply=lambda machine, event: self.events.append((machine, event)),
        )

    def _decode(self, machine: MachineName, received: Received, at: float) -> tuple[Event, ...]:
        if self.fails:
            raise ValueError("broken by the test")
        assert isinstance(received, Frame)
        if machine == H1:
            end = time.perf_counter() + self.cost
            while time.perf_counter() < end:
                pass
        return (LinkHeard(at=at, machine=machine),)

    def send(self, machine: MachineName, count: int = 1, size: int = 0, head_size: int = 0) -> None:
        """Send frames of a machine."""
        for number in range(count):
            frame = Frame("beat", {}, b"{" * size, head_size)
            self.intake.receive(machine, frame, NOW + number)

    def count(self, machine: MachineName | None) -> int:
        """Return how many events of a machine were applied."""
        return sum(each == machine for each, _ in self.events)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Take turns during the block."""

        task = asyncio.create_task(turns(self.intake))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.intake.close()


async def turns(intake: Intake) -> None:
    """Take turns for ever."""
    while True:
        await intake.turn()


async def test_a_full_lane_does_not_delay_the_others() -> None:
    taken = Taken()
    taken.cost = 0.001
    async with taken.running():
        taken.send(H1, 1_500)
        taken.send(H2)
        taken.intake.post(LinkHeard(at=NOW, machine=H2))
        await until(lambda: taken.count(H2) and taken.count(None), "the other one has its turn")
        assert taken.count(H1) < 100


async def test_the_events_of_a_machine_keep_their_order() -> None:
    taken = Taken()
    async with taken.running():
        taken.send(H1, 20)
        taken.send(H1, size=300_000)
        taken.send(H1, 20)
        await until(lambda: taken.count(H1) == 41, "all are applied")
    assert [each.at - NOW for _, each in taken.events] == [*range(20), 0, *range(20)]


async def test_a_machine_that_takes_too_much_time_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.intake.BURST_S", 0.05)
    taken = Taken()
    taken.cost = 0.02
    async with taken.running():
        taken.send(H1, 30)
        began = time.monotonic()
        await until(lambda: taken.count(H1) == 30, "all are applied")
        assert time.monotonic() - began > (30 * 0.02 - 0.1) / 0.3 * 0.8


async def test_the_more_machines_take_too_much_time_the_less_each_may_take() -> None:
    names = [MachineName(f"m{number}") for number in range(6)]
    intake = Intake(
        {each: FakeConnection(each) for each in names},
        decode=lambda _machine, _received, _at: (),
        decoded=lambda _machine, _received: None,
        apply=lambda _machine, _event: None,
    )
    rests = list[float]()
    for name in names[:5]:
        intake.spent(name, BURST_S)
        before = asyncio.get_running_loop().time()
        intake.spent(name, 1.0)
        lane = intake._lanes[name]  # pyright: ignore[reportPrivateUsage] - nothing else shows it
        rests.append(lane.rests_until - before)
    assert rests == pytest.approx([1 / min(SHARE, ALL_SHARE / n) for n in range(1, 6)], rel=0.05)
    intake.spent(names[5], BURST_S / 2)
    assert not intake.is_passed(names[5])
    intake.close()


async def test_while_the_screen_answers_a_key_nothing_of_a_machine_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.desk.intake.PAUSE_S", 0.2)
    taken = Taken()
    async with taken.running():
        began = asyncio.get_running_loop().time()
        await asyncio.to_thread(taken.intake.give_way)  # as the one that reads the terminal does
        taken.send(H1)
        taken.intake.post(LinkHeard(at=NOW, machine=H2))
        await until(lambda: taken.count(H1), "it is taken later")
        assert asyncio.get_running_loop().time() - began >= 0.2
    assert taken.events[0][0] is None  # what the operator does is taken at once


async def test_a_key_that_is_held_down_stops_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.intake.PAUSE_S", 0.02)
    taken = Taken()
    taken.cost = 0.002
    async with taken.running():
        taken.send(H1, 100)

        def goes_on() -> bool:
            taken.intake.give_way()
            return taken.count(H1) == 100

        await until(goes_on, "all are applied")


LARGE_HEADS = MAX_WAITING_BYTES // (MAX_HEAD * HEAD_WEIGHT) + 1


@pytest.mark.parametrize(
    ("count", "size", "head_size"),
    [(MAX_WAITING_FRAMES + 1, 0, 0), (1, MAX_WAITING_BYTES + 1, 0), (LARGE_HEADS, 0, MAX_HEAD)],
)
async def test_the_link_of_a_full_lane_is_not_read_until_it_has_room(
    count: int, size: int, head_size: int
) -> None:
    taken = Taken()
    taken.send(H1, count, size, head_size)
    assert taken.connections[H1].held == [True]
    assert taken.connections[H2].held == []
    async with taken.running():
        await until(lambda: taken.count(H1) == count, "all are applied")
    assert taken.connections[H1].held == [True, False]


async def test_no_large_answer_is_read_on_while_many_wait_of_whichever_machine() -> None:
    taken = Taken()
    size = MAX_ALL_WAITING_BYTES // 2 + 1
    taken.send(H1, size=size)
    assert taken.connections[H2].held_large == []
    taken.send(H2, size=size)
    for connection in taken.connections.values():
        assert connection.held_large == [True]
    assert taken.connections[H2].held == [True]
    async with taken.running():
        await until(lambda: taken.count(H1) == taken.count(H2) == 1, "both are applied")
    for connection in taken.connections.values():
        assert connection.held_large == [True, False]


async def test_a_large_frame_is_decoded_beside_the_loop() -> None:
    taken = Taken()
    taken.cost = 0.3
    async with taken.running():
        taken.send(H1, size=300_000)
        await until(lambda: taken.intake.is_passed(H1), "a thread decodes it", every=0.001)
        taken.send(H2)
        await until(lambda: taken.count(H2), "the other one has its turn", every=0.001)
        assert taken.count(H1) == 0
        await until(lambda: taken.count(H1), "it is applied")


async def test_an_error_of_the_decoder_ends_the_loop_also_from_the_thread() -> None:
    taken = Taken()
    taken.fails = True
    for size in (0, 300_000):
        taken.send(H1, size=size)
        with pytest.raises(ValueError, match="broken by the test"):
            await asyncio.wait_for(turns(taken.intake), WAIT_S)
    taken.intake.close()
