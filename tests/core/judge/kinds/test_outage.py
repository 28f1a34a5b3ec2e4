"""Outages and rate limits of a model over the whole fleet: one finding each."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event
from core.fleet import Fleet
from core.model.action import Change
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.sample import Activity, Sample
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    link,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

MODEL = "acme/big"
RETRY = Activity(type="retry_wait", started_at=NOW, detail="big")
CALL = Activity(type="model", started_at=NOW - 5, detail=MODEL)
HUNG = Activity(type="model", started_at=NOW - 500, detail=MODEL)
TOOL = Activity(type="tool", started_at=NOW, detail="bash")
H3 = type(H1)("h100-3")
PLACES = (H1, H2, H3)
USUAL = JudgeConfig()


def doing(activity: Activity, number: int) -> Sample:
    return replace(sample(number), activity=activity)


def eval_on(machine: str, argv: str = "", model: str = MODEL) -> tuple[Event, ...]:
    """Return an eval with one task on a machine."""
    name = type(H1)(machine)
    words = ("inspect", "eval", "x.py", *argv.split())
    row = task_row(model=model)
    return (
        named(name), link(machine=name), process_seen(name, argv=words),
        tasks_seen(row, machine=name),
    )  # fmt: skip


def watched(
    activities: Iterable[Activity],
    *,
    looks: int = 3,
    places: tuple[str, ...] = PLACES,
    argv: str = "",
    model: str = MODEL,
    rules: JudgeConfig = USUAL,
    every: float = 10.0,
    fleet: Fleet | None = None,
    begin: float = 0.0,
) -> Fleet:
    """Return the fleet after looks at one task on each machine, each with these samples."""
    known = fleet if fleet is not None else Fleet()
    rows = tuple(doing(each, number) for number, each in enumerate(activities))
    if fleet is None:
        for event in (each for place in places for each in eval_on(place, argv, model)):
            known = advance(known, event, rules)
    for look in range(looks):
        at = NOW + begin + look * every
        for place in places:
            seen = samples_seen(*rows, task=task_key(machine=type(H1)(place)), at=at)
            known = advance(known, seen, rules)
    return known


def found_by(kind: str, fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == kind and each.is_open]


def test_an_outage_of_one_model_over_machines_is_one_finding() -> None:
    fleet = watched([RETRY] * 3 + [CALL])
    [found] = found_by("outage", fleet)
    assert (found.severity, found.model, found.machine) == ("suspect", MODEL, None)
    assert found.text.startswith(
        "acme/big fails or throttles: 8 samples or more of 3 tasks on h100-1, h100-2, h100-3 wait"
        " for a retry."
    )
    assert found_by("rate-limit", fleet) == [], "the outage tells of it"


def test_one_look_opens_nothing() -> None:
    assert found_by("outage", watched([RETRY] * 4, looks=1)) == []


def test_it_needs_looks_at_all_tasks_and_not_many_looks_at_one() -> None:
    fleet = watched([RETRY] * 4, looks=1)
    for second in range(10, 60, 5):
        rows = [doing(RETRY, number) for number in range(4)]
        fleet = advance(fleet, samples_seen(*rows, at=NOW + second))
    assert found_by("outage", fleet) == []


def test_an_outage_that_lasts_is_an_alarm() -> None:
    fleet = watched([RETRY] * 4, looks=40)
    [found] = found_by("outage", fleet)
    assert found.severity == "alarm"
    assert "for over 5m" in found.text


def test_calls_that_hang_are_an_outage_of_one_task_too() -> None:
    fleet = watched([HUNG] * 5, places=(H1,))
    [found] = found_by("outage", fleet)
    assert found.machine == H1
    assert "have no answer" in found.text


def test_stalls_that_an_outage_explains_are_not_told_as_well() -> None:
    fleet = watched([HUNG] * 5, places=(H1,), looks=1)
    fleet = watched([HUNG] * 5, places=(H1,), looks=8, fleet=fleet, begin=10)
    assert len(found_by("outage", fleet)) == 1
    assert found_by("stall", fleet) == []


def test_a_stalled_tool_is_told_while_its_model_is_out() -> None:
    slow = replace(TOOL, started_at=NOW - 400)
    fleet = watched([HUNG] * 5 + [slow], places=(H1,), looks=8)
    assert len(found_by("outage", fleet)) == 1
    [stall] = found_by("stall", fleet)
    assert "bash" in stall.text


@pytest.mark.parametrize(
    "activities",
    [
        pytest.param([CALL] * 8, id="answered"),
        pytest.param([RETRY, *[CALL] * 9], id="a few retries"),
        pytest.param([TOOL] * 8, id="tools"),
        pytest.param([], id="nothing runs"),
    ],
)
def test_what_is_not_an_outage(activities: list[Activity]) -> None:
    assert found_by("outage", watched(activities)) == []


def test_the_retries_of_one_task_are_not_an_outage() -> None:
    assert found_by("outage", watched([RETRY] * 9, places=(H1,))) == []


def test_calls_that_take_long_as_a_rule_do_not_hang() -> None:
    fleet = watched([], places=(H1,), looks=0)
    for turn in range(13):
        began = NOW - 5_000 + 500 * turn
        row = doing(replace(CALL, started_at=began), 1)
        for seconds in (1, 490):
            fleet = advance(fleet, samples_seen(row, at=began + seconds))
    last = NOW - 5_000 + 500 * 12
    for later in (600, 620, 640):
        rows = [doing(replace(CALL, started_at=last), number) for number in (1, 2, 3, 4)]
        fleet = advance(fleet, samples_seen(*rows, at=last + later))
    assert found_by("outage", fleet) == []


def test_it_closes_when_calls_are_answered_and_not_before() -> None:
    fleet = watched([RETRY] * 4)
    fleet = watched([RETRY, RETRY, CALL, CALL, CALL], fleet=fleet, begin=100, looks=4)
    assert len(found_by("outage", fleet)) == 1, "it closes at a lower bound"
    fleet = watched([CALL] * 4, fleet=fleet, begin=200, looks=4)
    assert found_by("outage", fleet) == []


def test_a_machine_that_is_down_is_not_judged() -> None:
    fleet = watched([RETRY] * 4, looks=0)
    for place in PLACES:
        fleet = advance(fleet, link(LinkState.DOWN, machine=place))
    assert found_by("outage", watched([RETRY] * 4, fleet=fleet)) == []


def test_the_config_sets_the_share() -> None:
    rules = JudgeConfig(values={"outage.share": 90.0})
    assert found_by("outage", watched([RETRY] * 3 + [CALL], rules=rules)) == []


def test_hostile_names_of_models_do_no_harm() -> None:
    for name in ("\x1b[2J" + "y" * 5_000, "", "/" * 300, "a\u202eb/c"):
        fleet = watched([replace(RETRY, detail=name)] * 4, model=name)
        for each in found_by("outage", fleet):
            assert "\x1b" not in each.text
            assert "\u202e" not in each.text
            assert len(each.text) < 500


THROTTLED = [RETRY, RETRY, CALL, CALL, CALL]


def test_a_model_that_throttles_processes_which_share_its_key() -> None:
    fleet = watched(THROTTLED, argv="--max-connections 40")
    assert found_by("outage", fleet) == []
    [found] = found_by("rate-limit", fleet)
    assert found.severity == "suspect"
    assert "throttles 3 processes on h100-1, h100-2, h100-3" in found.text
    assert "120 connections together" in found.text
    assert found.proposals[0].changes == (Change(knob="max_connections", value=20, model=MODEL),)


def test_ceilings_over_the_budget_are_a_notice_until_the_model_throttles() -> None:
    rules = JudgeConfig(budgets={MODEL: 60})
    [found] = found_by("rate-limit", _polled(rules, "--max-connections 40"))
    assert found.severity == "notice"
    assert "may open 120 connections to acme/big, and its budget is 60" in found.text
    assert found.proposals[0].changes[0].value == 20
    assert found.process == process_key(found.machine or H1)
    fleet = watched(THROTTLED, argv="--max-connections 40", rules=rules)
    assert found_by("rate-limit", fleet)[0].severity == "suspect"


def _polled(rules: JudgeConfig, argv: str) -> Fleet:
    fleet = watched([CALL], argv=argv, rules=rules)
    for second in (10, 20, 30):
        for place in PLACES:
            row = tasks_seen(task_row(model=MODEL), machine=place, at=NOW + second + 20)
            fleet = advance(fleet, row, rules)
    return fleet


def test_ceilings_within_the_budget_are_fine() -> None:
    rules = JudgeConfig(budgets={MODEL: 200})
    assert found_by("rate-limit", _polled(rules, "--max-connections 40")) == []
    assert found_by("rate-limit", _polled(JudgeConfig(budgets={MODEL: 30}), "")) == []


@pytest.mark.parametrize("model", ["vllm/big", "hf/big", "mockllm/big"])
def test_models_of_the_machine_share_no_key(model: str) -> None:
    calls = [replace(each, detail="big") for each in THROTTLED]
    assert found_by("rate-limit", watched(calls, model=model)) == []
