"""Answers of polls become rows; what is cut, late or failed is read again, and not in a rush."""

from math import nan

import pytest

from core.event_codec import line_of
from core.events import (
    OperationsSeen,
    ProcessesCut,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.model.limits import MAX_PROCESS_OPERATIONS, MAX_PROCESSES
from core.model.log_summary import ErrorGroup
from core.model.operation import Operation
from core.task_events import CausesSeen
from tests.support.fleets import NOW
from tests.support.observing import ROW, TASK, Observed


def test_an_answer_is_the_whole_task_list_with_its_bad_rows_as_sentences(
    watched: Observed,
) -> None:
    (event,) = watched.answer("tasks", [ROW, {"task": "no id"}])
    assert isinstance(event, TasksSeen)
    assert [row.task_id for row in event.rows] == ["t"]
    assert event.malformed == ("a task row lacks its task id or eval id",)
    assert event.as_of == watched.now


def test_the_first_sample_list_is_whole_and_the_next_are_deltas(watched: Observed) -> None:
    (first,) = watched.samples((1, "running"), (2, "pending"))
    (second,) = watched.samples((1, "completed"))
    assert isinstance(first, SamplesSeen)
    assert isinstance(second, SamplesSeen)
    assert (first.whole, second.whole) == (True, False)
    assert first.eval_id == "e"
    statuses = {row.sample_id: row.status for row in watched.fleet.tasks[TASK].samples.values()}
    assert statuses == {1: "completed", 2: "pending"}


def test_counts_that_the_rows_can_not_have_are_read_whole_again(watched: Observed) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    name = watched.name_of("s/")
    watched.now += 20
    watched.samples(counts={"running": 0, "cancelled": 1})
    watched.steer()
    again = watched.name_of("s/")
    assert again != name
    (event,) = watched.samples((1, "cancelled"), counts={"cancelled": 1})
    assert isinstance(event, SamplesSeen)
    assert event.whole
    watched.now += 20
    watched.steer()
    assert watched.name_of("s/") == again


def test_a_delta_that_was_cut_is_read_whole_again(watched: Observed) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    name = watched.name_of("s/")
    watched.now += 20
    watched.steer()
    assert watched.name_of("s/") == name
    watched.samples((1, "running"), counts={"running": 1}, truncated=True)
    watched.steer()
    assert watched.name_of("s/") != name


def test_a_list_is_not_read_whole_again_in_a_rush(watched: Observed) -> None:
    for tenth in range(100):
        watched.now = NOW + tenth / 10
        watched.samples((1, "running"), counts={"running": 5})
        watched.steer(TASK)
    assert 1 <= int(watched.name_of("s/").rsplit("/", 1)[1]) <= 2


def test_a_running_list_that_is_focused_adds_to_what_is_known(watched: Observed) -> None:
    watched.steer(TASK)
    watched.samples((1, "running"), (2, "pending"))
    (event,) = watched.samples((1, "running"), sign="r/")
    assert isinstance(event, SamplesSeen)
    assert not event.whole
    watched.steer()
    with pytest.raises(ValueError, match="not enough"):
        watched.name_of("r/")


def test_a_new_attempt_is_polled_instead_of_the_old_one(watched: Observed) -> None:
    watched.answer("tasks", [{**ROW, "eval_id": "e2", "attempts": 2}])
    frames = watched.steer()
    assert {frame.kind for frame in frames} == {"watch", "unwatch"}
    assert watched.name_of("s/").startswith("s/t/e2/")
    (event,) = watched.samples((1, "running"))
    assert isinstance(event, SamplesSeen)
    assert (event.eval_id, event.whole) == ("e2", True)


def test_an_answer_to_a_poll_that_was_ended_says_nothing(watched: Observed) -> None:
    place = {"pid": 7, "start": "b:1", "name": "s/old", "status": 200}
    assert watched.receive("answer", {"samples": []}, **place) == []


def test_an_old_server_without_counts_is_counted(watched: Observed) -> None:
    (event,) = watched.answer(
        "s/", {"samples": [{"sample_id": 1, "epoch": 1, "status": "running"}], "as_of": 5}
    )
    assert isinstance(event, SamplesSeen)
    assert event.counts.running == 1


def test_operations_of_a_trace_are_short_whatever_the_machine_sends(watched: Observed) -> None:
    row = {"action": "a" * 9_000, "what": "w" * 9_000, "words": "x" * 9_000, "since": NOW}
    many = [{**row, "task": "t" * 900, "sample_id": "s" * 900, "epoch": 1}] * 1_200
    (event,) = watched.receive("doing", [{**row, "words": "x" * 40_000}, *many], pid=7, start="b:1")
    assert isinstance(event, OperationsSeen)
    assert len(event.operations) == MAX_PROCESS_OPERATIONS
    assert event.left_out == 201  # one of them is too large
    (more,) = watched.receive("doing", many, pid=7, start="b:1", left_out=50)
    assert isinstance(more, OperationsSeen)
    assert more.left_out == 250
    short = Operation(action="a" * 200, what="w" * 200, words="x" * 200, since=NOW)
    assert set(event.operations) == {short}


def test_what_a_machine_lists_once_is_not_remembered(watched: Observed) -> None:
    for turn in range(3):
        dead = {"start": f"b:{turn}", "channel": "dead", "ended_at": NOW, "logs": ["/l/a.eval"]}
        rows = [{"pid": pid, **dead} for pid in range(500)]
        assert len(watched.receive("processes", rows)) >= 500
    kept = watched.observer._found  # pyright: ignore[reportPrivateUsage] - nothing else shows it
    assert len(kept) == 500


def test_processes_of_long_commands_count_as_several(watched: Observed) -> None:
    long = {"start": "b:1", "channel": "ok", "argv": ["ab"] * 4_000}
    rows = [{"pid": pid, **long} for pid in range(1_000)]
    events = watched.receive("processes", rows)
    seen = [each for each in events if isinstance(each, ProcessSeen)]
    assert sum(each.units for each in seen) <= MAX_PROCESSES < 1_000 * seen[0].units
    (cut,) = [each for each in events if isinstance(each, ProcessesCut)]
    assert cut.left_out == 1_000 - len(seen)


def test_operations_of_a_trace_are_reported_and_bad_rows_left_out(watched: Observed) -> None:
    row = {"action": "Subprocess", "what": "docker exec", "words": "ls", "since": NOW, "count": 2}
    good = {**row, "task": "t", "sample_id": "s1", "epoch": 1}
    bad: list[object] = [3, {}, {**row, "since": "x"}, {**row, "what": ""}]
    place = {"pid": 7, "start": "b:1"}
    (event,) = watched.receive(
        "doing", [good, {**row, "sample_id": True, "epoch": 1}, *bad], **place
    )
    assert isinstance(event, OperationsSeen)
    assert [(each.what, each.sample, each.count) for each in event.operations] == [
        ("docker exec", ("s1", 1), 2), ("docker exec", None, 2),
    ]  # fmt: skip
    assert watched.receive("doing", {"no": "list"}, **place) == []
    assert watched.receive("doing", [], pid=8, start="b:1") == []


def test_a_running_score_is_reported_and_its_lack_is_not_a_failure(watched: Observed) -> None:
    assert watched.trouble("p/", "http 404") == []
    metrics = {"metrics": {"accuracy": 0.5, "stderr": 0.1}, "scorer": "includes"}
    (event,) = watched.answer("p/", {"result": {"metrics": [metrics]}})
    assert isinstance(event, ScoreSeen)
    assert [(each.value, each.stderr) for each in event.metrics] == [(0.5, 0.1)]
    assert watched.answer("p/", {"running": True, "result": None}) == []


def test_causes_of_errors_are_kept_and_their_texts_are_not(watched: Observed) -> None:
    errored = {**ROW, "samples": {"total": 9, "in_flight": 2, "errored": 1}}
    watched.answer("tasks", [errored])
    watched.steer()
    row = {"sample_id": 1, "epoch": 1, "status": "error", "error": "E('found \"the flag\" at 7')"}
    (event,) = watched.answer("c/", {"as_of": watched.now, "samples": [row]})
    assert isinstance(event, CausesSeen)
    assert event.causes == ((1, 1, "E: found '…' at N"),)
    assert "the flag" not in line_of(event)
    assert watched.fleet.tasks[TASK].errors == (ErrorGroup("E: found '…' at N", 1, (1, 1)),)
    watched.steer()
    with pytest.raises(ValueError, match="not enough"):
        watched.name_of("c/")


def test_a_read_that_fails_is_reported_once_until_it_changes(watched: Observed) -> None:
    (event,) = watched.trouble("tasks", "http 500")
    assert isinstance(event, ReadFailed)
    assert (event.what, event.reason) == ("tasks", "http 500")
    assert watched.trouble("tasks", "http 500") == []
    (event,) = watched.trouble("tasks", "too large")
    (event,) = watched.answer("tasks", b"<html>")
    assert isinstance(event, ReadFailed)
    assert isinstance(watched.answer("tasks", [ROW])[0], TasksSeen)
    assert len(watched.trouble("tasks", "http 500")) == 1


def test_a_channel_that_is_not_there_is_the_processs_state_and_no_failed_read(
    watched: Observed,
) -> None:
    assert watched.trouble("tasks", "refused") == []


def test_polls_without_a_change_keep_rows_fresh(watched: Observed) -> None:
    watched.samples((1, "running"), counts={"running": 1})
    watched.now += 5
    polls = [[7, "b:1", name, watched.now - 1, 0.01] for name in watched.set]
    others = [[7, "b:1", "unknown", 1, 1], "no poll", [1]]
    others += [[7, "b:1", name, clock, 1] for name in watched.set for clock in (10**400, nan, "x")]
    (event,) = watched.receive("beat", polls=[*others, *polls])
    assert isinstance(event, ReadsUnchanged)
    task = watched.fleet.tasks[TASK]
    assert (task.as_of, task.heard_at) == (watched.now - 1, watched.now)
    assert task.samples_heard_at == watched.now


# -- whatever comes
