"""Errors: counted and rated while a task runs, and grouped by cause over tasks."""

import pytest

from core.config.judge import JudgeConfig
from core.fleet import Fleet
from core.model.log_summary import ErrorGroup
from core.model.sample import Sample
from tests.support.fleets import (
    H2,
    NOW,
    causes_seen,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless

RUNS = begun(task_row(done=10))


def errored(number: int, epoch: int = 1) -> Sample:
    return sample(number, epoch, status="error")


def test_the_first_error_is_a_finding_at_once() -> None:
    events = (tasks_seen(task_row(done=10, errored=1), at=NOW + 5), samples_seen(errored(7)))
    [error] = found(after(RUNS, *events), "errors")
    assert (error.severity, error.text) == ("suspect", "1 of 100 samples errored (1%)")
    assert error.sample is not None
    assert error.sample.sample_id == 7
    assert [each.action for each in error.proposals] == ["requeue"]


def test_a_tenth_of_the_samples_is_an_alarm() -> None:
    [error] = found(after(RUNS, tasks_seen(task_row(done=60, errored=10), at=NOW + 5)), "errors")
    assert (error.severity, error.count, error.proposals) == ("alarm", 10, ())


def test_most_of_what_ended_lately_is_an_alarm_before_a_tenth_of_all_is() -> None:
    fleet = after(RUNS, tasks_seen(task_row(total=1_000, done=100), at=NOW + 10))
    rate = task_row(total=1_000, done=102, errored=4)
    [error] = found(after(fleet, tasks_seen(rate, at=NOW + 700)), "errors")
    assert error.severity == "alarm"
    assert error.text.endswith("errored (under 1%), most of those that ended in the last 10m")


def test_errors_of_most_samples_are_of_the_task() -> None:
    fleet = after(RUNS, tasks_seen(task_row(done=3, errored=4), at=NOW + 5))
    [error] = found(fleet, "errors")
    assert error.cause.startswith("the task or its model")
    assert [each.action for each in error.proposals] == ["pause"]


def test_the_causes_that_a_running_task_told_are_named() -> None:
    fleet = after(RUNS, tasks_seen(task_row(done=60, errored=4), at=NOW + 5))
    [error] = found(fleet, "errors")
    assert error.cause == ""
    causes = causes_seen((1, 1, "E: bad"), (2, 1, "E: bad"), (3, 1, "F: N"), at=NOW + 6)
    fleet = after(fleet, causes, tasks_seen(task_row(done=60, errored=4), at=NOW + 7))
    [error] = found(fleet, "errors")
    assert error.cause == "2 x E: bad, 1 x F: N"
    many = [(number, 1, f"E{'x' * number}") for number in range(10, 15)]
    fleet = after(
        fleet, causes_seen(*many, at=NOW + 8), tasks_seen(task_row(errored=9), at=NOW + 9)
    )
    [error] = found(fleet, "errors")
    assert error.cause.endswith(", and 4 other causes")


def test_errors_of_all_epochs_of_one_input_are_of_that_input() -> None:
    row = task_row(done=20, errored=2, epochs=2)
    rows = (errored(7, 1), errored(7, 2), sample(8, status="completed"))
    [error] = found(after(RUNS, tasks_seen(row, at=NOW + 5), samples_seen(*rows)), "errors")
    assert error.cause == "the input of sample 7: all its epochs that ended errored"
    mixed = (errored(7, 1), errored(9, 2))
    [error] = found(after(RUNS, tasks_seen(row, at=NOW + 5), samples_seen(*mixed)), "errors")
    assert error.cause == ""


def test_it_closes_when_all_were_run_again_and_when_the_task_ends() -> None:
    fleet = after(RUNS, tasks_seen(task_row(done=10, errored=2), at=NOW + 5))
    again = tasks_seen(task_row(done=10), at=NOW + 9)
    ended = (process_gone(at=NOW + 9), log_read("error", at=NOW + 9))
    for events in ((again,), ended):
        assert found(after(fleet, *events), "errors") == []


def test_the_config_sets_the_shares() -> None:
    rules = JudgeConfig(values={"errors.share": 1.0})
    fleet = after(RUNS, tasks_seen(task_row(done=60, errored=1), at=NOW + 5), rules=rules)
    assert found(fleet, "errors")[0].severity == "alarm"


def ended_with(*causes: tuple[str, int], tasks: int = 2) -> Fleet:
    """Return a fleet of tasks on two machines that ended with these causes each."""
    groups = tuple(ErrorGroup(cause, count, (1, 1)) for cause, count in causes)
    fleet = after(RUNS, named(H2), link(machine=H2))
    for number in range(tasks):
        key = task_key(f"e{number}", H2, 50 + number)
        fleet = after(
            fleet,
            process_seen(H2, 50 + number),
            tasks_seen(task_row(f"e{number}", status="completed"), machine=H2, pid=50 + number),
            log_read(task=key, samples=logged(errors=groups)),
        )
    return after(fleet, link(machine=H2, at=NOW + 10))


def test_a_cause_that_ended_tasks_share_is_one_finding() -> None:
    texts = {each.text for each in found(ended_with(("ConnectionError: refused", 3)), "errors")}
    assert texts == {"6 samples of 2 tasks errored for one cause: ConnectionError: refused"}


def test_a_cause_that_running_tasks_share_is_one_finding_too() -> None:
    fleet = after(begun(task_row("a", errored=1), task_row("b", errored=2)))
    told = [causes_seen((1, 1, "E: bad"), task=task_key(each), at=NOW + 1) for each in ("a", "b")]
    fleet = after(fleet, *told, link(at=NOW + 10))
    [shared] = [each for each in found(fleet, "errors") if each.task is None]
    assert shared.text == "2 samples of 2 tasks errored for one cause: E: bad"


def test_a_cause_of_one_task_is_told_at_its_end_alone() -> None:
    assert found(ended_with(("ConnectionError: refused", 3), tasks=1), "errors") == []


def test_a_shared_cause_closes_after_an_hour() -> None:
    fleet = ended_with(("ConnectionError: refused", 3))
    assert found(after(fleet, link(machine=H2, at=NOW + 3_700)), "errors") == []


@pytest.mark.parametrize("cause", [HOSTILE, "E: " + "\x1b[2J" * 50])
def test_hostile_causes_do_no_harm(cause: str) -> None:
    [shared] = found(ended_with((cause, 3)), "errors")
    assert is_harmless(shared)
    assert cause not in shared.id
