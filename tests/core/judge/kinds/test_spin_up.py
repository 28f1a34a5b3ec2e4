"""Spin-up: nothing is done for long, and what the task waits for."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.events import Event, OperationsSeen
from core.fleet import Fleet
from core.model.machine import LinkState
from core.model.operation import Operation
from core.model.sample import Activity, Sample
from core.model.task import TaskRow
from core.task_events import SpinUpTimed
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
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
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless

ROW = task_row(started_at=NOW, total_tokens=0, flying=0, queued=100)
BUILD = Operation(action="Subprocess", what="docker compose build", since=NOW + 20)


def read_for(
    seconds: float,
    *rows: TaskRow,
    samples: tuple[Sample, ...] = (),
    operations: tuple[Operation, ...] = (),
    fleet: Fleet | None = None,
    begin: float = 0,
    rules: JudgeConfig = USUAL_RULES,
) -> Fleet:
    """Return the fleet after these tasks were read every minute for so long."""
    rows = rows or (ROW,)
    fleet = fleet if fleet is not None else begun(*rows)
    if operations:
        seen = OperationsSeen(at=NOW + begin, process=process_key(), operations=operations)
        fleet = after(fleet, seen)
    for at in (*range(60, int(seconds), 60), seconds):
        events: list[Event] = [tasks_seen(*rows, at=NOW + begin + at)]
        if samples:
            events.append(samples_seen(*samples, at=NOW + begin + at))
        fleet = after(fleet, *events, rules=rules)
    return fleet


def test_fifteen_minutes_with_nothing_done_are_suspect() -> None:
    assert found(read_for(895), "spin-up") == []
    [long] = found(read_for(905), "spin-up")
    assert (long.severity, long.task, long.began_at) == ("suspect", task_key(), NOW)
    assert long.text == (
        "No sample of gdm_intercode_ctf is done after over 15m; no sample has started: it loads"
        " its data, its model or its sandboxes. See its output and its model, or cancel the task"
    )


def test_it_names_the_build_that_it_waits_for() -> None:
    [long] = found(read_for(905, operations=(BUILD,)), "spin-up")
    assert "is done after over 15m; it waits for docker compose build." in long.text


def test_samples_that_work_are_a_notice() -> None:
    row = replace(ROW, total_tokens=48_000)
    busy = tuple(sample(n, activity=Activity(type="approval", started_at=NOW)) for n in (1, 2))
    [long] = found(read_for(905, row, samples=busy), "spin-up")
    assert long.severity == "notice"
    assert long.text.endswith("2 of 2 running samples wait for an approval; they have used over"
                              " 32k tokens")  # fmt: skip


def test_what_such_a_task_took_before_moves_the_bound() -> None:
    """A first task of that name and model took 20 minutes, so the second has an hour."""
    first = replace(ROW, task_id="t0", eval_id="e-t0")
    fleet = read_for(1_200, first)
    done = replace(first, samples=replace(first.samples, completed=1))
    fleet = after(fleet, tasks_seen(done, at=NOW + 1_210))
    assert fleet.tasks[task_key("t0")].first_done_s == 1_210
    late = replace(ROW, started_at=NOW + 1_210)
    assert found(read_for(3_000, done, late, fleet=fleet, begin=1_210), "spin-up") == []
    assert len(found(read_for(3_700, done, late, fleet=fleet, begin=1_210), "spin-up")) == 1


def test_tasks_of_one_process_are_one_finding() -> None:
    other = replace(ROW, task_id="t2", eval_id="e-t2")
    [long] = found(read_for(905, ROW, other), "spin-up")
    assert long.count == 2
    assert "and 1 other task of its process" in long.text


def test_it_closes_when_a_sample_is_done() -> None:
    done = replace(ROW, samples=replace(ROW.samples, completed=1))
    fleet = after(read_for(905), *(tasks_seen(done, at=NOW + each) for each in (910, 920, 930)))
    assert found(fleet, "spin-up") == []


def test_the_spin_ups_of_earlier_rooms_are_known_after_a_restart() -> None:
    known = [
        SpinUpTimed(at=NOW, task=task_key("old"), name=ROW.task, model=ROW.model, seconds=each)
        for each in (1_200.0, 300.0)
    ]
    fleet = after(begun(ROW), *known)
    assert found(read_for(3_500, fleet=fleet), "spin-up") == []
    assert len(found(read_for(3_700, fleet=fleet), "spin-up")) == 1
    other = replace(ROW, task="another")
    assert len(found(read_for(3_500, other, fleet=after(begun(other), *known)), "spin-up")) == 1


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(replace(ROW, paused=("task",)), id="paused"),
        pytest.param(replace(ROW, started_at=None), id="not started"),
        pytest.param(task_row(started_at=NOW, done=0, errored=1), id="one errored"),
        pytest.param(task_row(started_at=NOW, total=0), id="its samples are not known"),
    ],
)
def test_what_is_not_a_long_spin_up(row: TaskRow) -> None:
    assert found(read_for(4_000, row), "spin-up") == []


def test_samples_that_stall_tell_it_already() -> None:
    hung = sample(1, activity=Activity(type="tool", started_at=NOW))
    assert found(read_for(3_000, samples=(hung,)), "spin-up") == []


def test_a_lost_link_neither_opens_nor_closes_it() -> None:
    fleet = after(read_for(800), link(LinkState.DOWN, at=NOW + 801))
    fleet = after(fleet, *(link(LinkState.CONNECTING, at=NOW + each) for each in (2_000, 3_000)))
    assert found(fleet, "spin-up") == []
    fleet = after(read_for(905), link(LinkState.DOWN, at=NOW + 906))
    fleet = after(fleet, *(link(LinkState.CONNECTING, at=NOW + each) for each in (2_000, 3_000)))
    assert len(found(fleet, "spin-up")) == 1


def test_the_config_sets_the_time() -> None:
    rules = JudgeConfig(values={"spin-up.least": 300.0})
    assert len(found(read_for(310, rules=rules), "spin-up")) == 1


def test_hostile_names_do_no_harm() -> None:
    row, build = replace(ROW, task=HOSTILE), replace(BUILD, words=HOSTILE)
    [long] = found(read_for(905, row, operations=(build,)), "spin-up")
    assert is_harmless(long)


def test_a_process_that_lists_no_task_waits_too() -> None:
    """Inspect builds images before it lists the task."""
    build = OperationsSeen(at=NOW + 10, process=process_key(), operations=(BUILD,))
    fleet = judged_after(named(), link(), process_seen(started_at=NOW), build)
    for seconds in (500, 890, 905, 911):
        fleet = after(fleet, tasks_seen(at=NOW + seconds))
    [waits] = found(fleet, "spin-up")
    assert "no task after over 15m; it waits for docker compose build" in waits.text
    fleet = after(fleet, process_gone(at=NOW + 920))
    for seconds in (926, 932, 938):
        fleet = after(fleet, link(at=NOW + seconds))
    assert not any(each.is_open for each in fleet.findings if each.kind == "spin-up")
