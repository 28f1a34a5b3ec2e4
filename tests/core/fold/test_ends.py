"""When processes ended, and evals that died while nobody looked."""

from dataclasses import replace

import pytest

from core.events import Dismissed
from core.ids import TaskKey
from core.model.log_summary import LogBuffer
from core.model.task import TaskState
from core.views.tables.processes import processes_table
from tests.support.fleets import (
    H1,
    NOW,
    dead_eval_found,
    fleet_after,
    judged_after,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.table_rows import text

pytestmark = pytest.mark.pure
LATER = NOW + 7_200
RUNNING = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()))
UNSEEN = fleet_after(process_gone(at=LATER, last_seen_at=NOW + 60), fleet=RUNNING)


def test_an_end_that_nobody_saw_is_between_the_last_sight_and_the_notice() -> None:
    process = UNSEEN.processes[process_key()]
    assert (process.ended_after, process.ended_at) == (NOW + 60, LATER)
    [row] = processes_table(UNSEEN, LATER + 5).rows
    assert text(row, "state") == "gone within 1h"
    assert text(row, "time") == ">6:00"
    later_call = fleet_after(process_gone(at=LATER + 900, last_seen_at=NOW + 60), fleet=RUNNING)
    assert later_call.processes[process_key()].ended_after == process.ended_after


def test_a_probe_that_sees_the_end_reports_its_time() -> None:
    seen = fleet_after(process_gone(at=LATER), fleet=RUNNING)
    assert seen.processes[process_key()].ended_after is None


def test_the_log_says_when_an_eval_ended_that_nobody_saw_end() -> None:
    read = fleet_after(log_read("success", completed_at=NOW + 500, at=LATER + 1), fleet=UNSEEN)
    process, task = read.processes[process_key()], read.tasks[task_key()]
    assert (process.ended_after, process.ended_at, task.ended_at) == (None, NOW + 500, NOW + 500)
    assert task.heard_at == LATER + 1


def test_a_log_without_an_end_says_until_when_its_eval_wrote() -> None:
    lost = fleet_after(log_read("started", last_written_at=NOW + 900, at=LATER), fleet=UNSEEN)
    process = lost.processes[process_key()]
    assert (process.ended_after, process.ended_at) == (NOW + 900, LATER)


def test_an_eval_that_died_unseen_is_lost_by_its_log_and_is_a_finding() -> None:
    found = dead_eval_found("/l/2026_t_abcdefgh.eval", "/l/odd.eval", at=LATER, run_id="r1")
    fleet = judged_after(found, fleet=fleet_after(named(), link()))
    keys = [TaskKey(found.process, "abcdefgh"), TaskKey(found.process, "odd.eval")]
    assert list(fleet.tasks) == keys
    assert {task.state for task in fleet.tasks.values()} == {TaskState.FINISHING}
    lost = log_read(
        "started", task=keys[0], eval_id="e1", buffer=LogBuffer(completed=3, in_progress=1),
        run="20260101-000000-aaaaaaaa", at=LATER,
    )  # fmt: skip
    named_so = replace(lost.header, task="ctf", model="m/x", location=found.logs[0])
    lost = replace(lost, header=named_so)
    fleet = judged_after(lost, fleet=fleet)
    task, process = fleet.tasks[keys[0]], fleet.processes[found.process]
    assert (task.state, task.row.task, task.row.model, task.row.eval_id) == (
        TaskState.LOST, "ctf", "m/x", "e1",
    )  # fmt: skip
    assert (process.ended_after, process.ended_at) == (NOW - 600, LATER)
    assert process.run == "20260101-000000-aaaaaaaa"
    [finding] = [each for each in fleet.findings if each.kind == "lost"]
    assert (finding.severity, finding.closed_at) == ("alarm", None)
    # The next probe finds the same files: nothing changes, also after a recovery of the log.
    assert fleet_after(replace(found, at=LATER + 60), fleet=fleet).tasks == fleet.tasks
    recovered = replace(named_so, status="error", location="/l/2026_t_abcdefgh-recovered.eval")
    fleet = judged_after(replace(lost, header=recovered), fleet=fleet)
    assert fleet.tasks[keys[0]].row.log_location == recovered.location
    assert [each.kind for each in fleet.findings if each.waits] == ["finished"]
    assert fleet_after(replace(found, at=LATER + 90), fleet=fleet).tasks == fleet.tasks


def test_files_of_an_eval_that_is_known_add_only_its_unknown_logs() -> None:
    log = task_row().log_location
    found = dead_eval_found(log, "/l/b.eval", pid=100, wrote_at=NOW + 100, started_at=NOW - 290)
    assert fleet_after(found, fleet=RUNNING) == replace(RUNNING, at=found.at), "it still runs"
    gone = fleet_after(process_gone(at=NOW + 110), fleet=RUNNING)
    fleet = fleet_after(found, fleet=gone)
    assert list(fleet.processes) == [process_key()]
    assert list(fleet.tasks) == [task_key(), TaskKey(process_key(), "b.eval")]
    alone = replace(found, logs=(f"{log}",))
    assert fleet_after(alone, fleet=gone).tasks == gone.tasks


def test_an_eval_that_ended_before_its_tasks_were_listed_has_a_row_from_its_log() -> None:
    seen = fleet_after(process_seen(), process_gone(at=NOW + 3))
    log = "/l/2026-01-01T00-00-00+00-00_t_abcdefgh.eval"
    found = replace(dead_eval_found(log, pid=100, wrote_at=NOW + 2), process=process_key())
    fleet = fleet_after(found, fleet=seen)
    [task] = fleet.tasks.values()
    assert (task.key.process, task.row.log_location, task.state) == (
        process_key(), log, TaskState.FINISHING,
    )  # fmt: skip
    assert fleet.processes[process_key()].tasks == (task.key,)


def test_a_listed_task_takes_a_later_log_and_no_earlier_one() -> None:
    row = task_row("abcdefgh", log_location="/l/2026-01-02_t_abcdefgh.eval")
    fleet = fleet_after(process_seen(), tasks_seen(row), process_gone(at=NOW + 10))
    for day, location in ((1, row.log_location), (3, "/l/2026-01-03_t_abcdefgh.eval")):
        logs = f"/l/2026-01-0{day}_t_abcdefgh.eval"
        found = replace(dead_eval_found(logs, pid=100, wrote_at=NOW + 5), process=process_key())
        [task] = fleet_after(found, fleet=fleet).tasks.values()
        assert task.row.log_location == location


def test_files_of_a_later_process_with_the_same_pid_are_another_eval() -> None:
    gone = fleet_after(process_gone(at=NOW + 10), fleet=RUNNING)
    found = dead_eval_found("/l/b.eval", pid=100, wrote_at=NOW + 5_000, at=LATER)
    assert list(fleet_after(found, fleet=gone).processes) == [process_key(), found.process]


def test_files_of_a_dismissed_eval_do_not_bring_it_back() -> None:
    gone = fleet_after(process_gone(at=NOW + 110), fleet=RUNNING)
    dismissed = fleet_after(Dismissed(at=NOW + 120, process=process_key()), fleet=gone)
    found = dead_eval_found("/logs/t1.eval", pid=100, wrote_at=NOW + 100, started_at=NOW - 290)
    assert not fleet_after(found, fleet=dismissed).processes
    assert found.process.machine == H1
