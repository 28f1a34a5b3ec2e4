import random
from collections.abc import Sequence

import pytest

from core.judge.pace import (
    ENOUGH_SAMPLES,
    TimeLeft,
    durations,
    quantile,
    time_left,
    tokens_per_minute,
)
from core.model.task import ProgressPoint, Task
from tests.support.fleets import (
    NOW,
    fleet_after,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)


def _points(*tokens: tuple[float, int | None]) -> list[ProgressPoint]:
    return [
        ProgressPoint(at=at, done=0, errored=0, in_flight=None, tokens=count)
        for at, count in tokens
    ]


def test_a_rate_is_of_the_last_two_minutes() -> None:
    steady = _points(*((second, second * 10) for second in range(0, 600, 10)))
    assert tokens_per_minute(steady, 590) == pytest.approx(600, rel=0.01)


def test_a_rate_falls_while_nothing_comes() -> None:
    points = _points((0, 0), (60, 6_000))
    assert tokens_per_minute(points, 60) == pytest.approx(6_000)
    assert tokens_per_minute(points, 120) == pytest.approx(3_000)
    assert tokens_per_minute(points, 150) == pytest.approx(1_500)
    assert tokens_per_minute(points, 300) == 0


def test_a_step_of_the_hosts_clock_does_not_make_finished_samples_longer() -> None:
    rows = [
        sample(
            number, status="completed", started_at=NOW - 5_000, completed_at=NOW - 1_000,
            total_time=20.0,
        )
        for number in range(6)
    ]  # fmt: skip
    fleet = fleet_after(
        process_seen(), tasks_seen(task_row(total=20, done=6, flying=2)), samples_seen(*rows)
    )
    assert durations(fleet.tasks[task_key()]) == [20.0] * 6


def test_a_rate_is_unknown_early_and_without_tokens() -> None:
    assert tokens_per_minute([], 10) is None
    assert tokens_per_minute(_points((0, None), (60, None)), 60) is None
    assert tokens_per_minute(_points((0, 10)), 2) is None


def _task(took: Sequence[float], *, total: int, ages: Sequence[float] = ()) -> Task:
    rows = [
        *(
            sample(i, status="completed", started_at=NOW - 5_000, completed_at=NOW - 5_000 + each)
            for i, each in enumerate(took)
        ),
        *(sample(f"r{i}", started_at=NOW - age) for i, age in enumerate(ages)),
    ]
    row = task_row(done=len(took), total=total, flying=len(ages))
    fleet = fleet_after(process_seen(), tasks_seen(row), samples_seen(*rows))
    return fleet.tasks[task_key()]


def test_time_left_is_unknown_early_while_held_and_when_nothing_runs() -> None:
    assert time_left(_task([10] * (ENOUGH_SAMPLES - 1), total=100, ages=[1]), NOW) is None
    assert time_left(_task([10] * 20, total=100), NOW) is None
    assert time_left(_task([10] * 20, total=20, ages=[]), NOW) is None


def test_equal_samples_make_a_narrow_range() -> None:
    left = time_left(_task([60.0] * 20, total=120, ages=[0.0] * 10), NOW)
    assert left is not None
    # A hundred are left, ten at once, a minute each.
    assert left.p50 == pytest.approx(600, rel=0.1)
    assert left.p50 <= left.p90 <= 750


def test_a_long_tail_widens_the_range() -> None:
    even = time_left(_task([60.0] * 20, total=120, ages=[0.0] * 10), NOW)
    tailed = time_left(_task([40.0] * 18 + [240.0] * 2, total=120, ages=[0.0] * 10), NOW)
    assert even is not None
    assert tailed is not None
    assert tailed.p90 - tailed.p50 > 2 * (even.p90 - even.p50)


def test_the_last_running_sample_that_is_older_than_all_others_is_not_nearly_done() -> None:
    left = time_left(_task([60.0] * 20, total=21, ages=[600.0]), NOW)
    assert left is not None
    assert left.p50 >= 250


@pytest.mark.parametrize("waiting", [0, 3, 90, 900])
def test_the_range_holds_in_simulated_runs(waiting: int) -> None:
    """About half of the runs end by p50 and nine in ten by p90, with a long tail."""
    chance = random.Random(waiting)
    runs, by_p50, by_p90 = 120, 0, 0
    for _ in range(runs):
        took = [chance.lognormvariate(4, 0.8) for _ in range(60)]
        ages = [chance.uniform(0, 60) for _ in range(10)]
        left = time_left(_task(took, total=70 + waiting, ages=ages), NOW)
        assert left is not None
        actual = _simulate(chance, ages, waiting)
        by_p50 += actual <= left.p50
        by_p90 += actual <= left.p90
    assert 0.3 <= by_p50 / runs <= 0.8
    assert 0.78 <= by_p90 / runs <= 0.99


def _simulate(chance: random.Random, ages: Sequence[float], waiting: int) -> float:
    ends = list[float]()
    for age in ages:
        lasts = chance.lognormvariate(4, 0.8)
        while lasts <= age:
            lasts = chance.lognormvariate(4, 0.8)
        ends.append(lasts - age)
    for _ in range(waiting):
        ends.sort()
        ends[0] += chance.lognormvariate(4, 0.8)
    return max(ends)


def test_without_rows_the_rate_of_the_trail_is_used() -> None:
    fleet = fleet_after(process_seen(), tasks_seen(task_row(total=100)))
    for step in range(1, 6):
        row = task_row(done=step * 10, total=100)
        fleet = fleet_after(tasks_seen(row, at=NOW + step * 60), fleet=fleet)
    left = time_left(fleet.tasks[task_key()], NOW + 300)
    assert isinstance(left, TimeLeft)
    assert left.p50 == pytest.approx(300)
    assert left.p90 > left.p50


def test_a_quantile_lies_between_its_neighbours() -> None:
    assert quantile([1, 2, 3], 0.5) == 2
    assert quantile([1, 2], 0.9) == pytest.approx(1.9)
    assert quantile([7], 0.9) == 7
