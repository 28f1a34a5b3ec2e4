"""A retry storm: samples that wait for retries most of the time, in a task or a whole model."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.events import Event, ReadsUnchanged
from core.fleet import Fleet
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
from tests.support.judge_scenes import HOSTILE, after, begun, found, is_harmless


def waiting(number: int, at: float, attempt: int = 3) -> Sample:
    wait = Activity(type="retry_wait", count=attempt, started_at=at - 20, deadline=at + 40)
    return sample(number, activity=wait)


def storm(
    fleet: Fleet,
    seconds: int,
    *,
    of: int = 4,
    waits: int = 4,
    task_id: str = "t1",
    begin: int = 0,
    rules: JudgeConfig = USUAL_RULES,
    model: str = "acme/m",
) -> Fleet:
    """Return the fleet after a task was read every 10 s, while some of its samples waited."""
    for at in range(begin, begin + seconds + 1, 10):
        rows = tuple(
            waiting(n, NOW + at) if n <= waits else sample(n, turn_count=at)
            for n in range(1, of + 1)
        )
        row = task_row(task_id, model=model, http_retries=at // 10, flying=of)
        row = replace(row, eval_id=f"e-{task_id}")
        known = [each for each in fleet.tasks.values() if each.key.process == process_key()]
        others = [each.row for each in known if each.key.task_id != task_id]
        events: list[Event] = [
            tasks_seen(*others, row, at=NOW + at),
            samples_seen(*rows, task=task_key(task_id), at=NOW + at),
        ]
        fleet = after(fleet, *events, rules=rules)
    return fleet


ONE = begun(task_row(model="acme/m"))


def test_half_of_the_time_in_waits_is_a_storm() -> None:
    assert found(storm(ONE, 120), "retry-storm") == []
    [storms] = found(storm(ONE, 170), "retry-storm")
    assert (storms.severity, storms.task, storms.model) == ("suspect", task_key(), "acme/m")
    assert storms.text.startswith(
        "Samples of gdm_intercode_ctf spend over 50% of their time in waits for retries"
        " (20 retries or more in 5m)."
    )
    assert [each.action for each in storms.proposals] == ["config", "pause"]
    [worse] = found(storm(ONE, 300), "retry-storm")
    assert (worse.id, worse.severity) == (storms.id, "alarm")


def test_a_part_of_the_samples_that_waits_is_not_a_storm() -> None:
    assert found(storm(ONE, 600, of=8, waits=3), "retry-storm") == []


def test_few_retries_are_not_a_storm() -> None:
    """One long wait after the first refusal takes all the time, and is only one retry."""
    fleet = ONE
    for at in range(0, 600, 10):
        rows = (replace(waiting(1, NOW), activity=Activity(type="retry_wait", started_at=NOW)),)
        fleet = after(fleet, samples_seen(*rows, at=NOW + at))
    assert found(fleet, "retry-storm") == []


def test_it_closes_when_the_calls_succeed_again() -> None:
    fleet = storm(ONE, 200)
    assert len(found(fleet, "retry-storm")) == 1
    fleet = storm(fleet, 400, waits=0, begin=210)
    assert found(fleet, "retry-storm") == []
    assert [each.kind for each in fleet.findings if each.closed_at] == ["retry-storm"]


def test_what_is_remembered_of_waits_is_bounded_and_forgotten() -> None:
    fleet = storm(ONE, 2_000)
    assert len(fleet.tasks[task_key()].waits) < 130
    fleet = storm(fleet, 700, waits=0, begin=2_010)
    assert fleet.tasks[task_key()].waits == ()


def test_a_new_task_of_the_model_does_not_split_its_finding() -> None:
    fleet = two_storms(1)
    for at in range(310, 400, 10):
        fleet = storm(fleet, 0, begin=at, task_id="t3", waits=0)
        fleet = storm(fleet, 0, begin=at, of=1, waits=1)
        fleet = storm(fleet, 0, begin=at, of=1, waits=1, task_id="t2")
    assert [each.model for each in found(fleet, "retry-storm")] == ["acme/m"]
    assert len([each for each in fleet.findings if each.kind == "retry-storm"]) == 1


def test_unchanged_reads_count_too() -> None:
    fleet = storm(ONE, 0)
    fleet = after(
        fleet,
        tasks_seen(task_row(model="acme/m", http_retries=30), at=NOW + 1),
        samples_seen(*(waiting(n, NOW) for n in range(1, 5)), at=NOW + 2),
    )
    for at in range(10, 300, 10):
        same = ReadsUnchanged(at=NOW + at, machine=H1, samples=((task_key(), NOW + at),))
        fleet = after(fleet, same)
    assert len(found(fleet, "retry-storm")) == 1


def two_storms(of: int) -> Fleet:
    """Return a fleet of two tasks of one model, with so many samples each, that all wait."""
    fleet = begun(task_row(model="acme/m"), task_row("t2", model="acme/m"))
    for at in range(0, 310, 10):
        fleet = storm(fleet, 0, begin=at, of=of, waits=of)
        fleet = storm(fleet, 0, begin=at, of=of, waits=of, task_id="t2")
    return fleet


def test_all_tasks_of_a_model_are_one_finding_about_the_model() -> None:
    [storms] = found(two_storms(1), "retry-storm")
    assert (storms.model, storms.task, storms.count) == ("acme/m", None, 2)
    assert storms.text.startswith("All 2 tasks that use acme/m wait; the worst, gdm_intercode_ctf")


def test_an_outage_of_the_model_tells_it_already() -> None:
    fleet = two_storms(4)
    assert len(found(fleet, "outage")) == 1
    assert found(fleet, "retry-storm") == []


def test_one_storm_of_two_tasks_of_a_model_is_about_its_task() -> None:
    two = begun(task_row(model="acme/m"), task_row("t2", model="acme/m"))
    [storms] = found(storm(two, 300), "retry-storm")
    assert storms.task == task_key()


def test_a_storm_on_two_machines_is_one_finding() -> None:
    fleet = after(
        begun(task_row(model="acme/m")),
        named(H2),
        link(machine=H2),
        process_seen(H2, 7),
        tasks_seen(task_row("t9", model="acme/m"), machine=H2, pid=7),
    )
    for at in range(0, 310, 10):
        fleet = storm(fleet, 0, begin=at, of=1, waits=1)
        row = task_row("t9", model="acme/m", http_retries=at)
        rows = samples_seen(waiting(1, NOW + at), task=task_key("t9", H2, 7), at=NOW + at)
        fleet = after(fleet, tasks_seen(row, machine=H2, pid=7, at=NOW + at), rows)
    [storms] = found(fleet, "retry-storm")
    assert storms.machine is None
    assert "All 2 tasks on 2 machines" in storms.text


def test_a_lost_link_neither_opens_nor_closes_it() -> None:
    down = link(LinkState.DOWN, at=NOW + 201)
    fleet = after(storm(ONE, 200), down)
    for at in range(210, 4_000, 10):
        fleet = after(fleet, link(LinkState.CONNECTING, at=NOW + at))
    assert len(found(fleet, "retry-storm")) == 1


def test_a_gap_without_readings_proves_nothing() -> None:
    fleet = storm(ONE, 20)
    fleet = storm(fleet, 20, begin=3_600)
    assert found(fleet, "retry-storm") == []


@pytest.mark.parametrize(
    ("values", "seconds"),
    [({"retry-storm.share.suspect": 20.0}, 110), ({"retry-storm.window": 120.0}, 110)],
)
def test_the_config_sets_the_bounds(values: dict[str, float], seconds: int) -> None:
    assert found(storm(ONE, seconds), "retry-storm") == []
    rules = JudgeConfig(values=values)
    assert len(found(storm(ONE, seconds, rules=rules), "retry-storm")) == 1


def test_hostile_names_do_no_harm() -> None:
    [storms] = found(storm(begun(task_row(model=HOSTILE)), 300, model=HOSTILE), "retry-storm")
    assert is_harmless(storms)
