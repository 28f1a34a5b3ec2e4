"""Refusals: a spike against the task's own rate."""

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.fleet import Fleet
from core.model.machine import LinkState
from tests.support.fleets import NOW, link, task_row, tasks_seen
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless

CALM = 60
"""Minutes of the scene in which the model refuses once in ten minutes."""


def refused(
    *each_minute: int,
    rules: JudgeConfig = USUAL_RULES,
    tokens: int = 1_000,
    model: str = "acme/m",
    calm: int = CALM,
) -> Fleet:
    """Return the fleet after a calm hour, then after minutes with so many refusals each."""
    fleet = begun(task_row(model=model, total_tokens=0))
    refusals = used = 0
    for minute in range(1, calm + len(each_minute) + 1):
        is_calm = minute <= calm
        refusals += (minute % 10 == 0) if is_calm else each_minute[minute - calm - 1]
        used += 1_000 if is_calm else tokens
        row = task_row(model=model, refusals=int(refusals), total_tokens=used)
        fleet = after(fleet, tasks_seen(row, at=NOW + 60 * minute), rules=rules)
    return fleet


def test_many_more_refusals_than_before_are_a_spike() -> None:
    [spike] = found(refused(2, 3, 4), "refusals")
    assert (spike.severity, spike.model) == ("suspect", "acme/m")
    assert spike.text.startswith(
        "acme/m refused 10 times or more in 10m; at this task's own rate it would have been about 1"
    )
    assert spike.proposals[0].action == "pause"


@pytest.mark.parametrize(
    ("minutes", "tokens"),
    [
        pytest.param((0, 1, 0, 1), 1_000, id="few"),
        pytest.param((2, 2, 2, 2), 60_000, id="it also does sixty times the work"),
    ],
)
def test_what_is_not_a_spike(minutes: tuple[int, ...], tokens: int) -> None:
    assert found(refused(*minutes, tokens=tokens), "refusals") == []


def test_a_task_that_is_young_has_no_rate_of_its_own() -> None:
    assert found(refused(*[5] * 12, calm=2), "refusals") == []


def test_it_closes_when_it_refuses_as_rarely_as_before() -> None:
    fleet = refused(3, 3, 3)
    assert len(found(fleet, "refusals")) == 1
    assert found(refused(3, 3, 3, *[0] * 12), "refusals") == []


def test_a_lost_link_neither_opens_nor_closes_it() -> None:
    fleet = after(refused(3, 3, 3), link(LinkState.DOWN, at=NOW + 9_000))
    assert len(found(fleet, "refusals")) == 1


def test_the_config_sets_the_bounds() -> None:
    rules = JudgeConfig(values={"refusals.least": 20.0})
    assert found(refused(2, 3, 4, rules=rules), "refusals") == []


def test_hostile_names_do_no_harm() -> None:
    [spike] = found(refused(2, 3, 4, model=HOSTILE), "refusals")
    assert is_harmless(spike)
