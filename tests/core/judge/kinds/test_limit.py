"""A limit: held samples whose time limit runs on."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.fleet import Fleet
from core.model.action import Change
from tests.support.fleets import NOW, sample, samples_seen, task_row, tasks_seen
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless

LIMITED = ("inspect", "eval", "ctf.py", "--time-limit", "3600")
HELD = task_row(paused=("task",), paused_now=("task",), held=2)


def held_for(
    seconds: float,
    *,
    row: object = HELD,
    argv: tuple[str, ...] = LIMITED,
    rules: JudgeConfig = USUAL_RULES,
    name: int | str = 1,
) -> Fleet:
    """Return the fleet after samples that started at NOW were read twice."""
    assert isinstance(row, type(HELD))
    fleet = begun(row, argv=argv)
    for at in (seconds - 60, seconds):
        rows = [sample(n, started_at=NOW, activity=None) for n in (name, 2)]
        rows.append(sample(3, started_at=NOW + 2_000, activity=None))
        fleet = after(fleet, samples_seen(*rows, at=NOW + at), rules=rules)
    return fleet


def test_held_samples_near_their_time_limit_are_one_finding() -> None:
    assert found(held_for(2_870), "limit") == []
    [near] = found(held_for(2_890), "limit")
    assert (near.severity, near.count) == ("suspect", 2)
    assert near.text.startswith(
        "2 held samples have used over 80% of 1h, the time limit, which runs on while they are held"
    )
    assert near.text.endswith("Resume, or raise the time limit")
    assert [(each.action, each.scope) for each in near.proposals] == [
        ("resume", "task"),
        ("config", "task"),
    ]
    assert near.proposals[1].changes == (Change("time_limit", 7_200),)
    [worse] = found(held_for(3_430), "limit")
    assert worse.severity == "alarm"


def test_it_closes_when_they_are_resumed() -> None:
    fleet = held_for(2_900)
    key = next(iter(fleet.tasks))
    rows = [sample(n, started_at=NOW, activity=None) for n in (1, 2)]
    fleet = after(fleet, tasks_seen(task_row(), at=NOW + 2_950))
    fleet = after(fleet, samples_seen(*rows, task=key, at=NOW + 2_960))
    assert found(fleet, "limit") == []


@pytest.mark.parametrize(
    ("row", "argv"),
    [
        pytest.param(task_row(), LIMITED, id="not held"),
        pytest.param(task_row(paused=("task",)), LIMITED, id="paused, not held"),
        pytest.param(HELD, LIMITED[:3], id="no time limit"),
    ],
)
def test_what_is_not_held_or_not_limited(row: object, argv: tuple[str, ...]) -> None:
    assert found(held_for(3_500, row=row, argv=argv), "limit") == []


def test_a_pause_of_the_process_proposes_to_resume_it() -> None:
    [near] = found(held_for(3_000, row=replace(HELD, process_paused_now=True)), "limit")
    assert (near.proposals[0].action, near.proposals[0].scope) == ("resume", "process")


def test_the_config_sets_the_share() -> None:
    rules = JudgeConfig(values={"limit.share.suspect": 50.0})
    assert len(found(held_for(1_900, rules=rules), "limit")) == 1


def test_hostile_names_do_no_harm() -> None:
    [near] = found(held_for(3_000, name=HOSTILE), "limit")
    assert is_harmless(near)
