"""The tail: the last samples of a task that do not end."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.events import Event
from core.fleet import Fleet
from core.model.sample import Activity, Sample
from core.model.task import TaskRow
from tests.support.fleets import NOW, link, sample, samples_seen, task_row, tasks_seen
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless

MEDIAN = 600.0
DONE = tuple(
    sample(
        f"d{n}", status="completed", total_time=MEDIAN, started_at=NOW - 700, completed_at=NOW - n
    )
    for n in range(10)
)
NEAR = task_row(total=100, done=97, flying=3)


def working(number: int | str, at: float) -> Sample:
    """A sample that began before the last one ended, and has just done something."""
    busy = Activity(type="model", started_at=at - 1)
    return sample(number, started_at=NOW - 60, activity=busy)


def read_for(
    seconds: float,
    *,
    row: TaskRow = NEAR,
    done: tuple[Sample, ...] = DONE,
    names: tuple[int | str, ...] = (1, 2, 3),
    rules: JudgeConfig = USUAL_RULES,
) -> Fleet:
    """Return the fleet after the task was read every minute, and at the end."""
    fleet = begun(row)
    for at in (*range(0, int(seconds), 60), seconds):
        events: list[Event] = [
            tasks_seen(row, at=NOW + at),
            samples_seen(*done, *(working(n, NOW + at) for n in names), at=NOW + at),
        ]
        fleet = after(fleet, *events, rules=rules)
    return fleet


def test_nothing_that_ends_for_three_times_the_median_is_a_tail() -> None:
    assert found(read_for(3 * MEDIAN - 1), "tail") == []
    [tail] = found(read_for(3 * MEDIAN + 1), "tail")
    assert tail.severity == "suspect"
    assert tail.text == (
        "97 of 100 samples have ended, but none for over 30m; half of them took 10m at most;"
        " sample 1/1 is the oldest of 3 that still run. See what it does, or cancel and score it"
    )
    assert (tail.count, tail.proposals[0].action) == (3, "cancel-score")


def test_it_closes_when_a_sample_ends() -> None:
    fleet = read_for(3 * MEDIAN + 1)
    at = NOW + 3 * MEDIAN + 30
    ended = sample(1, status="completed", started_at=NOW - 60, completed_at=at)
    fleet = after(fleet, samples_seen(*DONE, ended, working(2, at), at=at))
    assert found(fleet, "tail") == []


SHORT = tuple(replace(each, total_time=2.0) for each in DONE)


@pytest.mark.parametrize(
    ("row", "done"),
    [
        pytest.param(task_row(total=100, done=90, flying=3), DONE, id="90% are done"),
        pytest.param(NEAR, DONE[:4], id="too few are known"),
        pytest.param(replace(NEAR, paused=("task",)), DONE, id="paused"),
        pytest.param(replace(NEAR, process_paused_now=True), DONE, id="held"),
    ],
)
def test_what_is_not_a_tail(row: TaskRow, done: tuple[Sample, ...]) -> None:
    assert found(read_for(10 * MEDIAN, row=row, done=done), "tail") == []


def test_short_samples_have_five_minutes() -> None:
    assert found(read_for(290, done=SHORT), "tail") == []
    assert len(found(read_for(301, done=SHORT), "tail")) == 1


def test_a_sample_that_was_run_again_has_its_own_time() -> None:
    fleet = begun(NEAR)
    late = sample(1, started_at=NOW + 3 * MEDIAN, activity=None)
    for at in (1.0, 3 * MEDIAN + 10, 3 * MEDIAN + 70):
        fleet = after(fleet, samples_seen(*DONE, late, at=NOW + at))
    assert found(fleet, "tail") == []


def test_a_tail_of_stalled_samples_is_told_once() -> None:
    fleet = begun(NEAR)
    hung = sample(1, started_at=NOW - 60, activity=Activity(type="tool", started_at=NOW))
    for at in range(0, 3_000, 60):
        fleet = after(fleet, samples_seen(*DONE, hung, at=NOW + at))
    assert [each.kind for each in fleet.findings if each.is_open] == ["stall"]


def test_the_config_sets_the_bounds() -> None:
    rules = JudgeConfig(values={"tail.times": 1.0})
    assert len(found(read_for(MEDIAN + 1, rules=rules), "tail")) == 1
    rules = JudgeConfig(values={"tail.done": 98.0})
    assert found(read_for(9 * MEDIAN, rules=rules), "tail") == []


def test_hostile_names_do_no_harm() -> None:
    [tail] = found(read_for(5 * MEDIAN, names=(HOSTILE,)), "tail")
    assert is_harmless(tail)


def test_a_link_that_was_down_for_hours_shows_no_tail() -> None:
    fleet = read_for(60)
    fleet = after(fleet, link(at=NOW + 9_000), samples_seen(*DONE, working(1, NOW + 9_000),
                                                            at=NOW + 9_000))  # fmt: skip
    assert found(fleet, "tail") == []
