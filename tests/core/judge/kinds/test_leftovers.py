"""Leftovers: parked processes, and processes that outlive the eval of their run."""

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event, RunChanged
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.machine import Gpu, GpuProcess
from core.model.run import Run, RunState
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    process_gone,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)

USUAL = JudgeConfig()
GIB = 1024**3
BEGIN: tuple[Event, ...] = (named(), link(), process_seen())


def leftovers(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "leftovers" and each.is_open]


def polled(status: str, *seconds: float, rules: JudgeConfig = USUAL) -> Fleet:
    """Return the fleet after polls of its process, whose only task has this status."""
    fleet = judged_after(*BEGIN)
    for each in seconds:
        row = task_row(status=status, keep_alive=True)
        fleet = advance(fleet, tasks_seen(row, at=NOW + each), rules)
    return fleet


def test_a_process_that_stays_parked_is_a_notice_with_its_remedy() -> None:
    assert leftovers(polled("completed", 0, 1_000, 3_000)) == []
    fleet = polled("completed", 0, 3_700, 3_705)
    [found] = leftovers(fleet)
    assert (found.severity, found.process, found.began_at) == ("notice", process_key(), NOW)
    assert found.text == (
        "Process 100 has been parked for over 1h. Release it once nobody needs it"
    )
    assert found.proposals[0].action == "release"
    fleet = advance(fleet, process_gone(at=NOW + 3_710))
    assert leftovers(fleet) == []


def test_one_that_holds_a_gpu_is_suspect() -> None:
    fleet = polled("completed", 0)
    gpu = Gpu(index=0, pids=(GpuProcess(pid=9, memory=40 * GIB, started_by=100),))
    fleet = advance(fleet, facts(at=NOW + 10, gpus=(gpu,)))
    for at in (3_700, 3_705):
        row = task_row(status="completed", keep_alive=True)
        fleet = advance(fleet, tasks_seen(row, at=NOW + at))
    [found] = leftovers(fleet)
    assert found.severity == "suspect"
    assert "holds 40G of GPU memory" in found.text


def test_a_process_that_runs_is_no_leftover() -> None:
    assert leftovers(polled("running", 0, 3_700, 9_000)) == []


def test_the_config_sets_how_long() -> None:
    rules = JudgeConfig(values={"leftovers.parked": 60.0})
    assert len(leftovers(polled("completed", 0, 70, 80, rules=rules))) == 1


@pytest.mark.parametrize(
    ("state", "words", "count"),
    [
        (RunState.SUCCESS, "its model server (pid 4000) still runs\x1b[2J", 1),
        (RunState.SUCCESS, "", 0),
        (RunState.RUNNING, "its model server (pid 4000) still runs", 0),
    ],
)
def test_processes_that_outlive_a_run_are_found(state: RunState, words: str, count: int) -> None:
    run = Run(
        id="r1", machine=H1, at=NOW, operator="me", state=state, task="t", model="m",
        leftover=words,
    )  # fmt: skip
    fleet = judged_after(*BEGIN, RunChanged(at=NOW, run=run))
    for at in (10, 20):
        fleet = advance(fleet, tasks_seen(task_row(), at=NOW + at))
    found = leftovers(fleet)
    assert len(found) == count
    for each in found:
        assert each.run == "r1"
        assert "(pid 4000) still runs" in each.cause
        assert "\x1b" not in each.cause
    fleet = advance(fleet, RunChanged(at=NOW + 30, run=Run(
        id="r1", machine=H1, at=NOW, operator="me", state=state, task="t", model="m",
    )))  # fmt: skip
    for at in (40, 50, 60):
        fleet = advance(fleet, tasks_seen(task_row(), at=NOW + at))
    assert leftovers(fleet) == []


@pytest.mark.parametrize(
    ("state", "count"),
    [
        (RunState.PREPARING, 1),
        (RunState.STARTING, 1),
        (RunState.RUNNING, 0),
        (RunState.QUEUED, 0),
        (RunState.ERROR, 0),
    ],
)
def test_a_run_that_never_starts_is_a_notice(state: RunState, count: int) -> None:
    run = Run(id="r1", machine=H1, at=NOW, operator="me", state=state, task="t", model="m")
    fleet = judged_after(*BEGIN, RunChanged(at=NOW, run=run))
    for at in (3_000, 7_000):
        fleet = advance(fleet, tasks_seen(task_row(), at=NOW + at))
    assert leftovers(fleet) == []
    for at in (7_300, 7_310):
        fleet = advance(fleet, tasks_seen(task_row(), at=NOW + at))
    found = leftovers(fleet)
    assert len(found) == count
    for each in found:
        assert (each.severity, each.run) == ("notice", "r1")
        assert each.text == (
            f"Run r1 has been {state} for over 2h. If the evalroom that launched it has ended,"
            " launch it again"
        )
