"""What pages tell."""

import pytest

from core.events import LogUnreadable, OperationsSeen
from core.fleet import Fleet
from core.ids import MachineName, SampleKey
from core.model.machine import Container, Docker, SandboxHolder, ToolState
from core.model.operation import Operation
from core.model.process import SlowPoll
from core.views.pages.machine_page import machine_page
from core.views.pages.process_page import process_page
from core.views.pages.sample_page import sample_page
from core.views.pages.task_page import task_page
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    fleet_after,
    fleet_of_tasks,
    log_read,
    named,
    probe_answered,
    process_gone,
    process_key,
    process_seen,
    running_fleet,
    sample,
    samples_seen,
    task_key,
    task_row,
)
from tests.support.table_rows import page_text


def test_clocks_that_agree_are_reported_as_the_same() -> None:
    for offset, skew in (
        (-0.001, "in sync with this computer"),
        (-2.5, "2.5 s behind this computer"),
        (2.5, "2.5 s ahead of this computer"),
        (10_799.6, "3h00 ahead of this computer"),
        (-90.4, "1:30 behind this computer"),
    ):
        fleet = fleet_after(named(), probe_answered(clock_offset=offset))
        assert f"clock: {skew}" in page_text(machine_page(fleet, H1, NOW))


def test_a_machine_page_says_who_holds_which_gpu() -> None:
    text = page_text(machine_page(running_fleet(), H1, NOW))
    assert "0: [0.90] 90%  40G/80G  61°C  400/700 W  NVIDIA H100 80GB HBM3" in text
    assert ": pid 100 39G  gdm_intercode_ctf" in text
    assert "memory: [0.41] 300G free of 512G" in text
    warned = fleet_after(facts(gpu_error="nvidia-smi warns (exit 14)"), fleet=running_fleet())
    text = page_text(machine_page(warned, H1, NOW))
    assert "warning: nvidia-smi warns (exit 14)" in text
    assert "0: [0.90] 90%" in text
    gone = page_text(machine_page(running_fleet(), MachineName("x"), NOW))
    assert "not in the config" in gone


def test_process_task_and_sample_pages_show_the_known_facts() -> None:
    fleet = fleet_after(
        LogUnreadable(at=NOW, task=task_key(), reason="no such file"), fleet=running_fleet()
    )
    assert "gdm_intercode_ctf: running  [0.67] 1/3" in page_text(
        process_page(fleet, process_key(), NOW)
    )
    text = page_text(task_page(fleet, task_key(), NOW))
    assert "errored: [0.33] 1" in text
    assert "phase: spin-up" in text
    assert "log error: no such file" in text
    key = SampleKey(task_key(), 1, 1)
    assert "activity: generating 0:10" in page_text(sample_page(fleet, key, NOW))
    assert "does not contain this sample" in page_text(
        sample_page(fleet, SampleKey(task_key(), "1", 1), NOW)
    )


def test_a_finished_task_page_gives_every_score() -> None:
    fleet = fleet_after(process_gone(), log_read("success"), fleet=running_fleet())
    text = page_text(task_page(fleet, task_key(), NOW))
    assert "log says: success" in text
    assert "includes accuracy: .42 ±.05" in text


def test_pages_say_why_rows_stand_still() -> None:
    slow = (SlowPoll(wait=60.0, answer=3.04), SlowPoll(wait=117.0, answer=5.0, task_id="t1"))
    fleet = fleet_after(process_seen(slow_polls=slow), fleet=running_fleet())
    of_tasks = "polled every 1m 00s, because the last answer took 3.0s"
    of_samples = "polled every 1m 57s, because the last answer took 5.0s"
    text = page_text(process_page(fleet, process_key(), NOW))
    assert f"polls: its tasks are {of_tasks}" in text
    assert f"samples of gdm_intercode_ctf are {of_samples}" in text
    text = page_text(task_page(fleet, task_key("t1"), NOW))
    assert f"polls: its row is {of_tasks}" in text
    assert f"its samples are {of_samples}" in text
    assert of_samples not in page_text(task_page(fleet, task_key("t2"), NOW))
    shared = (SlowPoll(wait=240.0, answer=0.05, task_id="t1"),)
    text = page_text(
        task_page(fleet_after(process_seen(slow_polls=shared), fleet=fleet), task_key("t1"), NOW)
    )
    assert "every 4m 00s, because other answers of the eval took long" in text
    ended = fleet_after(process_gone(), fleet=fleet)
    assert "polled every" not in page_text(process_page(ended, process_key(), NOW))


def test_pages_of_what_is_gone_say_so() -> None:
    assert "no longer known" in page_text(task_page(Fleet(), task_key(), NOW))
    assert "no longer known" in page_text(process_page(Fleet(), process_key(), NOW))


@pytest.mark.parametrize(
    ("words", "reports"),
    [
        (("--sandbox", "k8s:values.yaml"), "sandboxes: k8s: evalroom does not see its sandboxes"),
        (("--sandbox=proxmox",), "sandboxes: proxmox: evalroom does not see its sandboxes"),
        (("--sandbox", "docker"), ""),
        (("--sandbox",), ""),
        ((), ""),
    ],
)
def test_a_task_says_that_its_sandboxes_are_not_seen(words: tuple[str, ...], reports: str) -> None:
    fleet = fleet_of_tasks(task_row(), argv=("inspect", "eval", "t.py", *words))
    told = page_text(task_page(fleet, task_key(), NOW))
    assert reports in told if reports else "sandboxes:" not in told


def test_a_task_says_how_many_samples_hold_a_container() -> None:
    holder = SandboxHolder(
        pid=100, start=process_key().start, task="gdm_intercode_ctf", sample_id=1, epoch=1,
        is_alive=True,
    )  # fmt: skip
    box = Container(id="c1", project="inspect-gdm_intercod-iabc123", holder=holder)
    docker = Docker(state=ToolState.OK, containers=(box,), total=1)
    fleet = fleet_after(
        samples_seen(sample(1), sample(2)), facts(docker=docker), fleet=fleet_of_tasks(task_row())
    )
    told = page_text(task_page(fleet, task_key(), NOW))
    assert "sandboxes: docker; 1 running sample known to hold one" in told
    machine = page_text(machine_page(fleet, H1, NOW))
    assert "sample 1/1 of gdm_intercode_ctf (process 100)" in machine


def test_a_process_says_what_it_does_before_its_samples_run() -> None:
    build = Operation(action="Subprocess", what="docker compose build", since=NOW - 90)
    seen = OperationsSeen(at=NOW, process=process_key(), operations=(build,))
    fleet = fleet_after(seen, fleet=fleet_of_tasks(task_row()))
    assert "doing: docker compose build 1:30" in page_text(process_page(fleet, process_key(), NOW))
