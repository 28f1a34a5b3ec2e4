"""Commands of an eval that run for long, by its trace, and whose samples do which."""

from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES
from core.events import OperationsSeen, TimePassed
from core.fleet import Fleet
from core.fold.operations import has_begun_with, operations_of
from core.model.machine import LinkState
from core.model.operation import Operation
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.judge_scenes import HOSTILE, after, found, is_harmless

BUILD = Operation(action="Subprocess", what="docker compose", words="build", since=NOW)
HANGS = replace(
    BUILD, what="docker exec", words="sleep 1000", task="gdm_intercode_ctf", sample=(1, 1)
)
ROW = task_row(done=3)


def seen(*operations: Operation, at: float) -> OperationsSeen:
    return OperationsSeen(at=at, process=process_key(), operations=operations)


def watched(
    *operations: Operation, until: float = 605, rules: JudgeConfig = USUAL_RULES, done: int = 3
) -> Fleet:
    """Return a fleet with a task of two running samples, whose trace was read every minute."""
    running = [replace(sample(n), started_at=NOW - 50, activity=None) for n in (1, 2)]
    fleet = judged_after(named(), link(), process_seen())
    for at in (*range(0, int(until), 60), until):
        moment = NOW + at
        fleet = after(
            fleet,
            tasks_seen(task_row(done=done), at=moment),
            samples_seen(*running, at=moment),
            seen(*operations, at=moment),
            rules=rules,
        )
    return fleet


def test_a_command_that_is_not_of_a_sample_is_found_after_ten_minutes() -> None:
    assert found(watched(BUILD, until=595), "command") == []
    [long] = found(watched(BUILD), "command")
    assert long.text.startswith("docker compose (build) has run for over 10m.")
    assert (long.severity, long.process, long.task) == ("suspect", process_key(), None)


def test_it_changes_at_each_double_and_closes_when_the_command_ends() -> None:
    [long] = found(watched(BUILD, until=1_205), "command")
    assert "over 20m" in long.text
    fleet = watched(BUILD)
    assert found(after(fleet, seen(at=NOW + 610)), "command") == []
    assert found(after(fleet, process_gone(at=NOW + 610)), "command") == []


def test_several_are_one_finding_that_names_the_oldest() -> None:
    names = ["pull", "build", "up", "ps"]
    four = [replace(BUILD, since=NOW + n, words=name) for n, name in enumerate(names)]
    [long] = found(watched(*reversed(four), until=660), "command")
    assert long.count == 4
    assert "4 commands run for long, the oldest for over 10m" in long.text
    assert "docker compose (pull), docker compose (build), docker compose (up) and 1" in long.text


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(replace(BUILD, action="Model", what="Model"), id="not a command"),
        pytest.param(replace(BUILD, since=NOW + 100), id="young"),
    ],
)
def test_other_operations_open_no_finding(operation: Operation) -> None:
    assert found(watched(operation), "command") == []


def test_a_command_of_a_sample_is_told_once_as_its_stall() -> None:
    fleet = watched(HANGS)
    assert {each.kind for each in fleet.findings if each.is_open} == {"stall"}


def test_a_command_before_any_sample_is_done_is_told_once_as_spin_up() -> None:
    assert found(watched(BUILD, done=0, until=1_000), "command") == []


def test_a_command_of_a_process_without_tasks_is_found() -> None:
    fleet = judged_after(named(), link(), process_seen())
    for at in (400, 650):
        fleet = after(fleet, seen(BUILD, at=NOW + at))
    assert len(found(fleet, "command")) == 1


def test_a_command_of_an_earlier_attempt_of_the_sample_is_not_its_own() -> None:
    fleet = watched(replace(HANGS, since=NOW - 900), until=0)
    assert operations_of(fleet, fleet.tasks[task_key()]) == {}


def test_two_tasks_of_one_name_get_no_order_by_that_name() -> None:
    running = replace(sample(1), started_at=NOW - 50, activity=None)
    both = tasks_seen(ROW, task_row(task_id="t2"))
    fleet = judged_after(named(), link(), process_seen(), both, samples_seen(running))
    fleet = after(fleet, samples_seen(running, task=task_key("t2")), seen(HANGS, at=NOW))
    assert [operations_of(fleet, task) for task in fleet.tasks.values()] == [{}, {}]


def test_a_machine_that_is_down_adds_nothing() -> None:
    fleet = after(watched(BUILD), link(state=LinkState.DOWN, at=NOW + 610))
    later = after(fleet, TimePassed(at=NOW + 5_000), process_seen(at=NOW + 5_001))
    assert [each.text for each in found(later, "command")] == [
        each.text for each in found(fleet, "command")
    ]


def test_the_config_sets_the_time() -> None:
    rules = JudgeConfig(values={"command.suspect": 120.0})
    assert len(found(watched(BUILD, until=130, rules=rules), "command")) == 1


def test_hostile_words_do_no_harm() -> None:
    [long] = found(watched(replace(BUILD, words=HOSTILE)), "command")
    assert is_harmless(long)


def test_no_pair_of_tasks_is_looked_at_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, number = 0, 200

    def counted(operation: Operation, started_at: float | None) -> bool:
        nonlocal looks
        looks += 1
        return has_begun_with(operation, started_at)

    keys = [f"t{each}" for each in range(number)]
    fleet = judged_after(
        named(), link(), process_seen(), tasks_seen(*(task_row(task_id=key) for key in keys))
    )
    for each, key in enumerate(keys):
        running = replace(sample(each), started_at=NOW - 50, activity=None)
        fleet = judged_after(samples_seen(running, task=task_key(key)), fleet=fleet)
    doing = [replace(HANGS, sample=(each, 1)) for each in range(number)]
    monkeypatch.setattr("core.fold.operations.has_begun_with", counted)
    judged_after(seen(*doing, at=NOW), fleet=fleet)
    assert number <= looks <= 4 * number
