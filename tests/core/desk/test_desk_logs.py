"""Logs of ended tasks, read by the desk."""

from dataclasses import replace
from typing import Any

import pytest

from core.errors import RequestFailed
from core.events import Event, LogUnreadable
from core.frames import Frame
from core.model.machine import LinkState
from core.model.task import TaskState
from core.ports import Reply
from tests.support.clocks import SetClock
from tests.support.connections import FakeConnection, down, logs, reply, up
from tests.support.desks import KEY, PROBE, FakeObserver, desk_of, frame_of, running, until
from tests.support.fleets import (
    H1,
    NOW,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)


@pytest.fixture(autouse=True)
def observer_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.desk.desk.Observer", FakeObserver)


async def test_the_log_of_an_ended_task_is_read_once() -> None:
    connection = FakeConnection(H1, up(H1), answer=lambda frame: logs(frame, "success"))
    desk = desk_of(connection)
    async with running(desk):
        connection_says = frame_of(process_seen(), tasks_seen(task_row()), process_gone())
        await until(lambda: connection.sent)
        connection.say(connection_says)
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[KEY].is_over)
        await another_log_is_read(connection)
    assert desk.fleet.tasks[KEY].state is TaskState.SUCCESS
    assert [frame.head["pid"] for frame in connection.requests] == [KEY.process.pid, 2]


async def another_log_is_read(connection: FakeConnection) -> None:
    """Return once the log of a task that ended after all others was asked for: none was left."""
    connection.say(
        frame_of(process_seen(pid=2), tasks_seen(task_row(), pid=2), process_gone(pid=2))
    )
    await until(lambda: connection.requests and connection.requests[-1].head["pid"] == 2)


async def test_logs_that_end_together_are_read_by_few_starts_of_inspect_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.desk.intake.TURN_S", 1e-6)  # each event has a turn of its own
    rows = [task_row(f"t{number}") for number in range(60)]
    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(*rows), process_gone()),
        answer=lambda frame: logs(frame, "error"),
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: len(desk.fleet.tasks) == 60)
        await until(lambda: all(task.is_over for task in desk.fleet.tasks.values()))
    assert len(connection.requests) == 2
    assert connection.most_at_once == 1


async def test_a_log_that_hangs_the_reader_does_not_hold_up_the_logs_behind_it() -> None:
    rows = [task_row(f"t{number}") for number in range(3)]

    def answer(frame: Frame) -> Any:
        asked = frame.head["asked"]["logs"]
        hung = asked.index("/logs/t1.eval") if "/logs/t1.eval" in asked else len(asked)
        head = {**frame.head, "asked": {**frame.head["asked"], "logs": asked[:hung]}}
        return logs(replace(frame, head=head), "success")

    connection = FakeConnection(
        H1, up(H1), frame_of(process_seen(), tasks_seen(*rows), process_gone()), answer=answer
    )
    clock = SetClock(NOW)
    desk = desk_of(connection, clock=clock)
    async with running(desk):
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[task_key("t0")].is_over)

        def goes_on() -> bool:
            if len(connection.requests) < 2:  # time stops with the next try
                clock.later(10)
                connection.say(up(H1))
            return desk.fleet.tasks[task_key("t2")].is_over

        await until(goes_on)
    assert desk.fleet.tasks[task_key("t0")].state is TaskState.SUCCESS
    assert desk.fleet.tasks[task_key("t1")].state is TaskState.FINISHING
    assert connection.requests[1].head["asked"]["logs"] == ["/logs/t2.eval", "/logs/t1.eval"]


async def test_a_log_that_was_read_before_its_process_went_proves_no_loss() -> None:
    answers = iter(["started", "success"])

    def answer(frame: Frame) -> Any:
        connection.say(frame_of(process_gone()))
        return logs(frame, next(answers))

    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(task_row(status="completed"))),
        answer=answer,
    )
    desk = desk_of(connection)
    states = list[TaskState]()
    desk.listen(lambda _: states.extend(task.state for task in desk.fleet.tasks.values()))
    async with running(desk):
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[KEY].is_over)
    assert TaskState.LOST not in states
    assert desk.fleet.tasks[KEY].state is TaskState.SUCCESS


async def test_a_log_that_says_started_after_its_process_went_is_lost() -> None:
    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(task_row()), process_gone()),
        answer=lambda frame: logs(frame, "started"),
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[KEY].is_over)
    assert desk.fleet.tasks[KEY].state is TaskState.LOST


async def test_a_request_that_fails_says_nothing_of_the_log_and_waits() -> None:
    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(task_row()), process_gone()),
        answer=lambda _: RequestFailed("the link was lost"),
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: connection.requests)
        await another_log_is_read(connection)
    assert [frame.head["pid"] for frame in connection.requests] == [KEY.process.pid, 2]
    assert desk.fleet.tasks[KEY].state is TaskState.FINISHING


async def test_a_new_probe_tries_at_once_what_could_not_be_read() -> None:
    works: list[bool] = []

    def answer(frame: Frame) -> Any:
        return logs(frame, "success") if works else RequestFailed("other logs were being read")

    connection = FakeConnection(
        H1, up(H1), frame_of(process_seen(), tasks_seen(task_row()), process_gone()), answer=answer
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: connection.requests)
        works.append(True)
        connection.say(frame_of(PROBE))
        await until(lambda: desk.fleet.tasks[KEY].state is TaskState.SUCCESS)


async def test_a_log_that_can_not_be_read_is_unreadable_until_it_can() -> None:
    answers = ["the file does not exist"]

    def answer(frame: Frame) -> Any:
        if answers:
            location = frame.head["asked"]["logs"][0]
            return reply({"answers": [{"log": location, "error": answers.pop()}]})
        return logs(frame, "success")

    connection = FakeConnection(
        H1, up(H1), frame_of(process_seen(), tasks_seen(task_row()), process_gone()), answer=answer
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[KEY].is_over)
        assert desk.fleet.tasks[KEY].state is TaskState.UNREADABLE
        assert desk.fleet.tasks[KEY].log_problem == "the file does not exist"
        desk.read_log(KEY)
        await until(lambda: desk.fleet.tasks[KEY].state is TaskState.SUCCESS)


async def test_three_reads_that_fail_on_our_side_are_shown_and_prove_nothing() -> None:
    clock = SetClock(NOW)
    failed = Reply(at=NOW, took=1, status=None, error="no module inspect_ai", body=b"")
    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(task_row()), process_gone()),
        answer=lambda _: failed,
    )
    desk = desk_of(connection, clock=clock)
    reads = list[int]()

    def receive(event: Event) -> None:
        if isinstance(event, LogUnreadable):
            reads.append(len(connection.requests))

    def is_over() -> bool:
        clock.later(60)
        connection.say(up(H1))
        return bool(desk.fleet.tasks) and desk.fleet.tasks[KEY].is_over

    desk.listen(receive)
    async with running(desk):
        await until(lambda: desk.fleet.tasks)
        await until(is_over)
    assert reads[0] == 3
    assert desk.fleet.tasks[KEY].state is TaskState.UNREADABLE
    assert desk.fleet.tasks[KEY].log_problem == "no module inspect_ai"


async def test_a_log_of_another_attempt_is_not_read_again_and_again() -> None:
    other = {"status": "success", "eval": {"eval_id": "another"}, "results": None}
    connection = FakeConnection(
        H1,
        up(H1),
        frame_of(process_seen(), tasks_seen(task_row()), process_gone()),
        answer=lambda frame: logs(frame, "success", header=other),
    )
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: desk.fleet.tasks and desk.fleet.tasks[KEY].is_over)
        await another_log_is_read(connection)
    assert desk.fleet.tasks[KEY].state is TaskState.UNREADABLE
    assert "another attempt" in (desk.fleet.tasks[KEY].log_problem or "")
    assert [frame.head["pid"] for frame in connection.requests] == [KEY.process.pid, 2]


async def test_no_log_is_asked_for_while_the_link_is_down() -> None:
    events = frame_of(process_seen(), tasks_seen(task_row()), process_gone())
    asked_while = list[LinkState]()

    def answer(frame: Frame) -> Any:
        asked_while.append(desk.fleet.machines[H1].link.state)
        return logs(frame, "success")

    connection = FakeConnection(H1, events, down(H1), answer=answer)
    desk = desk_of(connection)
    async with running(desk):
        await until(lambda: desk.fleet.tasks)
        connection.say(frame_of(process_seen(pid=2)))
        await until(lambda: len(desk.fleet.processes) == 2)
        connection.say(up(H1))
        await until(lambda: desk.fleet.tasks[KEY].is_over)
    assert asked_while == [LinkState.UP]
