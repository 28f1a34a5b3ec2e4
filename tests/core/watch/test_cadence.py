"""How often a task is polled, and which of its parts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from core.config.model import CADENCES, WatchConfig
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.process import ProcessState
from core.model.sample import Activity
from core.watch.cadence import phase_of
from core.watch.polls import (
    CAUSES_INTERVAL_S,
    CAUSES_RETRY_S,
    ERRORS_INTERVAL_S,
    ONCE_S,
    PARKED_INTERVAL_S,
    PAUSED_INTERVAL_S,
    RETRIES_WATCHED_S,
    Poll,
    polls_for,
)
from tests.support.fleets import (
    NOW,
    causes_seen,
    fleet_after,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

SEEN = process_seen(socket_path="/s", api_version=8)
OLD = NOW - 3_600.0


def watched(
    fleet: Fleet,
    *,
    focus: TaskKey | None = None,
    now: float = NOW,
    reloads: Mapping[TaskKey, int] = MappingProxyType({}),
) -> dict[str, Poll]:
    """The polls of one task, by kind."""
    found = list(
        polls_for(
            fleet, [process_key()], focus=focus, now=now, config=WatchConfig(), reloads=reloads
        )
    )
    by_kind = {aim.kind: aim for aim in found}
    assert len(by_kind) == len(found)
    return {str(kind): aim for kind, aim in by_kind.items()}


def with_row(**row: Any) -> Fleet:
    row.setdefault("started_at", OLD)
    return fleet_after(SEEN, tasks_seen(task_row(**row)))


@pytest.mark.parametrize(
    ("row", "focused", "phase"),
    [
        ({"started_at": NOW - 10}, False, "spin-up"),
        ({"started_at": NOW - 60}, False, "ramping"),
        ({"started_at": NOW - 60, "paused": ("task",)}, False, "steady"),
        ({"started_at": OLD}, False, "steady"),
        ({"started_at": OLD, "done": 90}, False, "near the end"),
        ({"started_at": OLD, "done": 80, "errored": 5, "cancelled": 5}, False, "near the end"),
        ({"started_at": OLD, "total": 0}, False, "steady"),
        ({"started_at": NOW - 10}, True, "focused"),
        ({"started_at": None}, False, "spin-up"),
    ],
)
def test_the_phase_of_a_task(row: dict[str, Any], focused: bool, phase: str) -> None:
    task = with_row(**row).tasks[task_key()]
    assert phase_of(task, NOW, focused=focused) == phase


def test_a_new_error_is_trouble_for_about_two_polls() -> None:
    fleet = with_row()
    fleet = fleet_after(tasks_seen(task_row(started_at=OLD, errored=1), at=NOW + 60), fleet=fleet)
    task = fleet.tasks[task_key()]
    assert phase_of(task, NOW + 61, focused=False) == "trouble"
    assert phase_of(task, NOW + 66, focused=False) == "steady"


def test_a_new_retry_is_trouble_too() -> None:
    row = task_row(started_at=OLD, http_retries=4)
    fleet = fleet_after(tasks_seen(row, at=NOW + 60), fleet=with_row(http_retries=3))
    assert phase_of(fleet.tasks[task_key()], NOW + 61, focused=False) == "trouble"
    assert phase_of(fleet.tasks[task_key()], NOW + 66, focused=False) == "steady"


def test_a_sample_that_is_run_again_is_trouble_too() -> None:
    fleet = fleet_after(samples_seen(sample(1), at=NOW + 50), fleet=with_row())
    assert phase_of(fleet.tasks[task_key()], NOW + 51, focused=False) == "steady"
    again = samples_seen(sample(1, retries=1), at=NOW + 60)
    fleet = fleet_after(again, fleet=fleet)
    assert phase_of(fleet.tasks[task_key()], NOW + 61, focused=False) == "trouble"
    same = samples_seen(sample(1, retries=1), at=NOW + 66)
    assert phase_of(fleet_after(same, fleet=fleet).tasks[task_key()], NOW + 66, focused=False) == (
        "steady"
    )


def test_errors_from_before_the_first_poll_are_not_new_trouble() -> None:
    assert phase_of(with_row(errored=7).tasks[task_key()], NOW, focused=False) == "steady"


def test_a_process_without_tasks_is_asked_for_them_often() -> None:
    found = watched(fleet_after(SEEN))
    assert set(found) == {"tasks"}
    assert found["tasks"].every == CADENCES["spin-up"].tasks


def test_a_running_task_is_followed_by_deltas() -> None:
    found = watched(with_row())
    assert set(found) == {"tasks", "samples", "score"}
    assert found["tasks"].every == CADENCES["steady"].tasks
    assert found["samples"].every == CADENCES["steady"].samples
    assert "active_since={as_of}" in found["samples"].path


def test_the_focused_task_is_polled_often_its_running_samples_too() -> None:
    found = watched(with_row(), focus=task_key())
    assert found["tasks"].every == found["samples"].every == 1
    assert "status=running%2Cqueued" in found["running"].path
    assert found["running"].every >= 2


def test_running_samples_are_read_in_full_while_calls_are_retried() -> None:
    row = task_row(started_at=OLD, http_retries=4)
    fleet = fleet_after(tasks_seen(row, at=NOW + 60), fleet=with_row(http_retries=3))
    now = watched(fleet, now=NOW + 61)
    assert "status=running%2Cqueued" in now["running"].path
    assert now["running"].every == now["samples"].every
    assert "running" not in watched(with_row(http_retries=3), now=NOW + 61)
    assert "running" not in watched(fleet, now=NOW + 60 + 2 * RETRIES_WATCHED_S)


def test_running_samples_are_read_in_full_while_one_waits_for_a_retry() -> None:
    waiting = sample(1, activity=Activity(type="retry_wait", started_at=NOW))
    fleet = fleet_after(samples_seen(waiting, at=NOW), fleet=with_row(http_retries=3))
    assert "running" in watched(fleet, now=NOW + 300)
    calls = sample(1, activity=Activity(type="model", started_at=NOW + 301))
    answered = fleet_after(samples_seen(calls, at=NOW + 301), fleet=fleet)
    assert "running" not in watched(answered, now=NOW + 302)


def test_a_finished_task_is_read_whole_once_more_and_then_left_alone() -> None:
    before = watched(with_row())
    ended = with_row(status="completed", done=100, flying=0)
    after = watched(ended, focus=task_key())
    assert after["samples"].name != before["samples"].name
    assert "active_since" not in after["samples"].path
    assert {after[kind].every for kind in ("samples", "score")} == {ONCE_S}
    assert "running" not in after
    assert after["tasks"].every <= PARKED_INTERVAL_S


def test_a_quiesced_task_is_polled_slowly_unless_it_is_focused() -> None:
    fleet = with_row(paused=("process",), quiesced=True)
    assert watched(fleet)["samples"].every == PAUSED_INTERVAL_S
    assert watched(fleet, focus=task_key())["samples"].every == 1


def test_a_retry_is_another_poll() -> None:
    before = watched(with_row())
    after = watched(with_row(eval_id="e-2", attempts=2))
    assert before["samples"].name != after["samples"].name
    assert "/evals/e-2/" in after["samples"].path


def test_a_server_without_counts_is_always_read_whole() -> None:
    fleet = fleet_after(
        process_seen(socket_path="/s", api_version=1), tasks_seen(task_row(api_version=1))
    )
    assert "active_since" not in watched(fleet)["samples"].path


def test_errors_that_a_cut_list_lacks_are_asked_for() -> None:
    rows = [sample(n) for n in range(10)]
    fleet = with_row(errored=3)
    seen = samples_seen(*rows, truncated=True)
    cut = fleet_after(
        samples_seen(*rows, counts=type(seen.counts)(running=10, error=3), truncated=True),
        fleet=fleet,
    )
    found = watched(cut)
    assert "status=error" in found["errors"].path
    assert found["errors"].every == ERRORS_INTERVAL_S
    known = [sample(n, status="error") for n in range(20, 23)]
    whole = fleet_after(samples_seen(*rows, *known), fleet=fleet)
    assert "errors" not in watched(whole)


def test_causes_of_errors_are_asked_for_once_for_each_new_error_and_not_in_a_rush() -> None:
    assert "causes" not in watched(with_row())
    fleet = with_row(errored=3)
    first = watched(fleet)["causes"]
    assert "status=error" in first.path
    assert "content=true" in first.path
    assert "active_since" not in first.path
    read = causes_seen((1, 1, "E: bad"), at=NOW, as_of=NOW - 1)
    fleet = fleet_after(read, fleet=fleet)
    assert "causes" not in watched(fleet, now=NOW + 60)
    more = tasks_seen(task_row(started_at=OLD, errored=4), at=NOW + 5)
    fleet = fleet_after(more, fleet=fleet)
    assert "causes" not in watched(fleet, now=NOW + 5)
    later = watched(fleet, now=NOW + CAUSES_INTERVAL_S)["causes"]
    assert f"active_since={NOW - 1}" in later.path
    set_back = watched(fleet, now=NOW - 5)["causes"]
    assert set_back == later


def test_a_read_of_causes_that_failed_is_made_again_after_minutes_and_not_after_a_day() -> None:
    poll = watched(with_row(errored=3))["causes"]
    assert poll.every == CAUSES_RETRY_S
    assert 60 < CAUSES_RETRY_S < 600


def test_causes_are_not_asked_for_where_the_log_or_the_row_tells_them() -> None:
    ended = with_row(status="completed", done=97, errored=3, flying=0)
    assert "causes" not in watched(ended)
    old = fleet_after(
        process_seen(socket_path="/s", api_version=1), tasks_seen(task_row(errored=3))
    )
    assert "causes" not in watched(old)


def test_a_new_attempt_has_causes_of_its_own() -> None:
    fleet = fleet_after(causes_seen((1, 1, "E: bad"), at=NOW), fleet=with_row(errored=3))
    again = task_row(started_at=OLD, eval_id="e-2", attempts=2, errored=3)
    fleet = fleet_after(tasks_seen(again, at=NOW + 1), fleet=fleet)
    poll = watched(fleet, now=NOW + 1)["causes"]
    assert "/evals/e-2/" in poll.path
    assert "active_since" not in poll.path


@pytest.mark.parametrize("state", [ProcessState.OPTED_OUT, ProcessState.GONE])
def test_a_process_that_can_not_answer_is_not_asked(state: ProcessState) -> None:
    assert watched(fleet_after(process_seen(socket_path="/s", state=state))) == {}
    assert watched(fleet_after(process_seen(socket_path=None))) == {}


@pytest.mark.parametrize("name", ["", "x" * 100_000])
def test_ids_that_no_frame_can_carry_are_not_asked_about(name: str) -> None:
    fleet = fleet_after(SEEN, tasks_seen(task_row(eval_id=name)))
    assert set(watched(fleet)) == {"tasks"}
