"""Findings about Docker on a machine: lost sandboxes, and containers that no eval holds."""

from dataclasses import replace
from typing import Any

import pytest

from core.events import Event, MachineRead, OperationsSeen
from core.fleet import Fleet
from core.fold.sandboxes import leftovers, task_part
from core.model.finding import Finding
from core.model.machine import (
    Container,
    Docker,
    SandboxHolder,
    ToolState,
    UnlistedEval,
    UnseenEval,
)
from core.model.operation import Operation
from core.model.process import ProcessState
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    probe_answered,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)

PROJECT = "inspect-gdm_intercod-iabc12{}"
STEP_S = 10.0


def box(number: int, **more: Any) -> Container:
    """Return the container of a sample of the task `gdm_intercode_ctf`."""
    project = PROJECT.format(number)
    made = Container(
        id=f"c{number}", name=f"{project}-default-1", project=project, created=NOW - 500.0,
        status="Up 8 minutes",
        holder=SandboxHolder(
            pid=100, start=process_key().start, task="gdm_intercode_ctf", sample_id=number,
            epoch=1, is_alive=True,
        ),
    )  # fmt: skip
    return replace(made, **more)


def dead(number: int) -> SandboxHolder:
    """Return the holder of the container of a sample whose eval has ended."""
    holder = box(number).holder
    assert holder is not None
    return replace(holder, pid=99, is_alive=False)


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
        probe_answered(at=NOW - 100),
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


def test_running_sandboxes_open_no_finding() -> None:
    fleet = watched(both(-1), *(e for n in range(4) for e in (read(n, box(1), box(2)), both(n))))
    assert docker_findings(fleet) == []


@pytest.mark.parametrize("state", [ToolState.FAILED, ToolState.STUCK])
def test_an_engine_that_stops_under_a_task_is_a_finding_on_its_row(state: ToolState) -> None:
    up = watched(both(-1), read(0, box(1), box(2)))
    once = judged_after(read(1, state=state, error="Cannot connect"), fleet=up)
    assert docker_findings(once) == [], "it may be restarting"
    fleet = judged_after(read(2, state=state, error="Cannot connect"), fleet=once)
    [found] = docker_findings(fleet)
    assert found.severity == "alarm"
    assert found.task is not None
    assert "Cannot connect" in found.text
    assert docker_findings(judged_after(read(3, box(1), box(2)), fleet=fleet)) == []


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
    assert found.text.startswith("1 running sample no longer has a sandbox: 2/1.")


@pytest.mark.parametrize("state", [ToolState.FAILED, ToolState.UNKNOWN])
def test_one_reading_that_fails_does_not_close_what_is_still_lost(state: ToolState) -> None:
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0), read(1, box(1)), both(1), read(2, box(1))
    )
    [found] = docker_findings(fleet)
    for event in (read(3, state=state), both(3), read(4, box(1)), both(4), read(5, box(1))):
        fleet = judged_after(event, fleet=fleet)
        assert [each.id for each in docker_findings(fleet)] == [found.id]
    for step in (6, 7):
        fleet = judged_after(read(step, box(1), box(2)), both(step), fleet=fleet)
    assert docker_findings(fleet) == []


def test_samples_that_end_between_two_readings_lost_nothing() -> None:
    ended = samples_seen(sample(1), sample(2, status="completed"), at=NOW + STEP_S + 1)
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0), read(1, box(1)), ended, read(2, box(1))
    )
    assert docker_findings(fleet) == []
    stale = watched(both(-1), read(0, box(1), box(2)), read(1, box(1)), read(2, box(1)))
    assert docker_findings(stale) == []  # nothing is known of the samples since


def test_leftover_containers_are_a_finding_with_the_command_that_removes_exactly_them() -> None:
    held, old = box(1), box(2, holder=dead(2), is_running=False)
    fleet = watched(both(-1), read(0, held, old))
    assert docker_findings(fleet) == []
    fleet = judged_after(read(1, held, old), fleet=fleet)
    [found] = docker_findings(fleet)
    assert found.task is None
    assert "1 container of ended evals is left over" in found.text
    assert "inspect-gdm_intercod-iabc122 of sample 2/1" in found.text
    assert "docker rm --force --volumes c2" in found.text
    assert docker_findings(judged_after(read(2, held), fleet=fleet)) == []


def test_the_containers_of_a_killed_eval_are_left_over() -> None:
    fleet = watched(both(-1), read(0, box(1), box(2)))
    both_left = (box(1, holder=dead(1)), box(2, holder=dead(2)))
    fleet = judged_after(process_gone(at=NOW + 5), read(1, *both_left), fleet=fleet)
    fleet = judged_after(read(2, *both_left), fleet=fleet)
    [found] = docker_findings(fleet)
    assert "docker rm --force --volumes c1 c2" in found.text


def test_a_container_whose_eval_lives_or_whose_process_does_is_not_left_over() -> None:
    fleet = watched(both(-1))
    assert leftovers(fleet, H1, Docker(state=ToolState.OK, containers=(box(1),))) == ()
    notebook = replace(dead(2), is_alive=True)
    docker = Docker(state=ToolState.OK, containers=(box(2, holder=notebook),))
    assert leftovers(fleet, H1, docker) == ()
    stale = box(1, holder=replace(dead(1), pid=100))  # an old reading of a process that lives
    assert leftovers(fleet, H1, Docker(state=ToolState.OK, containers=(stale,))) == ()


def test_a_container_whose_holder_nobody_knows_is_never_offered() -> None:
    old = box(2, holder=None, created=NOW - 20_000.0, is_running=False)
    fleet = watched(both(-1), read(0, box(1), old), read(1, box(1), old))
    assert leftovers(fleet, H1, Docker(state=ToolState.OK, containers=(old,))) == ()
    [found] = docker_findings(fleet)
    assert found.severity == "suspect"
    assert found.text == (
        "evalroom can't tell which eval made 1 container, and does not offer to remove it:"
        " inspect-gdm_intercod-iabc122. An eval on another host, or one that died while nobody"
        " watched, may have made them"
    )
    notebook = UnlistedEval(pid=812, name="python3 ipykernel_launcher", user="ada")
    fleet = judged_after(read(2, box(1), old, unlisted=(notebook,)), fleet=fleet)
    [found] = docker_findings(fleet)
    assert found.text.endswith("process 812 of ada (python3 ipykernel_launcher)")
    assert docker_findings(judged_after(read(3, box(1)), fleet=fleet)) == []


MAKERS: dict[str, Event] = {
    "tasks that are not known yet": process_seen(pid=7, started_at=NOW - 90_000),
    "no control channel": process_seen(
        pid=7, state=ProcessState.OPTED_OUT, started_at=NOW - 90_000
    ),
    "an unknown start": process_seen(pid=7, started_at=None),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_container_that_an_eval_may_hold_is_not_reported(maker: Event) -> None:
    old = box(1, holder=None, project="inspect-other-iabc123", created=NOW - 20_000.0)
    fleet = watched(maker, read(0, old), read(1, old))
    assert docker_findings(fleet) == []


@pytest.mark.parametrize(
    "container",
    [
        box(1, holder=None, created=NOW - 60.0),
        box(1, holder=None, created=None),
        box(1, holder=None, created=NOW - 20_000.0, project=""),
        box(1, holder=None, created=NOW - 20_000.0, project="web"),
    ],
    ids=["young", "unknown age", "no project", "not Inspect's"],
)
def test_other_containers_open_no_finding(container: Container) -> None:
    assert docker_findings(watched(read(0, container), read(1, container))) == []


def test_a_new_probe_does_not_forget_who_made_a_container() -> None:
    fleet = watched(both(-1), read(0, box(1)), process_gone(at=NOW + 5))
    bare = box(1, holder=None)
    fleet = judged_after(read(1, bare), read(2, bare), fleet=fleet)
    [found] = docker_findings(fleet)
    assert "docker rm --force --volumes c1" in found.text
    open_one = UnlistedEval(pid=100)  # a notebook: its eval is over, its process lives
    fleet = judged_after(read(3, bare, unlisted=(open_one,)), fleet=fleet)
    assert docker_findings(fleet) == []


def test_sandboxes_on_another_engine_are_told_to_be_unseen() -> None:
    mine = UnseenEval(pid=100, start=process_key().start)
    fleet = watched(read(0, state=ToolState.ABSENT, unseen=(mine, UnseenEval(pid=7, start="x"))))
    [found] = docker_findings(fleet)
    assert (found.process, found.severity) == (process_key(), "suspect")
    assert found.text.startswith("Process 100 runs samples in Docker, but evalroom finds no docker")
    other = judged_after(read(1, box(1), unseen=(mine,)), fleet=fleet)
    assert "but the engine that evalroom reads has none" in docker_findings(other)[0].text
    failed = judged_after(
        read(1, state=ToolState.FAILED, error="permission denied", unseen=(mine,)), fleet=fleet
    )
    assert "can't read Docker there (permission denied)" in docker_findings(failed)[0].text
    assert docker_findings(judged_after(read(1, box(1)), fleet=fleet)) == []
    fleet = judged_after(process_gone(at=NOW + 5), read(1, unseen=(mine,)), fleet=fleet)
    assert docker_findings(fleet) == []


def test_samples_without_a_sandbox_lost_none() -> None:
    fleet = watched(both(-1), *(e for n in range(4) for e in (read(n, box(1)), both(n))))
    assert docker_findings(fleet) == []


def test_a_list_of_containers_that_was_cut_proves_no_loss() -> None:
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0),
        read(1, box(1), total=900), both(1), read(2, box(1), total=900),
    )  # fmt: skip
    assert docker_findings(fleet) == []


def test_a_sample_whose_trace_shows_that_it_removes_its_sandbox_lost_nothing() -> None:
    down = Operation(
        action="Subprocess", what="docker compose down", since=NOW + 2, task="gdm_intercode_ctf",
        sample=(2, 1),
    )  # fmt: skip
    fleet = watched(
        both(-1), read(0, box(1), box(2)), both(0),
        OperationsSeen(at=NOW + 3, process=process_key(), operations=(down,)),
        read(1, box(1)), both(1), read(2, box(1)),
    )  # fmt: skip
    assert docker_findings(fleet) == []


def test_an_engine_that_evalroom_may_not_read_is_not_reported_as_stopped() -> None:
    up = watched(both(-1), read(0, box(1), box(2)))
    failed = (read(n, state=ToolState.FAILED, error="permission denied") for n in (1, 2))
    [found] = docker_findings(judged_after(*failed, fleet=up))
    assert found.severity == "suspect"
    assert found.text.startswith("evalroom can't read Docker")
