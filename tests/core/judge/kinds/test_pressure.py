"""Pressure: memory, disks, load, GPU memory, and containers that will not fit."""

from collections.abc import Iterable
from typing import Any

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event
from core.fleet import Fleet
from core.format import clock
from core.judge.kinds.pressure import seconds_left
from core.model.action import Change
from core.model.finding import Finding
from core.model.machine import (
    Container,
    Disk,
    Docker,
    Gpu,
    GpuProcess,
    LinkState,
    Memory,
    SandboxHolder,
    ToolState,
)
from core.model.machine_trail import DiskPoint
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)

GIB = 1024**3
USUAL = JudgeConfig()
BEGIN: tuple[Event, ...] = (named(), link())


def read(
    readings: Iterable[dict[str, Any]],
    *,
    begin: tuple[Event, ...] = BEGIN,
    every: float = 10.0,
    rules: JudgeConfig = USUAL,
) -> Fleet:
    """Return the fleet after these readings of its machine."""
    fleet = judged_after(*begin)
    for number, each in enumerate(readings):
        fleet = advance(fleet, facts(at=NOW + number * every, **each), rules)
    return fleet


def pressures(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "pressure" and each.is_open]


def memory(used_percent: float, total: int = 100 * GIB) -> dict[str, Any]:
    return {"memory": Memory(total=total, available=int(total * (100 - used_percent) / 100))}


def disk(free: float, total: float = 1_000, path: str = "/data/logs") -> dict[str, Any]:
    return {"disks": (Disk(path=path, what="logs", total=int(total * GIB), free=int(free * GIB)),)}


def test_memory_is_suspect_then_an_alarm_and_closes_at_a_lower_bound() -> None:
    assert pressures(read([memory(89)] * 3)) == []
    assert pressures(read([memory(95)])) == [], "one reading opens nothing"
    [found] = pressures(read([memory(91)] * 2))
    assert (found.severity, found.machine) == ("suspect", H1)
    assert found.text.startswith("Over 90% of 100G of memory are in use. See")
    [worse] = pressures(read([memory(91)] * 2 + [memory(98)]))
    assert (worse.id, worse.severity) == (found.id, "alarm")
    wobbles = [memory(91)] * 2 + [memory(88), memory(91)] * 5
    assert len([each for each in read(wobbles).findings if each.kind == "pressure"]) == 1
    assert pressures(read([memory(91)] * 2 + [memory(70)] * 2)) == []


def test_small_changes_do_not_change_the_words() -> None:
    fleet = read([memory(91.0 + each / 10) for each in range(20)])
    [found] = pressures(fleet)
    assert found.changed_at is None


def test_a_disk_is_low_by_its_free_bytes_or_by_its_share() -> None:
    assert pressures(read([disk(80)] * 3)) == [], "8% of a large disk are plenty"
    [low] = pressures(read([disk(9)] * 2))
    assert low.severity == "suspect"
    assert "/data/logs" in low.text
    [alarm] = pressures(read([disk(1)] * 2))
    assert alarm.severity == "alarm"
    [full] = pressures(read([disk(0)] * 2))
    assert full.text.startswith("Nothing is free on the disk of the logs (/data/logs)")
    assert pressures(read([disk(4, total=20)] * 3)) == [], "a small disk has less to begin with"
    assert len(pressures(read([disk(1.5, total=20)] * 2))) == 1
    assert len(pressures(read([disk(9)] * 2 + [disk(11)] * 3))) == 1, "it closes at a higher bound"
    assert pressures(read([disk(9)] * 2 + [disk(20)] * 2)) == []


def test_a_disk_that_fills_has_the_hour_at_which_it_is_full() -> None:
    # A gibibyte a minute: 200 GiB last for three hours and a third.
    begin = [disk(200 - minute) for minute in range(12)]
    [found] = pressures(read(begin, every=60.0))
    full_at = NOW + 11 * 60 + (200 - 11) * 60
    quarter = -(-full_at // 900) * 900
    assert f"it is full at about {clock(quarter)} at this pace" in found.text
    assert found.severity == "suspect"
    [alarm] = pressures(read([disk(60 - minute) for minute in range(20)], every=60.0))
    assert alarm.severity == "alarm"


@pytest.mark.parametrize(
    "free",
    [
        pytest.param([200.0] * 20, id="still"),
        pytest.param([200.0 - each / 100 for each in range(20)], id="slow"),
        pytest.param([200.0 - 5 * min(each, 6) for each in range(20)], id="filled and stopped"),
        pytest.param([200.0 + each for each in range(20)], id="emptied"),
        pytest.param([200.0 - each for each in range(4)], id="not watched for long enough"),
    ],
)
def test_a_disk_that_does_not_fill_has_no_hour(free: list[float]) -> None:
    assert pressures(read([disk(each) for each in free], every=60.0)) == []


def test_the_trail_of_a_disk_is_bounded_and_begins_again_when_the_clock_is_set_back() -> None:
    fleet = read([disk(200)] * 100, every=60.0)
    assert len(fleet.machines[H1].trail.disks["/data/logs"]) == 30
    fleet = advance(fleet, facts(at=NOW - 10_000, **disk(100)))
    assert fleet.machines[H1].trail.disks["/data/logs"] == (
        DiskPoint(at=NOW - 10_000, free=100 * GIB),
    )


def test_a_pace_of_nothing_is_no_pace() -> None:
    assert seconds_left((), 0.0) is None
    assert seconds_left((DiskPoint(at=0, free=1), DiskPoint(at=0, free=0)), 1.0) is None
    line = (DiskPoint(at=0, free=1_000), DiskPoint(at=500, free=500))
    assert seconds_left(line, 600.0) == 400.0


def test_two_folders_on_one_disk_are_one_finding() -> None:
    both = {"disks": (*disk(9)["disks"], *disk(9, path="/data/logs/b")["disks"])}
    assert len(pressures(read([both] * 2))) == 1


def test_a_load_without_bounds_is_judged_too() -> None:
    endless = {"cpus": 4, "load": (9.0, float("inf"), 9.0)}
    [found] = pressures(read([endless] * 2))
    assert found.severity == "alarm"


def test_load_counts_for_each_cpu() -> None:
    assert pressures(read([{"cpus": 64, "load": (200.0, 100.0, 90.0)}] * 3)) == []
    [found] = pressures(read([{"cpus": 4, "load": (40.0, 18.0, 9.0)}] * 2))
    assert found.severity == "suspect"
    assert found.text.startswith("Over 4 threads wait for each CPU")
    [alarm] = pressures(read([{"cpus": 1, "load": (40.0, 18.0, 9.0)}] * 2))
    assert alarm.severity == "alarm"


def test_gpu_memory_counts_where_an_eval_holds_it() -> None:
    full = {"gpus": tuple(_gpu(pid) for pid in (100, 4_000))}
    assert pressures(read([full] * 3)) == []
    [found] = pressures(read([full] * 3, begin=(*BEGIN, process_seen())))
    assert found.text.startswith("The memory of GPU 0 (80G) is full to 99%")
    assert found.process == process_key()


def _gpu(pid: int) -> Gpu:
    return Gpu(
        index=0 if pid == 100 else 1, memory_used=int(79.5 * GIB), memory_total=80 * GIB,
        utilisation=90.0, pids=(GpuProcess(pid=pid),),
    )  # fmt: skip


def boxes(number: int, each: float) -> Docker:
    """Return so many containers of the usual task with so many GiB."""
    holder = SandboxHolder(
        pid=100, start=process_key().start, task="gdm_intercode_ctf", sample_id=1, epoch=1,
        is_alive=True,
    )  # fmt: skip
    return Docker(
        state=ToolState.OK,
        containers=tuple(
            Container(
                id=f"c{at}", project=f"inspect-gdm_intercod-iabc12{at}", created=NOW - 100,
                status="Up", memory=int(each * GIB), holder=holder,
            )
            for at in range(number)
        ),
        total=number,
    )  # fmt: skip


def running(argv: str, **row: Any) -> tuple[Event, ...]:
    words = ("inspect", "eval", "x.py", *argv.split())
    return (*BEGIN, process_seen(argv=words), tasks_seen(task_row(**row)))


def test_containers_that_will_not_fit_are_found_with_the_number_that_fits() -> None:
    reading = {"docker": boxes(4, 4.0), "memory": Memory(total=64 * GIB, available=40 * GIB)}
    [found] = pressures(read([reading] * 2, begin=running("--max-samples 40")))
    assert found.severity == "suspect"
    assert "This task may run 40 samples at once" in found.text
    assert found.text.endswith("Set max_samples to 13")
    [proposal] = found.proposals
    assert (proposal.action, proposal.scope) == ("config", "task")
    assert proposal.changes == (Change(knob="max_samples", value=13),)
    assert found.task is not None


@pytest.mark.parametrize(
    ("argv", "row"),
    [
        pytest.param("--max-samples 8", {}, id="they fit"),
        pytest.param("", {}, id="the number is not known"),
        pytest.param("--max-samples 40 --max-sandboxes 8", {}, id="sandboxes bound it"),
        pytest.param("--max-samples 40", {"total": 100, "done": 94}, id="few are left"),
    ],
)
def test_containers_that_fit_are_not_found(argv: str, row: dict[str, Any]) -> None:
    reading = {"docker": boxes(4, 4.0), "memory": Memory(total=64 * GIB, available=40 * GIB)}
    assert pressures(read([reading] * 3, begin=running(argv, **row))) == []


def test_memory_that_containers_use_has_its_cause_and_its_knob() -> None:
    reading = {"docker": boxes(10, 8.0), "memory": Memory(total=100 * GIB, available=8 * GIB)}
    [found] = pressures(read([reading] * 2, begin=running("--max-samples 10")))
    assert found.cause == "the containers of gdm_intercode_ctf use about 80G"
    assert found.proposals[0].changes == (Change(knob="max_samples", value=9),)


def test_what_is_not_known_is_not_judged() -> None:
    assert pressures(read([{"memory": Memory(), "disks": (), "load": (), "cpus": None}] * 3)) == []
    down = (BEGIN[0], link(LinkState.DOWN))
    assert pressures(read([memory(99)] * 3, begin=down)) == []


def test_the_config_sets_the_bounds() -> None:
    rules = JudgeConfig(values={"pressure.memory.suspect": 50.0, "pressure.full-in.suspect": 0.0})
    assert len(pressures(read([memory(60)] * 2, rules=rules))) == 1
    filling = [disk(200 - minute) for minute in range(12)]
    assert pressures(read(filling, every=60.0, rules=rules)) == []


def test_hostile_numbers_and_names_do_no_harm() -> None:
    name = "/logs/\x1b[31m\u202e" + "x" * 5_000
    wild = {
        **memory(99, total=1),
        **disk(0.5, path=name),
        "load": (float("inf"), float("nan"), -1.0),
        "cpus": 1e-300,
    }
    for found in pressures(read([wild] * 3)):
        assert "\x1b" not in found.text
        assert len(found.text) < 500
