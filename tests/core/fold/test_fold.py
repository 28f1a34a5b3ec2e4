from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.events import (
    Dismissed,
    Event,
    LogUnreadable,
    ReadFailed,
    ReadsUnchanged,
    TimePassed,
)
from core.fleet import Fleet
from core.fold.fold import fold
from core.fold.samples import MAX_FINISHED
from core.fold.tasks import MAX_TRAIL_POINTS
from core.model.machine import LinkState
from core.model.process import ProcessState
from core.model.sample import SampleCounts
from core.model.task import TaskState
from tests.support.events import any_event
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    fleet_after,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    running_fleet,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.model_values import MACHINES

KEY = task_key()


def _running() -> Fleet:
    return fleet_after(named(), link(), process_seen(), tasks_seen(task_row()))


# Machines and links


@pytest.mark.parametrize("state", list(LinkState))
def test_a_link_that_changes_leaves_all_that_is_known(state: LinkState) -> None:
    before = running_fleet()
    after = fleet_after(link(state, at=NOW + 9, reason="no route"), fleet=before)
    assert after.tasks == before.tasks
    assert after.processes == before.processes
    assert after.machines[H1].facts == before.machines[H1].facts
    assert after.machines[H1].link.state is state


def test_a_link_that_is_tried_again_stays_lost_since_it_was_lost() -> None:
    fleet = fleet_after(
        named(),
        link(at=NOW),
        link(LinkState.DOWN, at=NOW + 10),
        link(LinkState.CONNECTING, at=NOW + 12),
        link(LinkState.DOWN, at=NOW + 20, retry_at=NOW + 30),
    )
    assert fleet.machines[H1].link.lost_at == NOW + 10
    assert fleet.machines[H1].link.since == NOW + 20
    assert fleet_after(link(at=NOW + 30), fleet=fleet).machines[H1].link.lost_at is None


def test_naming_a_machine_again_keeps_what_is_known_of_it() -> None:
    fleet = fleet_after(named(), link(), facts(), replace(named(), tags=("gpu",)))
    assert fleet.machines[H1].tags == ("gpu",)
    assert fleet.machines[H1].facts is not None
    assert fleet.machines[H1].link.state is LinkState.UP


# Processes


def test_a_process_parks_when_all_its_tasks_are_over_and_it_is_kept() -> None:
    over = task_row(status="completed", keep_alive=True)
    fleet = fleet_after(process_seen(), tasks_seen(over))
    assert fleet.processes[process_key()].state is ProcessState.PARKED
    seen_again = fleet_after(process_seen(at=NOW + 5), fleet=fleet)
    assert seen_again.processes[process_key()].state is ProcessState.PARKED
    runs = fleet_after(tasks_seen(over, task_row("t2", keep_alive=True)), fleet=fleet)
    assert runs.processes[process_key()].state is ProcessState.LIVE


def test_a_poll_with_less_keeps_the_earlier_values() -> None:
    fleet = fleet_after(
        process_seen(cwd="/home/op", run_id="r1"), process_seen(state=ProcessState.BUSY, argv=())
    )
    process = fleet.processes[process_key()]
    assert (process.cwd, process.run_id, process.state) == ("/home/op", "r1", ProcessState.BUSY)
    assert process.argv


def test_a_read_that_fails_is_reported_until_one_succeeds() -> None:
    failed = ReadFailed(at=NOW, process=process_key(), what="tasks", reason="http 500")
    fleet = fleet_after(failed, fleet=_running())
    assert fleet.processes[process_key()].trouble == "tasks: http 500"
    assert fleet.tasks == _running().tasks
    again = fleet_after(tasks_seen(task_row()), fleet=fleet)
    assert again.processes[process_key()].trouble is None


# How tasks end


def test_a_task_that_ended_is_finishing_until_its_log_is_read() -> None:
    fleet = fleet_after(tasks_seen(task_row(status="completed")), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.FINISHING
    assert not fleet.tasks[KEY].is_over
    read = fleet_after(log_read("success"), fleet=fleet)
    assert read.tasks[KEY].state is TaskState.SUCCESS


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("success", TaskState.SUCCESS),
        ("error", TaskState.ERROR),
        ("cancelled", TaskState.CANCELLED),
        ("started", TaskState.LOST),
        ("a newer word", TaskState.UNREADABLE),
    ],
)
def test_a_gone_process_proves_nothing_but_its_log_does(status: str, state: TaskState) -> None:
    fleet = fleet_after(process_gone(), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.FINISHING
    assert fleet_after(log_read(status), fleet=fleet).tasks[KEY].state is state


def test_a_task_that_an_operator_cancelled_is_not_an_error() -> None:
    by_operator = "TerminateTaskError: Task cancelled by user (abort)"
    fleet = fleet_after(process_gone(), fleet=_running())
    ended = fleet_after(log_read("error", cause=by_operator), fleet=fleet)
    assert ended.tasks[KEY].state is TaskState.CANCELLED
    own = fleet_after(log_read("error", cause=f"ValueError: {by_operator}"), fleet=fleet)
    assert own.tasks[KEY].state is TaskState.ERROR


def test_a_log_that_still_says_started_proves_nothing_while_its_process_lives() -> None:
    fleet = fleet_after(
        tasks_seen(task_row(status="completed")), log_read("started"), fleet=_running()
    )
    assert fleet.tasks[KEY].state is TaskState.FINISHING
    assert fleet_after(process_gone(), fleet=fleet).tasks[KEY].state is TaskState.LOST


def test_a_log_that_cannot_be_read_is_never_a_loss() -> None:
    unreadable = LogUnreadable(at=NOW, task=KEY, reason="no such file")
    fleet = fleet_after(tasks_seen(task_row(status="completed")), unreadable, fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.UNREADABLE
    assert fleet.tasks[KEY].header_error == "no such file"
    assert fleet_after(process_gone(), fleet=fleet).tasks[KEY].state is TaskState.UNREADABLE


def test_a_log_read_after_all_corrects_a_lost_task() -> None:
    fleet = fleet_after(process_gone(), log_read("started"), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.LOST
    assert fleet_after(log_read("success"), fleet=fleet).tasks[KEY].state is TaskState.SUCCESS


def test_a_log_of_another_attempt_says_nothing() -> None:
    fleet = fleet_after(
        tasks_seen(task_row(status="completed", eval_id="second")),
        log_read("error", eval_id="first"),
        fleet=_running(),
    )
    assert fleet.tasks[KEY].state is TaskState.FINISHING
    assert fleet.tasks[KEY].header is None


def test_a_log_read_while_the_task_runs_counts_when_it_ends() -> None:
    fleet = fleet_after(log_read("success"), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.RUNNING
    assert fleet_after(process_gone(), fleet=fleet).tasks[KEY].state is TaskState.SUCCESS


def test_a_task_that_its_process_no_longer_lists_runs_no_more() -> None:
    fleet = fleet_after(tasks_seen(task_row("t2")), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.FINISHING
    assert fleet.tasks[task_key("t2")].state is TaskState.RUNNING


def test_a_row_from_before_registration_goes_when_it_gets_its_id() -> None:
    fleet = fleet_after(process_seen(), tasks_seen(task_row("", eval_id="e")))
    assert list(fleet.tasks) == [task_key("")]
    fleet = fleet_after(tasks_seen(task_row()), fleet=fleet)
    assert list(fleet.tasks) == [KEY]
    assert fleet.processes[process_key()].tasks == (KEY,)


def test_tasks_of_a_process_that_is_already_gone_do_not_run() -> None:
    fleet = fleet_after(process_gone(), tasks_seen(task_row()), fleet=_running())
    assert fleet.tasks[KEY].state is TaskState.FINISHING


def test_a_new_attempt_starts_afresh() -> None:
    fleet = fleet_after(
        samples_seen(sample(1)),
        tasks_seen(task_row(status="completed")),
        log_read("error"),
        tasks_seen(task_row(eval_id="second", attempts=2)),
        fleet=_running(),
    )
    task = fleet.tasks[KEY]
    assert task.state is TaskState.RUNNING
    assert (task.header, task.counts, dict(task.samples)) == (None, None, {})
    assert task.seen_at == NOW


# Samples


def test_a_delta_changes_only_its_rows_and_equal_ones_stay_the_same_object() -> None:
    first, second = sample(1, raw=b"1"), sample(2, raw=b"2")
    fleet = fleet_after(samples_seen(first, second), fleet=_running())
    fleet = fleet_after(
        samples_seen(
            sample(1, raw=b"1"),
            sample(2, raw=b"2 changed", turn_count=13),
            whole=False,
            counts=SampleCounts(running=2),
        ),
        fleet=fleet,
    )
    samples = fleet.tasks[KEY].samples
    assert samples[1, 1] is first
    assert samples[2, 1].turn_count == 13


def test_number_one_and_text_one_are_two_samples() -> None:
    fleet = fleet_after(samples_seen(sample(1), sample("1")), fleet=_running())
    assert len(fleet.tasks[KEY].samples) == 2


def test_rows_of_another_attempt_are_dropped() -> None:
    fleet = fleet_after(samples_seen(sample(1), eval_id="older"), fleet=_running())
    assert fleet.tasks[KEY].counts is None
    assert not fleet.tasks[KEY].samples


def test_a_whole_list_replaces_what_was_known() -> None:
    fleet = fleet_after(
        samples_seen(sample(1), sample(2)), samples_seen(sample(2)), fleet=_running()
    )
    assert list(fleet.tasks[KEY].samples) == [(2, 1)]


def test_a_whole_list_that_was_cut_keeps_the_ended_and_drops_what_no_longer_runs() -> None:
    fleet = fleet_after(
        samples_seen(sample(1), sample(2, status="completed"), sample(3)),
        samples_seen(sample(3), truncated=True, counts=SampleCounts(running=1, completed=2)),
        fleet=_running(),
    )
    assert set(fleet.tasks[KEY].samples) == {(2, 1), (3, 1)}
    assert fleet.tasks[KEY].samples_cut == 1


def test_running_errored_and_the_newest_finished_stay_and_the_rest_are_counts() -> None:
    rows = [
        *(sample(i, status="completed", completed_at=NOW + i) for i in range(500)),
        *(sample(i, status="error") for i in range(500, 550)),
        *(sample(i) for i in range(550, 590)),
    ]
    task = fleet_after(samples_seen(*rows), fleet=_running()).tasks[KEY]
    kept = dict[str, int]()
    for row in task.samples.values():
        kept[row.status] = kept.get(row.status, 0) + 1
    assert kept == {"completed": MAX_FINISHED, "error": 50, "running": 40}
    assert (499, 1) in task.samples
    assert (0, 1) not in task.samples
    assert task.samples_cut == 300
    assert task.counts is not None
    assert task.counts.completed == 500


# Time


def test_unchanged_looks_make_what_they_show_fresh() -> None:
    look = ReadsUnchanged(
        at=NOW + 60,
        machine=H1,
        tasks=((process_key(), NOW + 61),),
        samples=((KEY, NOW + 62),),
    )
    task = fleet_after(look, fleet=running_fleet()).tasks[KEY]
    assert (task.heard_at, task.as_of) == (NOW + 60, NOW + 61)
    assert (task.samples_heard_at, task.samples_as_of) == (NOW + 60, NOW + 62)


def test_the_trail_of_progress_starts_over_when_the_desks_clock_is_set_back() -> None:
    fleet = fleet_after(
        named(), process_seen(), tasks_seen(task_row(done=1), at=NOW),
        tasks_seen(task_row(done=2), at=NOW - 3_600), tasks_seen(task_row(done=3), at=NOW - 3_590),
    )  # fmt: skip
    assert [point.done for point in fleet.tasks[KEY].trail] == [2, 3]


def test_the_trail_of_progress_is_bounded_and_keeps_both_ends() -> None:
    fleet = _running()
    for step in range(2_000):
        fleet = fold(fleet, tasks_seen(task_row(done=step, total=2_000), at=NOW + step))
    trail = fleet.tasks[KEY].trail
    assert len(trail) <= MAX_TRAIL_POINTS
    assert trail[0].at == NOW
    assert trail[-1].done == 1_999
    assert [point.at for point in trail] == sorted(point.at for point in trail)


def test_a_gone_process_and_its_tasks_leave_when_their_time_has_passed() -> None:
    gone = fleet_after(process_gone(at=NOW), fleet=_running())
    early = fleet_after(TimePassed(at=NOW + 99, keep_gone=100), fleet=gone)
    assert early.tasks == gone.tasks
    late = fleet_after(TimePassed(at=NOW + 100, keep_gone=100), fleet=gone)
    assert not late.tasks
    assert not late.processes
    assert late.machines == gone.machines


def test_only_a_gone_process_can_be_dismissed() -> None:
    dismissed = Dismissed(at=NOW, process=process_key())
    assert fleet_after(dismissed, fleet=_running()).tasks
    gone = fleet_after(process_gone(), dismissed, fleet=_running())
    assert not gone.tasks
    assert not gone.processes


# All of it


@given(st.lists(any_event(), max_size=12))
@settings(max_examples=60)
def test_any_events_fold_and_never_touch_the_fleet_before(events: list[Event]) -> None:
    fleet = running_fleet()
    before = repr(fleet)
    for event in events:
        after = fold(fleet, event)
        assert after.at >= fleet.at
    assert repr(fleet) == before


@given(
    st.lists(any_event(MACHINES[:1]), max_size=6),
    st.lists(any_event(MACHINES[1:2]), max_size=6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60)
def test_machines_fold_in_any_order_to_the_same_fleet(
    ones: list[Event], others: list[Event], chance: Any
) -> None:
    start = fleet_after(*(named(machine) for machine in MACHINES))
    places = [True] * len(ones) + [False] * len(others)
    chance.shuffle(places)
    left, right = iter(ones), iter(others)
    mixed = [next(left) if mine else next(right) for mine in places]
    one_after_the_other = fleet_after(*ones, *others, fleet=start)
    # Not-a-number is not equal to itself, so what is written is compared.
    assert _sorted(fleet_after(*mixed, fleet=start)) == _sorted(one_after_the_other)


def _sorted(fleet: Fleet) -> list[Any]:
    return [
        fleet.at,
        sorted(map(repr, fleet.machines.items())),
        sorted(map(repr, fleet.processes.items())),
        sorted(map(repr, fleet.tasks.items())),
    ]
