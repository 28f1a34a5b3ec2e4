"""Findings about commands that run for long, by the traces of their evals."""

from dataclasses import replace

import pytest

from core.events import OperationsSeen, TimePassed
from core.fleet import Fleet
from core.fold.fold import fold
from core.fold.operations import has_begun_with, operations_of
from core.model.finding import Finding
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

HANGS = Operation(
    action="Subprocess",
    what="docker exec",
    words="sleep 1000",
    since=NOW - 750,
    task="gdm_intercode_ctf",
    sample=(1, 1),
)


def seen(*operations: Operation, at: float = NOW) -> OperationsSeen:
    return OperationsSeen(at=at, process=process_key(), operations=operations)


def watched(*operations: Operation) -> Fleet:
    """Return a fleet with a task of two running samples, after its trace was read."""
    running = [replace(sample(n), started_at=NOW - 800, activity=None) for n in (1, 2)]
    events = (named(), link(), process_seen(), tasks_seen(task_row()), samples_seen(*running))
    return judged_after(*events, seen(*operations))


def commands(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "command" and each.closed_at is None]


def test_a_command_that_runs_for_long_is_a_finding_about_its_sample() -> None:
    [found] = commands(watched(HANGS))
    assert found.text.startswith("docker exec (sleep 1000) of sample 1/1 has run for over 10m.")
    assert (found.task, found.severity) == (task_key(), "suspect")
    assert found.sample is not None
    assert found.sample.sample_id == 1


def test_a_command_in_a_pod_counts_too() -> None:
    name = "K8s execute command in Pod"
    [found] = commands(watched(replace(HANGS, action=name, what=name, words="")))
    assert found.text.startswith(f"{name} of sample 1/1 has run for over 10m.")


def test_it_changes_at_each_double_and_closes_when_the_command_ends() -> None:
    fleet = watched(HANGS)
    same = judged_after(TimePassed(at=NOW + 300), fleet=fleet)
    assert commands(same) == commands(fleet)
    later = judged_after(TimePassed(at=NOW + 500), fleet=fleet)
    assert "over 20m" in commands(later)[0].text
    assert commands(judged_after(seen(at=NOW + 501), fleet=later)) == []
    assert commands(judged_after(process_gone(at=NOW + 501), fleet=later)) == []


def test_several_are_one_finding_that_names_the_oldest() -> None:
    other = replace(HANGS, since=NOW - 650, sample=(2, 1), words="")
    [found] = commands(watched(other, HANGS))
    assert found.count == 2
    assert "2 commands run for long, the oldest for over 10m" in found.text
    assert "docker exec (sleep 1000) of sample 1/1, docker exec of sample 2/1" in found.text


def test_other_operations_and_young_commands_open_no_finding() -> None:
    model = replace(HANGS, action="Model", what="Model", words="")
    assert commands(watched(model, replace(HANGS, sample=(2, 1), since=NOW - 500))) == []


def test_a_command_of_an_earlier_attempt_of_the_sample_is_not_its_own() -> None:
    fleet = watched(replace(HANGS, since=NOW - 900))
    assert operations_of(fleet, fleet.tasks[task_key()]) == {}


def test_a_command_before_any_sample_is_reported_for_its_process() -> None:
    build = replace(HANGS, what="docker compose build", words="", task="", sample=None)
    [found] = commands(watched(build))
    assert found.text.startswith("docker compose build has run for over 10m.")
    assert (found.task, found.process) == (None, process_key())


def test_two_tasks_of_one_name_get_no_order_by_that_name() -> None:
    running = replace(sample(1), started_at=NOW - 800, activity=None)
    both = tasks_seen(task_row(), task_row(task_id="t2"))
    fleet = judged_after(named(), link(), process_seen(), both, samples_seen(running))
    fleet = judged_after(samples_seen(running, task=task_key("t2")), seen(HANGS), fleet=fleet)
    assert [operations_of(fleet, task) for task in fleet.tasks.values()] == [{}, {}]
    [found] = commands(fleet)
    assert (found.task, found.sample) == (None, None)


def test_no_pair_of_tasks_is_looked_at_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def counted(operation: Operation, started_at: float | None) -> bool:
        nonlocal looks
        looks += 1
        return has_begun_with(operation, started_at)

    number = 200
    keys = [f"t{each}" for each in range(number)]
    fleet = judged_after(
        named(), link(), process_seen(), tasks_seen(*(task_row(task_id=key) for key in keys))
    )
    for each, key in enumerate(keys):
        running = replace(sample(each), started_at=NOW - 800, activity=None)
        fleet = fold(fleet, samples_seen(running, task=task_key(key)))
    monkeypatch.setattr("core.fold.operations.has_begun_with", counted)
    doing = [replace(HANGS, sample=(each, 1)) for each in range(number)]
    assert len(commands(judged_after(seen(*doing), fleet=fleet))) == number
    assert number <= looks <= 4 * number


def test_a_machine_that_is_down_adds_nothing() -> None:
    fleet = judged_after(link(state=LinkState.DOWN, at=NOW + 1), fleet=watched(HANGS))
    later = judged_after(TimePassed(at=NOW + 5_000), fleet=fleet)
    assert [each.text for each in commands(later)] == [each.text for each in commands(fleet)]
