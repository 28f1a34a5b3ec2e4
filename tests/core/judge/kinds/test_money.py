"""Money: what is spent, and what will be, against a budget."""

from dataclasses import replace
from typing import Any

import pytest

from core.config.judge import JudgeConfig, Price
from core.desk.step import advance
from core.fleet import Fleet
from core.judge.prices import money_in_words, spent
from core.model.finding import Finding
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
    named,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

MODEL = "acme/sec-agent"
PRICES = {MODEL: Price(into=2.0, out=10.0)}
MILLION = 1_000_000


def rules(**budgets: float) -> JudgeConfig:
    return JudgeConfig(
        values={f"money.{name}": value for name, value in budgets.items()}, prices=PRICES
    )


def watched(config: JudgeConfig, *tokens: int, **row: Any) -> Fleet:
    """Return the fleet after polls with these numbers of tokens."""
    fleet = judged_after(named(), link(), process_seen())
    rows = [sample(each, status="completed", total_tokens=MILLION) for each in range(5)]
    for number, each in enumerate(tokens):
        at = NOW + 10 * number
        fleet = advance(fleet, tasks_seen(task_row(total_tokens=each, **row), at=at), config)
        fleet = advance(fleet, samples_seen(*rows, at=at), config)
    return fleet


def money(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "money" and each.is_open]


def test_what_is_spent_is_a_range_and_grows_with_the_samples_that_are_left() -> None:
    fleet = watched(rules(), 5 * MILLION, total=10, done=5, flying=2)
    found = spent(fleet.tasks[task_key()], rules())
    assert found is not None
    assert found.low == pytest.approx(10.0)
    assert found.high == pytest.approx(50.0)
    assert money_in_words(found) == "$10 to $50 spent, $18 or more at the end"
    assert found.low_at_end == pytest.approx(10.0 + 2.0 * (3 + 1))


def test_a_budget_that_will_be_exceeded_is_suspect_then_an_alarm() -> None:
    config = rules(task=100)
    assert money(watched(config, 5 * MILLION, total=100, done=5, flying=0)) == []
    fleet = watched(config, *[5 * MILLION] * 3, total=100, done=5, flying=0)
    [found] = money(fleet)
    assert (found.severity, found.task, found.model) == ("suspect", task_key(), MODEL)
    assert found.text.startswith(
        "gdm_intercode_ctf will have spent more than the budget of $100 at the end, at this pace"
    )
    assert [each.action for each in found.proposals] == ["pause", "drain"]
    [alarm] = money(watched(config, *[60 * MILLION] * 3, total=100, done=60))
    assert alarm.severity == "alarm"
    assert "has spent $100 or more, and the budget is $100" in alarm.text


def test_all_tasks_together_have_a_budget_too() -> None:
    [found] = money(watched(rules(total=100), *[60 * MILLION] * 3, total=100, done=60))
    assert (found.severity, found.task) == ("alarm", None)
    assert found.text.startswith("The tasks that evalroom lists have spent $100 or more")


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(rules(task=1_000), id="it fits"),
        pytest.param(rules(), id="no budget"),
        pytest.param(JudgeConfig(values={"money.task": 1.0}), id="no prices"),
        pytest.param(
            replace(rules(task=1), prices={"acme/other": Price(into=1, out=1)}), id="no price"
        ),
    ],
)
def test_what_is_not_found(config: JudgeConfig) -> None:
    assert money(watched(config, *[60 * MILLION] * 3, total=100, done=60)) == []


def test_it_closes_when_the_budget_fits_with_room() -> None:
    config = rules(task=100)
    fleet = watched(config, *[5 * MILLION] * 3, total=100, done=5, flying=0)
    for number, (done, left) in enumerate([(5, 47), (5, 42), (5, 39), (5, 39)]):
        at = NOW + 100 + 10 * number
        row = task_row(total_tokens=5 * MILLION, total=done + left, done=done, flying=0)
        fleet = advance(fleet, tasks_seen(row, at=at), config)
        assert len(money(fleet)) == (number < 3), number
