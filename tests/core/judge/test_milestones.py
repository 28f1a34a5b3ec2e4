"""Milestones: notices of a task on its way, each told once."""

from dataclasses import replace

import pytest

from core.events import OrderGiven
from core.fleet import Fleet
from core.ids import SampleKey
from core.model.action import Action, Verb
from core.model.task import TaskRow
from tests.support.fleets import NOW, sample, samples_seen, task_key, task_row, tasks_seen
from tests.support.judge_scenes import HOSTILE, after, begun, is_harmless
from tests.support.orders import order


def told(*rows: TaskRow) -> list[str]:
    """Return the milestones, in order, of a task with these rows one after the other."""
    fleet = begun(rows[0])
    for number, row in enumerate(rows[1:], 1):
        fleet = after(fleet, tasks_seen(row, at=NOW + number))
    return texts(fleet)


def texts(fleet: Fleet) -> list[str]:
    notices = [each for each in reversed(fleet.findings) if each.kind == "milestone"]
    assert all(each.severity == "notice" and not each.is_open for each in notices)
    return [each.text for each in notices]


def test_a_task_tells_its_first_sample_each_quarter_and_the_end_that_is_near() -> None:
    counts = (0, 1, 2, 24, 25, 49, 50, 75, 89, 90, 99)
    assert told(*(task_row(done=done) for done in counts)) == [
        "The first sample is done: 1 of 100 samples have ended",
        "25%: 25 of 100 samples have ended",
        "50%: 50 of 100 samples have ended",
        "75%: 75 of 100 samples have ended",
        "Near the end: 90 of 100 samples have ended",
    ]


def test_of_several_at_once_only_the_furthest_is_told() -> None:
    assert told(task_row(done=3), task_row(done=80, errored=2)) == [
        "75%: 82 of 100 samples have ended, 2 of them errored"
    ]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param((task_row(done=40),), id="what was so when it was first seen"),
        pytest.param((task_row(done=40), task_row(done=100)), id="the end, which is told apart"),
        pytest.param((task_row(total=1), task_row(total=1, done=1)), id="one sample"),
        pytest.param((task_row(done=1), task_row(done=60, eval_id="second")), id="another attempt"),
    ],
)
def test_what_is_not_told(rows: tuple[TaskRow, ...]) -> None:
    assert told(*rows) == []


def test_a_small_task_has_no_quarters() -> None:
    rows = [task_row(total=4, done=done) for done in range(4)]
    assert told(*rows) == ["The first sample is done: 1 of 4 samples have ended"]


def test_a_milestone_is_told_once_also_after_a_requeue() -> None:
    rows = [task_row(done=done) for done in (24, 25, 24, 25)]
    assert told(*rows) == ["25%: 25 of 100 samples have ended"]


def test_quiesced_is_safe_to_end() -> None:
    paused = replace(task_row(flying=0), paused=("task",))
    assert told(task_row(), paused, replace(paused, quiesced=True)) == [
        "gdm_intercode_ctf is paused with nothing in flight: it is safe to end"
    ]


def test_a_requeue_that_passed_is_told() -> None:
    target = SampleKey(task_key(), 7, 1)
    requeue = replace(order("o1", target=target), action=Action(verb=Verb.REQUEUE))
    fleet = after(begun(task_row()), samples_seen(sample(7, status="error"), sample(8)))
    fleet = after(fleet, OrderGiven(at=NOW, order=requeue), samples_seen(sample(7), sample(8)))
    assert texts(fleet) == []
    done = (sample(7, status="completed", retries=1), sample(8, status="completed"))
    fleet = after(fleet, samples_seen(*done), samples_seen(*done, at=NOW + 4))
    assert texts(fleet) == ["Sample 7/1 passed after its requeue"]


def test_a_requeue_of_someone_else_that_passed_is_told_too() -> None:
    fleet = after(begun(task_row()), samples_seen(sample(7, status="error"), sample(8)))
    fleet = after(fleet, samples_seen(sample(7, status="queued"), sample(8), at=NOW + 1))
    fleet = after(fleet, samples_seen(sample(7, retries=1), sample(8, retries=1), at=NOW + 2))
    assert texts(fleet) == []
    done = (sample(7, status="completed", retries=1), sample(8, status="completed", retries=1))
    fleet = after(fleet, samples_seen(*done, at=NOW + 3), samples_seen(*done, at=NOW + 4))
    assert texts(fleet) == ["Sample 7/1 passed after its requeue"]


def test_hostile_names_do_no_harm() -> None:
    row = task_row(task=HOSTILE)
    fleet = after(begun(row), tasks_seen(replace(row, quiesced=True, paused=("task",)), at=NOW + 1))
    assert all(is_harmless(each) for each in fleet.findings)
    assert len(texts(fleet)) == 1
