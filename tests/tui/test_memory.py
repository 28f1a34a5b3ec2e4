"""What the room keeps in memory: what its fleet needs, and no more with the time."""

import asyncio
import gc
import weakref
from collections import Counter

import pytest
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.pilot import Pilot
from textual.strip import Strip

from cli.wiring.room import replay_services
from core.config.model import WatchConfig
from core.desk.desk import Desk
from core.events import MachineNamed, TimePassed
from core.ids import MachineName
from tests.support.busy_fleets import busy_fleet
from tests.support.clocks import SetClock
from tests.support.rooms import COLOURS, FakeRoom, shows
from tests.support.sim.connection import SimConnection
from tests.support.sim.far_side import Settings
from tests.support.waiting import until
from tui.app import RoomApp

POLL_EVERY_S = 10.0
KEEP_GONE_S = 600.0
OURS = ("core.", "tui.", "textual.strip", "rich.segment", "_asyncio", "asyncio")
ROUNDS = 700
"""Three machines are polled in each."""
RECONNECT_EVERY, KEY_EVERY = 7, 30
CANCELLED_TIMERS = 110
"""A loop of asyncio forgets cancelled timers only when there are a hundred of them."""
KEYS = ("2", "j", "3", "j", "4", "1", "k")


def objects_by_type() -> Counter[str]:
    """Count the living objects of our types and of those that drawing makes."""
    gc.collect()
    names = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(name for name in names if name.startswith(OURS))


async def test_two_thousand_polls_and_a_hundred_reconnects_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.judge.finding_list.MAX_FINDINGS", 50)
    monkeypatch.setattr("core.fold.trails.MAX_POINTS", 5)
    clock = SetClock()
    settings = Settings(processes=2, samples=5, changing=0.5)
    links = [SimConnection(MachineName(f"m{n}"), settings, clock) for n in range(3)]
    desk = Desk(
        connections=links,
        named=[
            MachineNamed(at=clock.now(), machine=each.machine, address="x", kind="command")
            for each in links
        ],
        watch=WatchConfig(keep_gone=KEEP_GONE_S),
        clock=clock,
    )
    app = RoomApp(replay_services(desk), environ=COLOURS)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: all(each.is_running for each in links), "the desk listens")

        async def live(rounds: int) -> None:
            for number in range(rounds):
                clock.later(POLL_EVERY_S)
                if number % RECONNECT_EVERY == 0:
                    link = links[number // RECONNECT_EVERY % len(links)]
                    link.lose()
                    link.start_others()
                    link.connect()
                for each in links:
                    each.poll()
                    each.requests.clear()
                if number % KEY_EVERY == 0:
                    await pilot.press(KEYS[number // KEY_EVERY % len(KEYS)])
                desk.post(TimePassed(at=clock.now(), keep_gone=KEEP_GONE_S))
                await asyncio.sleep(0)
            await until(lambda: _has_taken_all(desk), "the desk has taken what was sent")
            await pilot.pause()

        for each in links:
            each.connect()
        await live(KEY_EVERY * len(KEYS))
        before = objects_by_type()
        await live(ROUNDS)
        after = objects_by_type()
    more = {
        name: (before[name], count)
        for name, count in after.items()
        if count > before[name] * 1.5 + (CANCELLED_TIMERS if name.endswith("TimerHandle") else 30)
    }
    assert not more, "objects before and after, by type"


def _has_taken_all(desk: Desk) -> bool:
    """Whether nothing that a machine sent waits for its turn."""
    intake = desk._intake  # pyright: ignore[reportPrivateUsage]
    lanes = intake._lanes.values()  # pyright: ignore[reportPrivateUsage]
    busy = any(each.has_work or each.decoding is not None for each in lanes)
    return not (busy or intake._posted)  # pyright: ignore[reportPrivateUsage]


async def test_drawing_leaves_no_line_for_the_garbage_collector() -> None:
    app = RoomApp(replay_services(FakeRoom(busy_fleet())), environ=COLOURS)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2", "1")
        gc.collect()
        gc.disable()
        try:
            before = _strips()
            for _ in range(40):
                await pilot.press("2", "j", "1", "k")
            after = _strips()
        finally:
            gc.enable()
    assert after < before + 100, (before, after)


def _strips() -> int:
    return sum(isinstance(each, Strip) for each in gc.get_objects())


async def test_a_closed_screen_keeps_no_line() -> None:
    app = RoomApp(replay_services(FakeRoom(busy_fleet())), environ=COLOURS)
    async with app.run_test(size=(120, 40)) as pilot:
        await _see_the_journal(pilot)
        gc.collect()
        before = _strips()
        for _ in range(8):
            await _see_the_journal(pilot)
        gc.collect()
        after = _strips()
    assert after < before + 100, (before, after)


def test_the_lines_of_a_widget_are_freed_with_it() -> None:
    lines = StylesCache()
    lines.get_inner_outer(Color(1, 2, 3), Color(4, 5, 6))
    freed = weakref.ref(lines)
    del lines
    gc.collect()
    assert freed() is None


async def _see_the_journal(pilot: Pilot[None]) -> None:
    await pilot.press("J")
    await shows(pilot, "Journal of orders")
    await pilot.press("escape")
    await until(lambda: len(pilot.app.screen_stack) == 1, "it is closed", before=pilot.pause)


async def test_a_line_is_kept_once_more_for_all_filters_together() -> None:
    app = RoomApp(replay_services(FakeRoom(busy_fleet())), environ=COLOURS)
    async with app.run_test(size=(120, 40)):
        first, second = app.get_line_filters(), app.get_line_filters()
        assert len(first) == 1
        assert first[0] is second[0], "another filter would make every line anew"
