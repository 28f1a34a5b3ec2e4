"""GPUs that an eval holds and does not use, and GPUs that no eval holds."""

from dataclasses import replace
from typing import Any

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.machine import Gpu, GpuProcess, LinkState
from core.model.sample import Activity, Sample
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)

GIB = 1024**3
USUAL = JudgeConfig()
OURS = GpuProcess(pid=100)
CHILD = GpuProcess(pid=4_000, started_by=100)
OTHER = GpuProcess(pid=4_000, name="python train.py", user="ada")


def gpu(*pids: GpuProcess, use: float | None = 0.0, used: int = 60) -> Gpu:
    return Gpu(
        index=3, uuid="GPU-a", utilisation=use, memory_used=used * GIB, memory_total=80 * GIB,
        pids=pids,
    )  # fmt: skip


def busy(*rows: Sample, **row: Any) -> tuple[Event, ...]:
    """Return an eval that runs a sample which generates, unless it is told otherwise."""
    return (
        named(), link(), process_seen(), tasks_seen(task_row(done=3, **row)),
        samples_seen(*(rows or (sample(1),))),
    )  # fmt: skip


def read(
    *gpus: Gpu, begin: tuple[Event, ...], minutes: float = 12, rules: JudgeConfig = USUAL
) -> Fleet:
    """Return the fleet after readings of these GPUs, one each half minute."""
    fleet = judged_after(*begin)
    for half in range(int(minutes * 2) + 1):
        fleet = advance(fleet, facts(at=NOW + half * 30, gpus=gpus), rules)
    return fleet


def found_by(kind: str, fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == kind and each.is_open]


def idle(fleet: Fleet) -> list[Finding]:
    return found_by("gpu-idle", fleet)


@pytest.mark.parametrize("holder", [OURS, CHILD])
def test_a_gpu_that_stays_idle_is_suspect_then_an_alarm(holder: GpuProcess) -> None:
    assert idle(read(gpu(holder), begin=busy(), minutes=9)) == []
    [found] = idle(read(gpu(holder), begin=busy(), minutes=12))
    assert (found.severity, found.process, found.machine) == ("suspect", process_key(), H1)
    assert found.began_at == NOW
    assert found.text.startswith(
        "GPU 3 has been idle for over 10m: process 100 holds it, and its samples run."
    )
    [worse] = idle(read(gpu(holder), begin=busy(), minutes=62))
    assert (worse.id, worse.severity) == (found.id, "alarm")


def test_it_closes_when_the_gpu_computes_again() -> None:
    fleet = read(gpu(OURS), begin=busy())
    for at in (13 * 60, 13 * 60 + 30):
        fleet = advance(fleet, facts(at=NOW + at, gpus=(gpu(OURS, use=80.0),)))
    assert idle(fleet) == []
    assert [each.kind for each in fleet.findings if each.closed_at] == ["gpu-idle"]


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(busy(paused=("task",)), id="its task is paused"),
        pytest.param(
            (*busy()[:3], tasks_seen(task_row(total_tokens=0)), busy()[4]), id="it spins up"
        ),
        pytest.param(
            busy(replace(sample(1), activity=Activity(type="retry_wait"))), id="its model is away"
        ),
        pytest.param(busy(sample(1, status="completed")), id="no sample runs"),
        pytest.param(busy(sample(1), status="completed"), id="it is parked"),
    ],
)
def test_an_eval_that_does_not_compute_now_may_leave_it_idle(begin: tuple[Event, ...]) -> None:
    assert idle(read(gpu(OURS), begin=begin)) == []


def test_a_gpu_that_is_used_or_unknown_or_not_held_is_not_found() -> None:
    for each in (gpu(OURS, use=40.0), gpu(OURS, use=None), gpu(OTHER), gpu()):
        assert idle(read(each, begin=busy())) == []


def test_a_gap_in_the_readings_proves_no_idleness() -> None:
    fleet = judged_after(*busy())
    for at in (0, 30, 8 * 3_600, 8 * 3_600 + 30):
        fleet = advance(fleet, facts(at=NOW + at, gpus=(gpu(OURS),)))
    assert idle(fleet) == []


def test_the_config_sets_how_long() -> None:
    rules = JudgeConfig(values={"gpu-idle.suspect": 60.0})
    assert len(idle(read(gpu(OURS), begin=busy(), minutes=3, rules=rules))) == 1


def held(fleet: Fleet) -> list[Finding]:
    return found_by("gpu-held", fleet)


def test_a_gpu_of_another_program_is_a_notice_and_suspect_once_it_is_idle() -> None:
    [found] = held(read(gpu(OTHER, use=90.0), begin=busy(), minutes=1))
    assert found.severity == "notice"
    assert "process 4000 (python train.py, ada)" in found.text
    [worse] = held(read(gpu(OTHER), begin=busy(), minutes=32))
    assert (worse.severity, worse.text[-45:]) == (
        "suspect", "See whether it is still needed, and end it if not"[-45:],
    )  # fmt: skip


def test_a_gpu_of_an_eval_or_with_little_memory_is_not_held_by_others() -> None:
    for each in (gpu(OURS), gpu(CHILD), gpu(OURS, OTHER), gpu(), gpu(OTHER, used=2)):
        assert held(read(each, begin=busy(), minutes=1)) == []
    alone = (named(), link())
    assert held(read(gpu(OTHER), begin=alone, minutes=1)) == [], "no eval runs there"


def test_a_held_gpu_closes_when_it_is_free() -> None:
    fleet = read(gpu(OTHER), begin=busy(), minutes=1)
    for at in (90, 120):
        fleet = advance(fleet, facts(at=NOW + at, gpus=(gpu(used=0),)))
    assert held(fleet) == []


def test_hostile_names_do_no_harm() -> None:
    bad = GpuProcess(pid=4_000, name="\x1b[2J" + "x" * 900, user="\u202e")
    [found] = held(read(gpu(bad), begin=busy(), minutes=1))
    assert "\x1b" not in found.text
    assert len(found.text) < 400


def test_a_link_that_is_down_is_not_judged() -> None:
    begin = (*busy(), link(LinkState.DOWN))
    assert idle(read(gpu(OURS), begin=begin)) == []
