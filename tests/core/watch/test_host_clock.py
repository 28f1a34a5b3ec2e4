"""Frames that waited on their way are as old as they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import ReadsUnchanged, SamplesSeen, TasksSeen
from core.watch.host_clock import REMEMBERED, HostClock
from tests.support.fleets import NOW
from tests.support.observing import ROW, Observed

HOST_AHEAD_S = 5_000.0


class Ages:
    """The ages of frames of one probe."""

    def __init__(self) -> None:
        self.clock = HostClock(HOST_AHEAD_S)

    def age(self, written: float, at: float) -> float:
        return at - self.clock.written_at({"at": written}, at)


def test_a_frame_that_waited_while_the_computer_slept_has_its_age() -> None:
    ages = Ages()
    for second in range(20):
        assert ages.age(NOW + HOST_AHEAD_S + second, NOW + second + 0.1) == 0.0
    burst = [ages.age(NOW + HOST_AHEAD_S + 20 + n, NOW + 320.0 + n / 100) for n in range(60)]
    assert burst[0] == pytest.approx(300.0, abs=1.0)
    assert burst[-1] == pytest.approx(241.0, abs=1.5)
    assert ages.age(NOW + HOST_AHEAD_S + 330, NOW + 330.2) == 0.0


@given(waits=st.lists(st.floats(0.0, 8.0), min_size=2, max_size=60))
def test_a_later_frame_is_never_older_than_one_before_it(waits: list[float]) -> None:
    """The trail of a task would begin anew."""
    clock, times, at = HostClock(0.0), list[float](), NOW
    for number, wait in enumerate(waits):
        at = max(at, NOW + number / 4 + wait)
        times.append(clock.written_at({"at": NOW + number / 4}, at))
        assert times[-1] <= at
    assert times == sorted(times)
    assert clock.written_at({"at": NOW}, NOW - 500.0) <= NOW - 500.0


def test_beats_that_waited_together_show_no_step() -> None:
    clock = HostClock(HOST_AHEAD_S)
    assert clock.step({"at": NOW + HOST_AHEAD_S}, NOW) is None
    for n in range(60):
        assert clock.step({"at": NOW + HOST_AHEAD_S + n}, NOW + 60.0 + n / 100) is None
    assert clock.step({"at": NOW + HOST_AHEAD_S + 65}, NOW + 65.0) is None


@pytest.mark.parametrize("step", [3_600.0, -3_600.0])
def test_after_a_step_of_the_hosts_clock_rows_are_fresh_again(step: float) -> None:
    ages = Ages()
    for beat in range(2 * REMEMBERED):
        moved = step if beat >= REMEMBERED else 0.0
        found = ages.age(NOW + 5.0 * beat + moved, NOW + 5.0 * beat)
        assert 0.0 <= found <= 3_600.0
    assert ages.age(NOW + 1_000.0 + step, NOW + 1_000.0) == 0.0


def test_a_slow_read_is_not_a_wait() -> None:
    ages = Ages()
    assert ages.age(NOW, NOW) == 0.0
    assert ages.age(NOW + 90.0, NOW + 90.4) == 0.0


def test_rows_from_before_a_sleep_are_not_dated_by_their_arrival() -> None:
    watched = Observed()
    watched.hello()
    watched.processes({})
    watched.steer()
    watched.answer("tasks", [ROW])
    watched.steer()
    watched.samples((1, "running"))
    clock = watched.now
    watched.now += 300.0  # the computer slept; what the probe sent before it arrives now
    [tasks] = watched.answer("tasks", [{**ROW, "attempts": 2}], at=clock)
    rows: dict[str, Any] = {
        "as_of": clock,
        "counts": {"running": 0},
        "samples": [],
        "truncated": False,
    }
    [samples] = watched.answer("s/", rows, at=clock)
    polls = [[7, "b:1", watched.name_of("tasks"), clock, 0.01]]
    unchanged = watched.receive("beat", polls=polls, at=clock + 1.0)
    assert isinstance(tasks, TasksSeen)
    assert isinstance(samples, SamplesSeen)
    assert tasks.at == pytest.approx(clock, abs=0.1)
    assert samples.at == pytest.approx(clock, abs=0.1)
    [seen] = [event for event in unchanged if isinstance(event, ReadsUnchanged)]
    assert seen.at == pytest.approx(clock + 1.0, abs=0.1)
    [fresh] = watched.answer("tasks", [ROW])
    assert isinstance(fresh, TasksSeen)
    assert fresh.at == watched.now
