"""What the launcher program on a machine is asked: one function for each of its verbs."""

import base64
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from core.ctl.decode import count, objects, text
from core.errors import RequestFailed
from core.ids import MachineName
from core.launch.plan.run_plan import RUNS_FOLDER, RunPlan
from core.launch.ports import OutputChunk
from core.launch.run.run_record import MANIFEST_FILE
from core.model.job import Job, Worker
from core.model.run import Run

SHORT_TIMEOUT_S = 30.0
"""Seconds for a look, or for a few small files."""
LOGS_TIMEOUT_S = 300.0
"""Seconds for a run's logs to be read by that machine's Inspect."""
START_TIMEOUT_S = 90.0
"""Seconds that a start is waited for; importing a large task takes some. It goes on behind."""
MAX_PIECE_BYTES = 64 * 1024
_LOOKS = frozenset({"look", "list", "logs", "read"})


async def create_folder(worker: Worker, plan: RunPlan, manifest: bytes) -> None:
    """Make a run's folder, whole or not at all; one that is there stays as it is.

    Raises:
        JobFailed: It can't be made: no space, no right.
        RequestFailed: It may have been made.
    """
    files = {**plan.files, MANIFEST_FILE: manifest}
    given = {
        "directory": plan.directory,
        "files": {name: base64.b64encode(data).decode("ascii") for name, data in files.items()},
    }
    await _do(worker, plan.machine, "place", given)


async def start_run(
    worker: Worker, plan: RunPlan, secrets: Mapping[str, str]
) -> tuple[int | None, str, str]:
    """Start a run's script and return its exit status, its output and its errors.

    Status None: it goes on; what it will have said stands in the run's folder.

    Args:
        worker: Has jobs done.
        plan: Of the run; it is placed.
        secrets: Variables to values.

    Raises:
        JobFailed: It could not be started.
        RequestFailed: It may have been started.
    """
    given = {
        "directory": plan.directory,
        "script": plan.starts_with,
        "secrets_from": plan.secrets_from,
        "wait": START_TIMEOUT_S,
    }
    job = Job(program="launcher", verb="start", given=given, secrets=secrets)
    answer = await worker.work(plan.machine, job, deadline=START_TIMEOUT_S + SHORT_TIMEOUT_S)
    return count(answer, "status"), text(answer, "out") or "", text(answer, "err") or ""


async def bar_start(worker: Worker, machine: MachineName, directory: str) -> bool:
    """Keep a run from starting, whatever is still on its way; return False where it has started.

    Raises:
        JobFailed: It can't be kept from it; it has not started.
        RequestFailed: It is not known.
    """
    answer = await _do(worker, machine, "bar", {"directory": directory})
    return answer.get("barred") is True


async def delete_secrets(worker: Worker, machine: MachineName, path: str) -> None:
    """Remove the file of secrets of a run that did not start; one that is gone does no harm.

    Raises:
        RequestFailed: It may still be there.
    """
    await _do(worker, machine, "sweep", {"path": path})


async def poll_runs(
    worker: Worker, machine: MachineName, runs: Iterable[Run]
) -> Mapping[str, Mapping[str, Any]]:
    """Return what can be seen of runs of one machine now, by their ids.

    Raises:
        RequestFailed: It can't be seen now.
    """
    asked = [
        {"run": run.id, "directory": run.directory, "log_dir": run.log_dir or None} for run in runs
    ]
    answer = await _do(worker, machine, "look", {"runs": asked})
    return {name: row for row in objects(answer, "runs") if (name := text(row, "run"))}


async def discover_runs(
    worker: Worker, machine: MachineName, known: Collection[str]
) -> tuple[Mapping[str, Any], ...]:
    """Return what can be seen of the runs of a machine that are not known here.

    Raises:
        RequestFailed: It can't be seen now.
    """
    answer = await _do(worker, machine, "list", {"directory": RUNS_FOLDER, "known": sorted(known)})
    return objects(answer, "runs")


async def read_logs(worker: Worker, run: Run) -> tuple[Mapping[str, Any], ...]:
    """Have a run's logs read by that machine's own Inspect; return a row for each, newest first.

    Raises:
        RequestFailed: They can't be read now.
    """
    given = {"directory": run.directory, "log_dir": run.log_dir}
    answer = await _do(worker, run.machine, "logs", given, deadline=LOGS_TIMEOUT_S)
    return objects(answer, "logs")


async def read_output(worker: Worker, run: Run, file: str, start: int | None) -> OutputChunk:
    """Return a piece of a file of a run.

    Raises:
        JobFailed: It is not there.
        RequestFailed: It can't be read now.
    """
    given = {"directory": run.directory, "file": file, "start": start, "most": MAX_PIECE_BYTES}
    answer = await _do(worker, run.machine, "read", given)
    try:
        data = base64.b64decode(text(answer, "data") or "", validate=True)
    except ValueError as error:
        raise RequestFailed(f"what {run.machine} sent is no piece of a file") from error
    return OutputChunk(data=data, end=count(answer, "end") or 0, size=count(answer, "size") or 0)


async def run_command(
    worker: Worker, machine: MachineName, command: tuple[str, ...], *, changes: bool = True
) -> tuple[int | None, str, str]:
    """Run a short command of an engine there; return its exit status, output and errors.

    Args:
        worker: Has jobs done.
        machine: Where.
        command: Its words.
        changes: Whether it may change something: such a one goes to no read-only machine.

    Raises:
        JobFailed: It can't be run.
        RequestFailed: It may have been run.
    """
    given = {"words": list(command)}
    job = Job(program="launcher", verb="words", given=given, changes=changes)
    answer = await worker.work(machine, job, deadline=SHORT_TIMEOUT_S)
    return count(answer, "status"), text(answer, "out") or "", text(answer, "err") or ""


async def _do(
    worker: Worker,
    machine: MachineName,
    verb: str,
    given: Mapping[str, Any],
    *,
    deadline: float = SHORT_TIMEOUT_S,
) -> Mapping[str, Any]:
    job = Job(program="launcher", verb=verb, given=given, changes=verb not in _LOOKS)
    return await worker.work(machine, job, deadline=deadline)
