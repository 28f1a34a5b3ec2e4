"""Runs for tests and pictures."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from core.events import RunChanged
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName
from core.launch.spec.spec_writer import spec_table
from core.model.log_summary import ErrorGroup, Metric
from core.model.run import Run, RunLog, RunState
from tests.support.fleets import H1, H2, NOW, process_key
from tests.support.specs import spec

EU = MachineName("a100-eu")
COMMAND = (
    "/opt/venv/bin/python -m inspect_ai eval-set tasks/smoke.py@evalroom/smoke"
    " --model mockllm/model -T samples=10 -T pass_rate=0.7 --continue-on-fail --log-dir logs"
    " --detach"
)
LOG = RunLog(
    location="/home/ada/.evalroom/runs/r1/logs/smoke.eval",
    status="success",
    task="evalroom/smoke",
    model="mockllm/model",
    metrics=(Metric(scorer="match", name="accuracy", value=0.7, stderr=0.15),),
    completed_samples=10,
    total_samples=10,
)

ERRORS = (
    ErrorGroup("TimeoutError", 6, ("q4", 1)),
    ErrorGroup("ValueError: no answer", 1, ("q9", 2)),
)


def run(number: int, state: RunState = RunState.RUNNING, *, ago: float = 300.0, **more: Any) -> Run:
    """Return a run of the smoke test, launched `ago` seconds before now."""
    name = f"20261129-12410{number}-abcdefg{number}"
    more.setdefault("machine", H1)
    more.setdefault("operator", "ada")
    more.setdefault("task", "evalroom/smoke")
    more.setdefault("model", "mockllm/model")
    more.setdefault("spec", spec_table(spec()) | {"machine": str(more["machine"])})
    more.setdefault("directory", f"~/.evalroom/runs/{name}")
    more.setdefault("log_dir", f"/home/ada/.evalroom/runs/{name}/logs")
    more.setdefault("command_line", COMMAND)
    more.setdefault("started_at", NOW - ago + 3)
    return Run(id=name, at=NOW - ago, state=state, launch=name, **more)


def every_run() -> tuple[Run, ...]:
    """Return a run in each state worth a picture."""
    message = "the run did not start: Inspect did not find a task with the name in the spec"
    ctf = "inspect_evals/gdm_intercode_ctf"
    return (
        run(1, RunState.SUCCESS, ago=90_000, ended_at=NOW - 89_000, logs=(LOG,)),
        run(2, RunState.ERROR, ago=4_000, machine=H2, ended_at=NOW - 700, message=message),
        run(
            3, RunState.LOST, ago=3_000, machine=EU, ended_at=NOW - 2_000, model="openai/gpt-5",
            task="inspect_evals/gpqa_diamond", operator="bob", is_ours=False,
            message="its process is gone, and one of its logs is incomplete",
        ),
        run(
            4, RunState.RUNNING, task=ctf, model="acme/sec-agent", pid=100, engine="tmux",
            attach=("tmux", "-L", "evalroom", "attach", "-t", "=run4"),
        ),
        run(5, RunState.STARTING, ago=20, machine=H2, started_at=None),
        run(6, RunState.QUEUED, ago=20, machine=H2, started_at=None),
        run(
            7, RunState.ERROR, ago=6_000, ended_at=NOW - 5_000,
            message="7 samples errored: 6 x TimeoutError; 1 x ValueError: no answer",
            logs=(replace(LOG, status="error", metrics=(), completed_samples=3, errors=ERRORS),),
        ),
    )  # fmt: skip


def with_runs(fleet: Fleet, runs: Iterable[Run]) -> Fleet:
    """Return a fleet that knows these runs; pid 100 of h100-1 is the fourth."""
    for each in runs:
        fleet = fold(fleet, RunChanged(at=NOW, run=each))
    key, fourth = process_key(H1, 100), run(4).id
    if key not in fleet.processes or fourth not in fleet.runs:
        return fleet
    process = replace(fleet.processes[key], run=fourth)
    return replace(fleet, processes={**fleet.processes, key: process})
