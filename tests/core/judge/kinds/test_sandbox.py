"""Sandbox trouble, by what Docker said in the logs of ended tasks."""

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.fleet import Fleet
from core.judge.docker_words import trouble_in
from core.model.finding import Finding
from core.model.log_summary import ErrorGroup
from tests.support.fleets import (
    H1,
    NOW,
    causes_seen,
    facts,
    judged_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

POOLS = "RuntimeError: could not find an available, non-overlapping IPv4 address pool among the"
USUAL = JudgeConfig()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (POOLS, "networks"),
        (POOLS.replace("4", "0"), "networks"),
        ("Error response from daemon: all predefined address pools have been fully subnetted",
         "networks"),
        ("Error: No such image: acme/box:2", "image"),
        ("pull access denied for acme/box, repository does not exist", "image"),
        ("manifest for acme/box:9 not found: manifest unknown", "image"),
        ("toomanyrequests: You have reached your pull rate limit", "pulls"),
        ("docker: write /var/lib/docker/tmp: no space left on device", "disk"),
        ("permission denied while trying to connect to the Docker daemon socket", "access"),
        ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
         "engine"),
        ("OSError: No space left on device", ""),
        ("KeyError: 'image'", ""),
        ("RateLimitError: too many requests", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_what_docker_says_is_known(said: str, name: str) -> None:
    assert trouble_in(said) == name


def test_trouble_of_a_running_task_is_told_while_it_runs() -> None:
    fleet = judged_after(
        named(), link(), process_seen(), tasks_seen(task_row(errored=2)),
        causes_seen((1, 1, POOLS), (2, 1, POOLS), at=NOW + 1), link(at=NOW + 10),
    )  # fmt: skip
    [found] = [each for each in fleet.findings if each.kind == "sandbox"]
    assert found.text.startswith("2 samples of 1 task errored because Docker has no networks left")
    assert found.closes_when == "the last task that met it ended 1h ago"
    later = advance(fleet, facts(at=NOW + 8_000))
    assert len(found_in(later)) == 1, "its task still runs"


def ended(*causes: str, rules: JudgeConfig = USUAL) -> Fleet:
    """Return the fleet after a task that ended with these errors of its samples."""
    groups = tuple(ErrorGroup(cause=each, count=4, example=("s1", 1)) for each in causes)
    fleet = judged_after(
        named(), link(), process_seen(), tasks_seen(task_row()), process_gone(at=NOW + 5)
    )
    read = log_read("success", at=NOW + 10, samples=logged(errors=groups, errored=4))
    fleet = advance(fleet, read, rules)
    return advance(fleet, facts(at=NOW + 20), rules)


def found_in(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "sandbox" and each.is_open]


def test_networks_that_ran_out_are_found_with_what_to_do() -> None:
    [found] = found_in(ended(POOLS, "ValueError: x"))
    assert (found.machine, found.task, found.count) == (H1, task_key(), 4)
    assert found.text.startswith(
        "4 samples of 1 task errored because Docker has no networks left. Run fewer samples at once"
    )
    assert found.cause.startswith("Docker said: RuntimeError: could not find")


def test_other_errors_are_not_about_sandboxes() -> None:
    assert found_in(ended("ValueError: x")) == []


def test_it_closes_some_time_after_the_last_one() -> None:
    fleet = ended(POOLS)
    fleet = advance(fleet, facts(at=NOW + 3_500))
    assert len(found_in(fleet)) == 1
    fleet = advance(fleet, facts(at=NOW + 3_700))
    assert found_in(fleet) == []


def test_the_config_sets_for_how_long() -> None:
    rules = JudgeConfig(values={"sandbox.lasts": 60.0})
    fleet = ended(POOLS, rules=rules)
    assert len(found_in(fleet)) == 1
    assert found_in(advance(fleet, facts(at=NOW + 80), rules)) == []


def test_hostile_words_do_no_harm() -> None:
    [found] = found_in(ended("No such image: \x1b[2J\u202e" + "z" * 9_000))
    assert "\x1b" not in found.cause
    assert len(found.cause) < 300
