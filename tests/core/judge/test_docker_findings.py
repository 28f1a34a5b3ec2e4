"""Findings about Docker on a machine: lost sandboxes, and containers that no eval holds."""

from dataclasses import replace
from typing import Any

import pytest

from core.events import Event, MachineRead, ProbeAnswered
from core.fleet import Fleet
from core.fold.sandboxes import leftovers, task_part
from core.model.finding import Finding
from core.model.machine import Container, Docker, ProbeFound, ToolState
from core.model.process import ProcessState
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)

PROJECT = "inspect-gdm_intercod-iabc12{}"
STEP_S = 10.0
PROBE = ProbeFound(
    python="3.11",
    host="h100-1",
    platform="Linux",
    user="me",
    pid=9,
    read_only=False,
    clock_offset=0.0,
)


def box(number: int, **more: Any) -> Container:
    """Return the container of a sample of the task `gdm_intercode_ctf`."""
    project = PROJECT.format(number)
    made = Container(
        id=f"c{number}", name=f"{project}-default-1", project=project, created=NOW - 500.0,
        is_own=True, status="Up 8 minutes",
    )  # fmt: skip
    return replace(made, **more)


def read(step: int, *containers: Container, **more: Any) -> MachineRead:
    """Return the reading of the machine after so many periods."""
    docker = replace(Docker(state=ToolState.OK, containers=containers), **more)
    at = NOW + step * STEP_S
    return facts(at=at, docker=docker)


def watched(*events: Event) -> Fleet:
    """Return a fleet with an eval of two running samples, after these events."""
    return judged_after(
        named(),
        link(at=NOW - 100),
        ProbeAnswered(at=NOW - 100, machine=H1, probe=PROBE),
        process_seen(started_at=NOW - 9_000),
        tasks_seen(task_row()),
        *events,
    )


def both(step: int) -> Event:
    """Return that both samples run at that time."""
    return samples_seen(sample(1), sample(2), at=NOW + step * STEP_S + 1)


def docker_findings(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "docker" and each.closed_at is None]


@pytest.mark.parametrize(
    ("task", "part"),
    [("gdm_intercode_ctf", "gdm_intercod"), ("a b//c", "a-b-c"), ("", "task"),
     ("Cyber__bench_x", "cyber__bench"), ("eleven_cha__x", "eleven_cha")],
)  # fmt: skip
def test_a_project_has_the_start_of_its_tasks_name(task: str, part: str) -> None:
    assert task_part(task) == part


def test_sandboxes_that_run_are_no_finding() -> None:
    fleet = watched(both(-1), *(e for n in range(4) for e in (read(n, box(1), box(2)), both(n))))
    assert docker_findings(fleet) == []


@pytest.mark.parametrize("state", [ToolState.FAILED, ToolState.STUCK])
def test_an_engine_that_stops_under_a_task_is_a_finding_on_its_row(state: ToolState) -> None:
    up = watched(both(-1), read(0, box(1), box(2)))
    fleet = judged_after(read(1, state=state, error="Cannot connect"), fleet=up)
    [found] = docker_findings(fleet)
    assert found.tone == "error"
    assert found.task is not None
    assert "Cannot connect" in found.text
    assert docker_findings(judged_after(read(2, box(1), box(2)), fleet=fleet)) == []


def test_a_task_without_sandboxes_does_not_mind_an_engine_that_is_down() -> None:
    assert docker_findings(watched(both(0), read(0, state=ToolState.FAILED))) == []


def test_a_container_that_stopped_is_a_finding_with_dockers_own_words() -> None:
    dead = box(2, is_running=False, status="Exited (137) 5 seconds ago")
    once = watched(both(-1), read(0, box(1), box(2)), read(1, box(1), dead))
    assert docker_findings(once) == []  # it may be one that is being removed
    [found] = docker_findings(judged_after(read(2, box(1), dead), fleet=once))
    assert "1 container of this task stopped" in found.text
    assert "Exited (137)" in found.text


def test_a_container_that_is_being_made_has_not_stopped() -> None:
    made = box(2, is_running=False, status="Created")
    fleet = watched(both(-1), *(read(step, box(1), made) for step in range(3)))
    assert docker_findings(fleet) == []


def test_a_sandbox_that_is_gone_under_a_running_sample_is_a_finding() -> None:
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0), read(1, box(1)), both(1), read(2, box(1))
    )
    [found] = docker_findings(fleet)
    assert found.text.startswith("1 running sample has no sandbox any more: 1 sandbox remains")


def test_samples_that_end_between_two_readings_lost_nothing() -> None:
    ended = samples_seen(sample(1), sample(2, status="completed"), at=NOW + STEP_S + 1)
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0), read(1, box(1)), ended, read(2, box(1))
    )
    assert docker_findings(fleet) == []
    stale = watched(both(-1), read(0, box(1), box(2)), read(1, box(1)), read(2, box(1)))
    assert docker_findings(stale) == []  # nothing is known of the samples since


def test_leftover_containers_are_a_finding_with_the_command_that_removes_exactly_them() -> None:
    held, old = box(1), box(2, created=NOW - 20_000.0, is_running=False)
    fleet = watched(both(-1), read(0, held, old))
    assert docker_findings(fleet) == []
    fleet = judged_after(read(1, held, old), fleet=fleet)
    [found] = docker_findings(fleet)
    assert found.task is None
    assert "1 container of ended evals is left over" in found.text
    assert "docker rm --force --volumes c2" in found.text
    assert docker_findings(judged_after(read(2, held), fleet=fleet)) == []


def test_the_containers_of_a_killed_eval_are_left_over() -> None:
    fleet = watched(both(-1), read(0, box(1), box(2)))
    fleet = judged_after(process_gone(at=NOW + 5), read(1, box(1), box(2)), fleet=fleet)
    fleet = judged_after(read(2, box(1), box(2)), fleet=fleet)
    [found] = docker_findings(fleet)
    assert "docker rm --force --volumes c1 c2" in found.text


HOLDERS: dict[str, Event] = {
    "tasks that are not known yet": process_seen(pid=7, started_at=NOW - 9_000),
    "no control channel": process_seen(pid=7, state=ProcessState.OPTED_OUT, started_at=NOW - 9_000),
    "an unknown start": process_seen(pid=7, started_at=None),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_containers_that_a_living_eval_may_hold_are_never_offered(holder: Event) -> None:
    other = box(1, project="inspect-other-iabc123")
    fleet = watched(holder)
    assert leftovers(fleet, H1, Docker(state=ToolState.OK, containers=(other,))) == ()


@pytest.mark.parametrize(
    ("container", "others"),
    [
        (box(1, created=NOW - 20_000.0, is_own=False), 0),
        (box(1, created=None), 0),
        (box(1, created=NOW - 20_000.0), 1),
        (box(1, created=NOW - 20_000.0, project=""), 0),
        (box(1, created=NOW - 20_000.0, project="web"), 0),
    ],
    ids=[
        "files of another account",
        "unknown age",
        "evals of others",
        "no project",
        "not Inspect's",
    ],
)
def test_containers_that_may_be_somebody_elses_are_never_offered(
    container: Container, others: int
) -> None:
    docker = Docker(state=ToolState.OK, containers=(container,), others=others)
    assert leftovers(watched(), H1, docker) == ()
