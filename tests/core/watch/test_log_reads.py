"""Its log alone says how a task ended; a read that failed says nothing."""

import json
from typing import Any

import pytest

from core.events import LogRead, LogUnreadable
from core.fleet import Fleet
from core.frames import encode
from core.model.log_summary import ErrorGroup, LogCounts
from core.model.task import TaskState
from core.ports import Reply
from core.watch.log_reads import (
    MAX_BATCH_LOGS,
    batch_of,
    log_answer,
    log_event,
    logs_frame,
    pythons,
    unread_tasks,
)
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    fleet_after,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

ENDED = fleet_after(process_seen(), tasks_seen(task_row(status="completed")))
LOCATION = "/logs/t1.eval"
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"eval_id": "e-t1"},
    "results": {
        "total_samples": 9,
        "completed_samples": 8,
        "scores": [
            {
                "name": "includes",
                "scorer": "includes",
                "metrics": {
                    "accuracy": {"name": "accuracy", "value": 0.5},
                    "stderr": {"name": "stderr", "value": 0.1},
                },
            }
        ],
    },
}


SAMPLES: dict[str, Any] = {
    "counts": {"total": 12, "completed": 5, "errored": 3, "cancelled": 1, "scored": 5},
    "errors": [["ValueError('bad 1')", 2, 1, 1], ["ValueError('bad 2')", 1, 2, 1]],
    "rows": [{"sample_id": 1, "epoch": 1, "status": "error", "retries": 0}],
}


def answered(*answers: object, error: str | None = None, why: str | None = None) -> Reply:
    body = json.dumps({"answers": answers, "why": why}).encode()
    return Reply(at=NOW, took=1.0, status=0, error=error, body=body)


def log_of(**header: object) -> dict[str, Any]:
    return {"log": LOCATION, "header": {**HEADER, **header}, "samples": SAMPLES}


def event_in(reply: Reply) -> LogRead | LogUnreadable:
    return log_event(task_key(), log_answer(reply).logs[LOCATION], NOW)


def test_a_log_is_wanted_from_the_end_of_its_task_until_it_says_how() -> None:
    running = fleet_after(process_seen(), tasks_seen(task_row()))
    assert unread_tasks(running, H1) == ()
    assert unread_tasks(ENDED, H1) == (task_key(),)
    assert unread_tasks(ENDED, H2) == ()
    gone = fleet_after(process_gone(), fleet=running)
    assert unread_tasks(gone, H1) == (task_key(),)
    read = fleet_after(event_in(answered(log_of())), fleet=ENDED)
    assert read.tasks[task_key()].state is TaskState.SUCCESS
    assert unread_tasks(read, H1) == ()


@pytest.mark.parametrize("location", ["", "/" + "x" * 100_000])
def test_a_log_that_no_frame_can_name_is_not_wanted(location: str) -> None:
    fleet = fleet_after(
        process_seen(), tasks_seen(task_row(status="completed", log_location=location))
    )
    assert unread_tasks(fleet, H1) == ()


def test_the_request_names_the_logs_and_the_interpreters_that_the_desk_knows() -> None:
    fleet = fleet_after(
        process_seen(pid=7, python="/other/python"),
        process_seen(python="/venv/bin/python", data_dir="/data"),
        process_seen(machine=H2, pid=8, python="/elsewhere/python"),
        tasks_seen(task_row("t1", status="completed"), task_row("t2", status="completed")),
    )
    frame = logs_frame(fleet, (task_key("t1"), task_key("t2")))
    assert frame.kind == "logs"
    assert frame.head["asked"]["logs"] == ["/logs/t1.eval", "/logs/t2.eval"]
    assert frame.head["pythons"] == ("/venv/bin/python", "/other/python")
    assert frame.head["data_dir"] == "/data"
    assert pythons(fleet, task_key()) == frame.head["pythons"]
    assert encode(frame)


@pytest.mark.parametrize("letters", ["x" * 3_000, "é" * 3_000], ids=["ascii", "escaped"])
def test_a_batch_fits_into_a_frame_and_shares_an_interpreter_and_a_data_folder(
    letters: str,
) -> None:
    long = f"/{letters}"
    rows = [
        task_row(f"t{number}", status="completed", log_location=f"{long}{number}")
        for number in range(MAX_BATCH_LOGS + 20)
    ]
    fleet = fleet_after(
        process_seen(python="/a/python"),
        process_seen(pid=200, python="/b/python"),
        process_seen(pid=300, python="/a/python", data_dir="/data"),
        tasks_seen(*rows),
        tasks_seen(task_row(status="completed"), pid=200),
        tasks_seen(task_row(status="completed"), pid=300),
    )
    keys = unread_tasks(fleet, H1)
    batch = batch_of(fleet, keys)
    assert 1 < len(batch) < MAX_BATCH_LOGS
    assert encode(logs_frame(fleet, batch))
    *same, other_python, other_data = keys
    for other in (other_python, other_data):
        assert batch_of(fleet, (other, same[0])) == (other,)


def test_the_log_replaces_the_numbers_of_the_last_poll() -> None:
    rows = [sample(1), sample(2)]
    seen = fleet_after(samples_seen(*rows), fleet=ENDED)
    before = seen.tasks[task_key()]
    assert before.has_polled_counts
    task = fleet_after(event_in(answered(log_of(status="error"))), fleet=seen).tasks[task_key()]
    assert (task.state, task.has_polled_counts) == (TaskState.ERROR, False)
    counts = task.progress
    assert (counts.total, counts.completed, counts.errored) == (12, 5, 3)
    assert (counts.cancelled, counts.abandoned, counts.in_flight) == (1, 3, 0)
    assert task.scored == (5, 12)
    assert task.logged is not None
    assert task.logged.counts == LogCounts(
        total=12, completed=5, errored=3, cancelled=1, abandoned=3, scored=5
    )
    assert task.logged.errors == (ErrorGroup("ValueError: bad N", 3, (1, 1)),)
    assert [(key, row.status) for key, row in task.samples.items()] == [((1, 1), "error")]
    assert task.samples_cut == 8
    late = fleet_after(
        samples_seen(*rows), fleet=fleet_after(event_in(answered(log_of())), fleet=seen)
    )
    assert set(late.tasks[task_key()].samples) == {(1, 1)}


def test_a_header_says_how_it_ended_and_its_scores() -> None:
    event = event_in(answered(log_of()))
    assert isinstance(event, LogRead)
    header = event.header
    assert (header.status, header.eval_id) == ("success", "e-t1")
    assert (header.completed_samples, header.total_samples) == (8, 9)
    assert [(each.name, each.value, each.stderr) for each in header.metrics] == [
        ("accuracy", 0.5, 0.1)
    ]


def test_a_log_that_is_still_started_is_lost_once_its_process_is_gone() -> None:
    started = event_in(answered(log_of(status="started", results=None)))
    alive = fleet_after(started, fleet=ENDED)
    assert alive.tasks[task_key()].state is TaskState.FINISHING
    assert unread_tasks(alive, H1) == (task_key(),)
    gone = fleet_after(process_gone(), fleet=ENDED)
    gone = fleet_after(started, fleet=gone)
    assert gone.tasks[task_key()].state is TaskState.LOST


def test_a_log_that_can_not_be_read_proves_nothing_and_stays_wanted() -> None:
    unread = event_in(answered({"log": LOCATION, "error": "no such file\x1b[2J"}))
    assert isinstance(unread, LogUnreadable)
    assert unread.reason == "no such file␛[2J"
    gone: Fleet = fleet_after(process_gone(), unread, fleet=ENDED)
    assert gone.tasks[task_key()].state is TaskState.UNREADABLE
    assert unread_tasks(gone, H1) == (task_key(),)
    found = fleet_after(event_in(answered(log_of())), fleet=gone)
    assert found.tasks[task_key()].state is TaskState.SUCCESS
    assert found.tasks[task_key()].log_problem is None


def test_a_task_that_never_named_a_log_is_unreadable_and_not_lost() -> None:
    nameless = tasks_seen(task_row(status="completed", log_location=""))
    fleet = fleet_after(process_seen(), nameless, process_gone())
    assert fleet.tasks[task_key()].state is TaskState.UNREADABLE
    assert fleet.tasks[task_key()].log_problem == "Inspect never reported a log of this task"


@pytest.mark.parametrize(
    "reply",
    [
        answered(error="no answer in 60 s"),
        Reply(at=NOW, took=1, status=0, error=None, body=b"Traceback"),
        Reply(at=NOW, took=1, status=0, error=None, body=b"[]"),
        answered(why="it ran out of memory"),
        answered({"header": {}}, why="an answer without a log"),
    ],
)
def test_a_read_that_failed_names_no_log(reply: Reply) -> None:
    answer = log_answer(reply)
    assert not answer.logs
    assert answer.why.isprintable()
