"""A timeout that is too tight: calls that end at it, and are retried."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.events import OrderEnded, OrderGiven
from core.fleet import Fleet
from core.model.action import Action, Change, Verb
from core.model.order import OrderState
from core.model.sample import Activity
from tests.support.fleets import NOW, process_key, sample, samples_seen, task_key, task_row
from tests.support.judge_scenes import after, begun, found
from tests.support.orders import order

ARGV = ("inspect", "eval", "ctf.py", "--attempt-timeout", "60")


def called(
    *took: float,
    argv: tuple[str, ...] = ARGV,
    retries: int = 20,
    fleet: Fleet | None = None,
    begin: float = 0,
    rules: JudgeConfig = USUAL_RULES,
) -> Fleet:
    """Return the fleet after calls of one sample that took so long, one after the other."""
    row = replace(task_row(), http_retries=retries)
    fleet = fleet if fleet is not None else begun(row, argv=argv)
    at = NOW + begin
    for seconds in took:
        call = sample(1, activity=Activity(type="model", started_at=at))
        at += seconds
        wait = sample(1, activity=Activity(type="retry_wait", started_at=at))
        for rows, moment in ((call, at - seconds + 1), (wait, at + 1)):
            fleet = after(fleet, samples_seen(rows, at=moment), rules=rules)
        at += 5
    return fleet


def test_calls_that_end_at_the_timeout_name_the_knob_that_eases_it() -> None:
    assert found(called(*[60.0] * 4), "timeout") == []
    [tight] = found(called(*[60.0] * 6, 20.0), "timeout")
    assert tight.text == (
        "6 of the newest 7 model calls ended at the attempt timeout of 1m and were retried."
        " Raise it: attempt_timeout = 120"
    )
    assert tight.proposals[0].changes == (Change("attempt_timeout", 120),)


@pytest.mark.parametrize(
    ("took", "argv", "retries"),
    [
        pytest.param([40.0] * 10, ARGV, 20, id="before it"),
        pytest.param([60.0] * 10, ARGV[:3], 20, id="no timeout is known"),
        pytest.param([60.0] * 10, ARGV, 0, id="nothing was retried"),
    ],
)
def test_what_is_not_a_tight_timeout(
    took: list[float], argv: tuple[str, ...], retries: int
) -> None:
    assert found(called(*took, argv=argv, retries=retries), "timeout") == []


def test_it_closes_when_it_is_raised_or_calls_end_before_it() -> None:
    fleet = called(*[60.0] * 6)
    assert len(found(fleet, "timeout")) == 1
    raised = Action(verb=Verb.CONFIG, changes=(Change("attempt_timeout", 300),))
    given = replace(order("o1", target=process_key()), action=raised)
    done = OrderEnded(at=NOW + 500, order=given.id, state=OrderState.DONE, message="done")
    changed = after(fleet, OrderGiven(at=NOW + 499, order=given), done)
    assert found(called(30.0, 30.0, fleet=changed, begin=510), "timeout") == []
    assert found(called(*[20.0] * 20, fleet=fleet, begin=510), "timeout") == []
    assert task_key() in fleet.tasks


def test_a_storm_of_its_retries_is_told_once() -> None:
    """Between two calls, each sample waits for a long time."""
    fleet, at = called(*[60.0] * 6), NOW + 400
    tight, other = fleet, called(*[40.0] * 6)
    for seconds in range(0, 320, 10):
        wait = sample(1, activity=Activity(type="retry_wait", count=12, started_at=at))
        tight, other = (after(each, samples_seen(wait, at=at + seconds)) for each in (tight, other))
    assert len(found(tight, "timeout")) == 1
    assert found(tight, "retry-storm") == []
    assert len(found(other, "retry-storm")) == 1


def test_the_config_sets_the_number() -> None:
    rules = JudgeConfig(values={"timeout.calls": 3.0})
    assert len(found(called(*[60.0] * 5, rules=rules), "timeout")) == 1
