"""A new room begins with the history of the last hours."""

from dataclasses import replace

import pytest

from core.desk.past import Past, with_past
from core.events import Dismissed, Event
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.finding import Finding
from core.model.process import ProcessState
from core.model.task import TaskState
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    dead_eval_found,
    fleet_after,
    log_read,
    logged,
    named,
    process_gone,
    process_key,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

pytestmark = pytest.mark.pure
LATER = NOW + 3_600


def begun(*events: Event, since: float = 0.0, findings: tuple[Finding, ...] = ()) -> Fleet:
    fleet = fleet_after(named(at=LATER))
    return with_past(fleet, Past(events=events, findings=findings, since=since))


def test_an_ended_task_comes_back_with_its_age_and_its_numbers() -> None:
    samples = logged(total=12, completed=7, errored=5, scored=7, cut=12)
    fleet = begun(
        process_seen(),
        tasks_seen(task_row()),
        process_gone(at=NOW + 60),
        log_read("error", at=NOW + 61, samples=samples),
    )
    task = fleet.tasks[task_key()]
    assert (task.state, task.ended_at, task.heard_at) == (TaskState.ERROR, NOW + 60, NOW + 61)
    assert task.progress.errored == 5
    assert fleet.processes[process_key()].ended_at == NOW + 60
    assert fleet.at == LATER


def test_a_task_that_was_never_listed_comes_back_with_its_process() -> None:
    log = "/l/2026_t_abcdefgh.eval"
    left = replace(dead_eval_found(log, pid=100, at=NOW + 61), process=process_key())
    fleet = begun(process_seen(python="/p/python"), process_gone(at=NOW + 60), left)
    [process], [task] = fleet.processes.values(), fleet.tasks.values()
    assert (process.python, process.ended_at) == ("/p/python", NOW + 60)
    assert (task.row.log_location, process.tasks) == (log, (task.key,))


def test_a_list_that_was_kept_in_parts_ends_no_task() -> None:
    fleet = begun(
        process_seen(),
        tasks_seen(task_row("t1"), task_row("t2")),
        tasks_seen(task_row("t2", status="completed"), at=NOW + 5),
    )
    states = {key.task_id: task.state for key, task in fleet.tasks.items()}
    assert states == {"t1": TaskState.RUNNING, "t2": TaskState.FINISHING}
    assert fleet.processes[process_key()].state is not ProcessState.GONE


def test_processes_that_ended_long_ago_were_dismissed_or_have_no_machine_stay_away() -> None:
    fleet = begun(
        process_seen(pid=1),
        process_gone(pid=1, at=NOW),
        process_seen(pid=2),
        process_gone(pid=2, at=NOW + 60),
        Dismissed(at=NOW + 61, process=process_key(pid=2)),
        process_seen(H2, pid=3),
        process_seen(pid=4),
        since=NOW + 30,
    )
    assert set(fleet.processes) == {process_key(pid=4)}


def test_an_eval_that_died_unseen_comes_back_unless_it_was_dismissed() -> None:
    found = dead_eval_found("/logs/a_abcdefgh.eval", at=NOW + 60)
    read = log_read("started", task=TaskKey(found.process, "abcdefgh"), at=NOW + 61, eval_id="e")
    fleet = begun(found, read)
    [task] = fleet.tasks.values()
    assert (task.state, task.row.eval_id) == (TaskState.LOST, "e")
    dismissed = begun(found, read, Dismissed(at=NOW + 62, process=found.process))
    assert not dismissed.processes
    assert not fleet_after(replace(found, at=LATER), fleet=dismissed).processes


def test_findings_come_back_but_open_ones_about_nothing_and_those_about_evalroom() -> None:
    one = Finding(id="a", kind="lost", severity="alarm", opened_at=NOW, machine=H1, text="lost")
    findings = (
        replace(one, closed_at=NOW, task=task_key()),
        replace(one, id="b", process=process_key(pid=9)),
        replace(one, id="c", machine=None),
        replace(one, id="d"),
    )
    assert [each.id for each in begun(findings=findings).findings] == ["d", "a"]
