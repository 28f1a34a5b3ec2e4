"""How a task ended is for its log to say."""

import json

import pytest

from core.events import LogRead, LogUnreadable
from core.fleet import Fleet
from core.frames import encode
from core.model.task import TaskState
from core.ports import Reply
from core.watch.log_headers import header_event, header_frame, unread_tasks
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    fleet_after,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

ENDED = fleet_after(process_seen(), tasks_seen(task_row(status="completed")))
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


def answered(body: object, status: int | None = 0, error: str | None = None) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(at=NOW, took=1.0, status=status, error=error, body=raw)


def told(fleet: Fleet, reply: Reply) -> LogRead | LogUnreadable:
    return header_event(fleet, task_key(), reply, NOW)


def test_a_log_is_wanted_from_the_end_of_its_task_until_it_says_how() -> None:
    running = fleet_after(process_seen(), tasks_seen(task_row()))
    assert unread_tasks(running, H1) == ()
    assert unread_tasks(ENDED, H1) == (task_key(),)
    assert unread_tasks(ENDED, H2) == ()
    gone = fleet_after(process_gone(), fleet=running)
    assert unread_tasks(gone, H1) == (task_key(),)
    read = fleet_after(told(ENDED, answered(HEADER)), fleet=ENDED)
    assert read.tasks[task_key()].state is TaskState.SUCCESS
    assert unread_tasks(read, H1) == ()


@pytest.mark.parametrize("location", ["", "/" + "x" * 100_000])
def test_a_log_that_no_frame_can_name_is_not_wanted(location: str) -> None:
    fleet = fleet_after(
        process_seen(), tasks_seen(task_row(status="completed", log_location=location))
    )
    assert unread_tasks(fleet, H1) == ()


def test_the_request_names_the_log_and_the_process_that_wrote_it() -> None:
    frame = header_frame(ENDED, task_key())
    assert frame.kind == "header"
    assert frame.head == {"location": "/logs/t1.eval", "pid": 100, "start": "boot:100"}
    assert encode(frame)


def test_a_header_says_how_it_ended_and_its_scores() -> None:
    event = told(ENDED, answered(HEADER))
    assert isinstance(event, LogRead)
    header = event.header
    assert (header.status, header.eval_id) == ("success", "e-t1")
    assert (header.completed_samples, header.total_samples) == (8, 9)
    assert [(each.name, each.value, each.stderr) for each in header.metrics] == [
        ("accuracy", 0.5, 0.1)
    ]


def test_a_log_that_is_still_started_is_lost_once_its_process_is_gone() -> None:
    started = answered({**HEADER, "status": "started", "results": None})
    alive = fleet_after(told(ENDED, started), fleet=ENDED)
    assert alive.tasks[task_key()].state is TaskState.FINISHING
    assert unread_tasks(alive, H1) == (task_key(),)
    gone = fleet_after(process_gone(), fleet=ENDED)
    gone = fleet_after(told(gone, started), fleet=gone)
    assert gone.tasks[task_key()].state is TaskState.LOST


@pytest.mark.parametrize(
    "reply",
    [
        answered(b"", status=1),
        answered(b"", status=None, error="no such file\x1b[2J"),
        answered(b"Traceback"),
        answered({"eval": {}}),
        answered([]),
        answered(b'{"status":7}'),
    ],
)
def test_a_log_that_can_not_be_read_proves_nothing(reply: Reply) -> None:
    event = told(ENDED, reply)
    assert isinstance(event, LogUnreadable)
    assert event.reason
    assert event.reason.isprintable()
