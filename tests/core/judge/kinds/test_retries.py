"""Retries: samples that errored and were run again."""

from core.config.judge import JudgeConfig
from core.fold.motion import MAX_RUN_AGAIN
from core.fold.samples import MAX_FINISHED
from tests.support.fleets import NOW, log_read, process_gone, sample, samples_seen, task_row
from tests.support.judge_scenes import after, begun, found

RUNS = begun(task_row(done=10))


def test_a_sample_that_errored_and_passed_is_a_notice() -> None:
    fleet = after(RUNS, samples_seen(sample(1, retries=1), sample(2)))
    [again] = found(fleet, "retries")
    assert (again.severity, again.text) == ("notice", "1 sample was run again (1 retry)")
    fleet = after(fleet, samples_seen(sample(1, status="completed", retries=1), at=NOW + 5))
    [again] = found(fleet, "retries")
    assert again.text == "1 sample was run again (1 retry); all of them passed"
    assert again.severity == "notice"


def test_many_retries_are_suspect() -> None:
    [often] = found(after(RUNS, samples_seen(sample(1, retries=3))), "retries")
    rows = [sample(number, retries=1) for number in range(10)]
    [many] = found(after(RUNS, samples_seen(*rows)), "retries")
    assert (often.severity, many.severity, many.count) == ("suspect", "suspect", 10)


def test_rows_that_are_no_longer_listed_still_count() -> None:
    rows = [
        sample(n, status="completed", retries=1, completed_at=NOW - 500 + n)
        for n in range(MAX_FINISHED + 50)
    ]
    fleet = after(RUNS, samples_seen(*rows[:150]), samples_seen(*rows[150:], whole=False))
    fleet = after(fleet, samples_seen(*rows, at=NOW + 3))
    assert found(fleet, "retries")[0].count == MAX_FINISHED + 50


def test_what_is_remembered_is_bounded() -> None:
    rows = [sample(n, retries=1) for n in range(MAX_RUN_AGAIN + 50)]
    fleet = after(RUNS, samples_seen(*rows))
    assert {len(task.run_again) for task in fleet.tasks.values()} == {MAX_RUN_AGAIN}


def test_nothing_was_run_again() -> None:
    rows = (sample(1, status="completed", retries=0), sample(2))
    assert found(after(RUNS, samples_seen(*rows)), "retries") == []


def test_it_closes_with_the_task() -> None:
    fleet = after(RUNS, samples_seen(sample(1, retries=1)))
    fleet = after(fleet, process_gone(at=NOW + 9), log_read("success", at=NOW + 9))
    assert found(fleet, "retries") == []


def test_the_config_sets_the_bound() -> None:
    rules = JudgeConfig(values={"retries.times": 1.0})
    [again] = found(after(RUNS, samples_seen(sample(1, retries=1)), rules=rules), "retries")
    assert again.severity == "suspect"
