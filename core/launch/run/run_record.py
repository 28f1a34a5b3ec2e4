"""A run's record and its manifest, made from its plan before the first byte is sent."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from core.ctl.decode import inner, number, text
from core.ids import MachineName
from core.launch.plan.run_plan import RUNS_FOLDER, RunPlan, is_run_id
from core.launch.spec.spec_writer import spec_table
from core.model.run import Run, RunState

MANIFEST_FILE = "run.json"
"""The file in a run's folder that says what it is, so that every evalroom finds it."""
_MAX_SPEC_CHARS = 64 * 1024


def new_run(plan: RunPlan, *, at: float, operator: str, launch: str) -> Run:
    """Return the record of a run that is about to be prepared.

    Args:
        plan: What is launched.
        at: Unix seconds at the desk.
        operator: Who launches it.
        launch: What the runs of one matrix share.
    """
    return Run(
        id=plan.run,
        machine=plan.machine,
        at=at,
        operator=operator,
        state=RunState.QUEUED,
        task=plan.spec.task[0],
        model=plan.spec.model[0],
        engine=plan.spec.engine,
        spec=MappingProxyType(spec_table(plan.spec)),
        directory=plan.directory,
        log_dir=plan.log_dir,
        command_line=plan.command_line,
        launch=launch,
        attach=plan.attach,
    )


def manifest(plan: RunPlan, run: Run) -> bytes:
    """Return the content of `MANIFEST_FILE`; no secret's value is in it."""
    return json.dumps(
        {
            "v": 1,
            "run": run.id,
            "at": run.at,
            "machine": run.machine,
            "operator": run.operator,
            "task": run.task,
            "model": run.model,
            "engine": run.engine,
            "launch": run.launch,
            "directory": run.directory,
            "log_dir": run.log_dir,
            "data_dir": plan.data_dir,
            "command_line": run.command_line,
            "inspect": list(plan.inspect_words),
            "attach": list(run.attach),
            "spec": dict(run.spec),
        },
        indent=2,
    ).encode()


def run_from_manifest(machine: MachineName, row: Mapping[str, Any], now: float) -> Run | None:
    """Return a run that another evalroom launched, as its manifest tells it; None: it has none.

    Where it is and what attaches to it are not the manifest's to say: the one is where it was
    seen, the other is what its engine makes of its start.

    Args:
        machine: Where it was seen.
        row: What the launcher's `list` tells of it.
        now: Unix seconds at the desk.
    """
    told = inner(row, "manifest")
    run = text(row, "run")
    if not told or run is None or text(told, "run") != run or not is_run_id(run):
        return None
    at = number(told, "at")
    spec = inner(told, "spec")
    return Run(
        id=run,
        machine=machine,
        at=now if at is None else min(max(at, 0.0), now),
        operator=(text(told, "operator") or "")[:200],
        state=RunState.PREPARING,
        task=(text(told, "task") or "")[:500],
        model=(text(told, "model") or "")[:500],
        engine=(text(told, "engine") or "")[:50],
        is_ours=False,
        spec=spec if len(json.dumps(spec)) <= _MAX_SPEC_CHARS else MappingProxyType({}),
        directory=f"{RUNS_FOLDER}/{run}",
        log_dir=(text(told, "log_dir") or "")[:1_000],
        command_line=(text(told, "command_line") or "")[:20_000],
        launch=(text(told, "launch") or run)[:100],
    )
