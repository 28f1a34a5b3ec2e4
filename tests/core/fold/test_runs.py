"""The runs that the fleet holds: bounded, and no machine pushes out the runs of another one."""

from dataclasses import replace

import pytest

from core.events import RunChanged
from core.fleet import Fleet
from core.ids import MachineName
from core.model.run import Run, RunState
from tests.support.fleets import H1, H2, NOW, fleet_after, named
from tests.support.runs import run


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.fold.runs.MAX_RUNS", 20)


def changed(one: Run) -> RunChanged:
    """Return the event that a run is so now."""
    return RunChanged(at=NOW, run=one)


def runs(machine: MachineName, count: int, state: RunState, *, is_ours: bool) -> list[Run]:
    one = replace(run(1, state, machine=machine), is_ours=is_ours)
    first = 0.0 if machine == H1 else 1_000.0
    return [replace(one, id=f"{machine}-{number}", at=first + number) for number in range(count)]


def kept(fleet: Fleet, machine: MachineName) -> list[str]:
    return [key for key, each in fleet.runs.items() if each.machine == machine]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.SUCCESS])
def test_a_machine_with_a_flood_of_runs_loses_its_own(state: RunState) -> None:
    mine = runs(H1, 5, RunState.SUCCESS, is_ours=True)
    flood = runs(H2, 100, state, is_ours=False)
    fleet = fleet_after(named(), named(H2), *map(changed, (*mine, *flood)))
    assert kept(fleet, H1) == [each.id for each in mine]
    assert kept(fleet, H2) == [each.id for each in flood[-15:]]


def test_ones_own_runs_that_are_not_over_never_leave() -> None:
    mine = runs(H1, 25, RunState.RUNNING, is_ours=True)
    fleet = fleet_after(named(), *map(changed, mine))
    assert len(kept(fleet, H1)) == 25
    over = replace(mine[3], state=RunState.SUCCESS)
    assert over.id not in fleet_after(changed(over), fleet=fleet).runs
