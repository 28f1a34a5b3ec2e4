import pytest

from core.errors import TargetUnclear
from core.fleet import Fleet
from core.task_targets import find_task
from tests.support.fleets import (
    H2,
    fleet_after,
    named,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

FLEET = fleet_after(
    named(),
    named(H2),
    process_seen(),
    process_seen(H2),
    tasks_seen(
        task_row("QRorgCTu", task="evals/cybench", model="acme/agent"),
        task_row("QRxyz", task="cybench_hard", model="openai/gpt-5"),
    ),
    tasks_seen(task_row("QRorgCTu", task="evals/cybench"), machine=H2),
)


@pytest.mark.parametrize(
    ("target", "task_id"),
    [
        ("h100-1:QRorgCTu", "QRorgCTu"),
        ("h100-1:QRo", "QRorgCTu"),
        ("QRxyz", "QRxyz"),
        ("QRx", "QRxyz"),
        ("h100-1:cybench", "QRorgCTu"),
        ("h100-1:evals/cybench", "QRorgCTu"),
        ("HARD", "QRxyz"),
        ("gpt-5", "QRxyz"),
        ("cybench_h", "QRxyz"),
    ],
)
def test_any_unambiguous_part_names_a_task(target: str, task_id: str) -> None:
    assert find_task(FLEET, target) == task_key(task_id)


def test_an_ambiguous_target_lists_its_candidates() -> None:
    with pytest.raises(TargetUnclear, match="has 2 readings") as raised:
        find_task(FLEET, "QRorgCTu")
    assert "h100-1:QRorgCTu" in raised.value.message
    assert "h100-2:QRorgCTu" in raised.value.message
    with pytest.raises(TargetUnclear, match="has 2 readings"):
        find_task(FLEET, "h100-1:")


def test_a_target_that_fits_nothing_lists_what_there_is() -> None:
    with pytest.raises(TargetUnclear, match="no task matches zzz; the tasks are h100-1:QRorgCTu"):
        find_task(FLEET, "zzz")
    with pytest.raises(TargetUnclear, match="no task is known"):
        find_task(Fleet(), "x")


def test_a_task_name_with_a_colon_is_found() -> None:
    fleet = fleet_after(named(), process_seen(), tasks_seen(task_row(task="suite:one")))
    assert find_task(fleet, "suite%3Aone") == task_key()
    assert find_task(fleet, "h100-1:suite:one") == task_key()
    with pytest.raises(TargetUnclear, match="a machine 'suite' that the config doesn't have"):
        find_task(fleet, "suite:one")


def test_a_listed_hostile_name_is_harmless() -> None:
    rows = [task_row(f"t{number}", task="\x1b]52;c;x\x07") for number in range(20)]
    fleet = fleet_after(named(), process_seen(), tasks_seen(*rows))
    with pytest.raises(TargetUnclear, match="and 10 more") as raised:
        find_task(fleet, "\x1b[2J")
    assert raised.value.message.isprintable()
