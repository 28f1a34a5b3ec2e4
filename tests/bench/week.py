"""A week of one busy desk, sped up: does memory stay flat after the first hour?"""

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

from core.ctl.envelopes import sample_rows, task_rows
from core.desk.step import advance
from core.events import (
    Event,
    LinkChanged,
    MachineNamed,
    ProcessGone,
    ProcessSeen,
    SamplesSeen,
    TasksSeen,
    TimePassed,
)
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.machine import LinkState
from core.model.process import ProcessState
from tests.bench.rows import Result
from tests.support.sim.evals import SimEval
from tests.support.usage import resident_mib

HOUR = 3600.0
EVALS_AN_HOUR = 4
POLLS_AN_EVAL = 60


def measure(folder: Path, quick: bool) -> list[Result]:
    """Fold a week: four evals an hour come, run for an hour and go; links drop each hour."""
    del folder
    hours = 24 if quick else 24 * 7
    fleet = Fleet()
    machine = MachineName("week")
    fleet = advance(fleet, MachineNamed(at=0.0, machine=machine, address="", kind="command"))
    after_first = 0.0
    events = 0
    began = time.monotonic()
    # A gone process stays for a day: the first day fills the room, then it must stay level.
    for hour in range(hours):
        for event in _hour(machine, hour):
            fleet = advance(fleet, event)
            events += 1
        if hour == min(25, hours // 2):
            gc.collect()
            after_first = resident_mib(os.getpid())
    gc.collect()
    growth = resident_mib(os.getpid()) - after_first
    return [
        Result(what=f"{hours} hours folded ({events} events)", value=time.monotonic() - began,
               unit="s"),
        Result(what="memory gained after the first day", value=growth, unit="MB", goal=8.0),
        Result(what="processes known at the end (gone ones stay a day)",
               value=len(fleet.processes), unit="", goal=EVALS_AN_HOUR * 26.0),
        Result(what="findings known at the end", value=len(fleet.findings), unit="", goal=500.0),
    ]  # fmt: skip


def _hour(machine: MachineName, hour: int) -> Iterator[Event]:
    begun = hour * HOUR
    yield LinkChanged(at=begun, machine=machine, state=LinkState.DOWN, reason="lost")
    yield LinkChanged(at=begun + 5, machine=machine, state=LinkState.UP)
    for number in range(EVALS_AN_HOUR):
        sim = SimEval("week", hour * EVALS_AN_HOUR + number, 50, begun)
        process = ProcessKey(machine, sim.pid, sim.start)
        task = TaskKey(process, sim.task_id)
        yield ProcessSeen(at=begun, process=process, state=ProcessState.LIVE)
        for poll in range(POLLS_AN_EVAL):
            now = begun + poll * HOUR / POLLS_AN_EVAL
            sim.change(poll % sim.samples, now)
            tasks = task_rows(sim.answer("/tasks", now) or b"")
            yield TasksSeen(at=now, process=process, as_of=now, rows=tasks.rows)
            path = f"/evals/{sim.eval_id}/samples?active_since={now}"
            seen = sample_rows(sim.answer(path, now) or b"")
            assert seen.counts is not None
            yield SamplesSeen(
                at=now,
                task=task,
                eval_id=sim.eval_id,
                as_of=now,
                counts=seen.counts,
                rows=seen.rows,
                whole=False,
            )
        yield ProcessGone(at=begun + HOUR, process=process)
    for minute in range(60):
        yield TimePassed(at=begun + minute * 60)
