"""A loop: a sample that takes far more turns or tokens than the finished ones."""

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.fleet import Fleet
from core.model.sample import Sample
from tests.support.fleets import NOW, sample, samples_seen, task_key, task_row
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless


def finished(number: int = 10, turns: int = 12, tokens: int = 48_000) -> tuple[Sample, ...]:
    return tuple(
        sample(f"d{n}", status="completed", turn_count=turns, total_tokens=tokens)
        for n in range(number)
    )


def read(
    *rows: Sample, done: tuple[Sample, ...] = finished(), rules: JudgeConfig = USUAL_RULES
) -> Fleet:
    """Return the fleet after two readings of these samples."""
    fleet = begun(task_row(done=len(done)))
    for at in (1, 11):
        fleet = after(fleet, samples_seen(*done, *rows, at=NOW + at), rules=rules)
    return fleet


def test_more_than_three_times_the_p95_is_a_loop() -> None:
    [loop] = found(read(sample(7, turn_count=37)), "loop")
    assert (loop.severity, loop.count) == ("suspect", 1)
    assert loop.sample is not None
    assert loop.sample.sample_id == 7
    assert loop.text == (
        "Sample 7/1 has taken over 36 turns; 95% of the finished samples took at most 12. Look at"
        " its last messages, and cancel it if it repeats itself"
    )
    assert loop.proposals[0].action == "cancel-score"


def test_tokens_count_as_turns_do() -> None:
    [loop] = found(read(sample(7, total_tokens=150_000)), "loop")
    assert "over 144k tokens" in loop.text


@pytest.mark.parametrize(
    ("row", "done"),
    [
        pytest.param(sample(7, turn_count=36), finished(), id="at the bound"),
        pytest.param(sample(7, turn_count=500), finished(9), id="too few are finished"),
        pytest.param(sample(7, turn_count=9), finished(turns=1, tokens=0), id="few turns"),
        pytest.param(sample(7, status="completed", turn_count=90), finished(), id="it has ended"),
    ],
)
def test_what_is_not_a_loop(row: Sample, done: tuple[Sample, ...]) -> None:
    assert found(read(row, done=done), "loop") == []


def test_a_task_whose_samples_differ_much_has_a_wide_bound() -> None:
    done = (*finished(18), *finished(20, turns=100))
    assert found(read(sample(7, turn_count=200), done=done), "loop") == []


def test_several_are_one_finding_that_names_the_worst_and_closes_with_them() -> None:
    rows = [sample(n, turn_count=50 + n) for n in range(5)]
    fleet = read(*rows)
    [loop] = found(fleet, "loop")
    assert (loop.count, loop.task) == (5, task_key())
    assert loop.sample is not None
    assert loop.sample.sample_id == 4
    assert "4 other samples are over it too" in loop.text
    ended = [sample(n, status="cancelled", turn_count=50 + n) for n in range(5)]
    fleet = after(fleet, samples_seen(*finished(), *ended, at=NOW + 20))
    assert found(fleet, "loop") == []


def test_the_config_sets_the_bound() -> None:
    row = sample(7, turn_count=37)
    assert found(read(row, rules=JudgeConfig(values={"loop.times": 4.0})), "loop") == []
    assert found(read(row, rules=JudgeConfig(values={"loop.samples": 11.0})), "loop") == []


def test_hostile_names_do_no_harm() -> None:
    [loop] = found(read(sample(HOSTILE, turn_count=400)), "loop")
    assert is_harmless(loop)


def test_it_is_about_the_worst_sample_also_when_another_becomes_that() -> None:
    fleet = read(sample(7, turn_count=50), sample(8, turn_count=40))
    rows = (sample(7, turn_count=50), sample(8, turn_count=90))
    [loop] = found(after(fleet, samples_seen(*finished(), *rows, at=NOW + 20)), "loop")
    assert loop.sample is not None
    assert loop.sample.sample_id == 8
    assert loop.text.startswith("Sample 8/1 has taken over 72 turns")
