"""The record and the manifest of a run, made from its plan before anything is sent."""

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
"""The file in a run's folder that describes it, so that every instance of evalroom finds it."""
_MAX_SPEC_CHARS = 64 * 1024


def new_run(plan: RunPlan, *, at: float, operator: str, launch: str) -> Run:
    """Return the record of a new run, queued.

    Args:
        plan: The run's plan.
        at: The time at the desk, Unix seconds.
        operator: Who launches it.
        launch: The id that all runs of one launch share.
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
        data_dir=plan.data_dir or "",
    )


def manifest(plan: RunPlan, run: Run) -> bytes:
    """Return the content of `MANIFEST_FILE`; it never holds the value of a secret."""
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
    """Return a run that someone else launched, from its manifest; None: it has no valid one.

    The manifest is untrusted: the folder comes from where the run was found, and the attach
    command later from its engine.

    Args:
        machine: Where the run was found.
        row: Its row in the answer of the launcher's `list`.
        now: The time at the desk, Unix seconds.
    """
    fields = inner(row, "manifest")
    run = text(row, "run")
    if not fields or run is None or text(fields, "run") != run or not is_run_id(run):
        return None
    at = number(fields, "at")
    spec = inner(fields, "spec")
    return Run(
        id=run,
        machine=machine,
        at=now if at is None else min(max(at, 0.0), now),
        operator=(text(fields, "operator") or "")[:200],
        state=RunState.PREPARING,
        task=(text(fields, "task") or "")[:500],
        model=(text(fields, "model") or "")[:500],
        engine=(text(fields, "engine") or "")[:50],
        is_ours=False,
        spec=spec if len(json.dumps(spec)) <= _MAX_SPEC_CHARS else MappingProxyType({}),
        directory=f"{RUNS_FOLDER}/{run}",
        log_dir=(text(fields, "log_dir") or "")[:1_000],
        command_line=(text(fields, "command_line") or "")[:20_000],
        launch=(text(fields, "launch") or run)[:100],
        data_dir=(text(fields, "data_dir") or "")[:1_000],
    )


def secret_names(run: Run) -> Mapping[str, str]:
    """Return the names of a run's secrets by the variables that hold their values."""
    named = inner(run.spec, "secrets")
    return {key: name for key in named if (name := text(named, key))}
