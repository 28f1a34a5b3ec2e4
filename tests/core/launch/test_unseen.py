"""How often a run is polled whose process the fleet does not show."""

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from core.ids import MachineName
from core.launch.run.run_poller import RunPoller
from core.model.job import Job
from core.model.run import Run, RunState
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, NOW
from tests.support.runs import run


class There:
    """A desk whose machine says that the run lives; and a registry of that run alone."""

    def __init__(self, known: Run) -> None:
        self.fleet = busy_fleet()
        self.runs, self.starting = {known.id: known}, frozenset[str]()
        self.load = self.abandoned = self.retry_saves = self._nothing
        self.polls = 0

    async def _nothing(self, *_: object) -> frozenset[str]:
        return frozenset()

    def now(self) -> float:
        return NOW

    def open_runs(self) -> tuple[Run, ...]:
        return tuple(self.runs.values())

    async def update(self, known: Run) -> Run:
        self.runs[known.id] = known
        return known

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        del machine, deadline
        if job.verb != "poll":
            return {"runs": []}
        self.polls += 1
        row = {"started": True, "alive": True, "pid": 4711, "start": "a-1"}
        return {"runs": [{**row, "run": each.id} for each in self.runs.values()]}


async def no_secrets(names: Sequence[str]) -> Mapping[str, str]:
    """The secrets of a run that has none."""
    raise AssertionError(names)


@pytest.mark.parametrize(("seconds", "polls"), [(5.0, 2), (600.0, 1)])
async def test_a_young_run_that_is_not_seen_is_polled_soon_again(
    monkeypatch: pytest.MonkeyPatch, seconds: float, polls: int
) -> None:
    there: Any = There(run(9, RunState.RUNNING, machine=H1, started_at=NOW - seconds))
    clock = SimpleNamespace(at=1_000.0)
    loop = SimpleNamespace(time=lambda: clock.at)
    poller = RunPoller(there, there, open_secrets=no_secrets, delay_discovery=True)
    monkeypatch.setattr(
        "core.launch.run.run_poller.asyncio",
        SimpleNamespace(get_running_loop=lambda: loop, gather=asyncio.gather),
    )
    await poller.poll_once()
    clock.at += 3.0
    await poller.poll_once()
    assert there.polls == polls
