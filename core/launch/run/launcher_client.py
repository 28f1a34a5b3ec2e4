"""The client of the launcher program (`ssh/shipped`): one function for each of its verbs."""

import base64
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from core.ctl.decode import count, inner, objects, text
from core.errors import RequestFailed
from core.ids import MachineName
from core.launch.plan.run_plan import RUNS_FOLDER, RunPlan
from core.launch.ports import ErrorExample, OutputChunk
from core.launch.run.run_record import MANIFEST_FILE
from core.model.job import Job, Worker
from core.model.run import Run
from core.text import shown

SHORT_TIMEOUT_S = 30.0
"""Timeout of a poll or of a few small files, seconds."""
LOGS_TIMEOUT_S = 300.0
"""Timeout while a machine's Inspect reads the logs of a run, seconds."""
START_TIMEOUT_S = 90.0
"""How long to wait for a start, seconds: importing a large task takes long. The start continues
after that."""
MAX_PIECE_BYTES = 64 * 1024
MAX_EXAMPLES = 5
"""Most samples of a run whose full error is read."""


async def create_folder(worker: Worker, plan: RunPlan, manifest: bytes) -> None:
    """Create a run's folder with its files, all or nothing; an existing folder stays as it is.

    Raises:
        JobFailed: The machine can't create it: no space, no permission.
        RequestFailed: No answer came; the folder may exist.
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
    """Start a run's script; return its exit status, standard output and standard error.

    Status None: the script still runs; it leaves its output in the run's folder.

    Args:
        worker: Does jobs on machines.
        plan: The run's plan; its folder exists.
        secrets: The values of its secret variables.

    Raises:
        JobFailed: The machine can't start it.
        RequestFailed: No answer came; the script may run.
    """
    given = {
        "directory": plan.directory,
        "script": plan.starts_with,
        "log_dir": plan.log_dir,
        "secrets_from": plan.secrets_from,
        "wait": START_TIMEOUT_S,
    }
    job = Job(program="launcher", verb="start", given=given, secrets=secrets)
    answer = await worker.work(plan.machine, job, deadline=START_TIMEOUT_S + SHORT_TIMEOUT_S)
    return count(answer, "status"), text(answer, "out") or "", text(answer, "err") or ""


async def bar_start(worker: Worker, machine: MachineName, directory: str) -> bool:
    """Take a run's start lock, so that it can no longer start; False: it has started.

    Raises:
        JobFailed: The machine can't take the lock; the run has not started.
        RequestFailed: No answer came.
    """
    answer = await _do(worker, machine, "bar", {"directory": directory})
    return answer.get("barred") is True


async def delete_secrets(worker: Worker, machine: MachineName, path: str) -> None:
    """Delete the secrets file of a run that did not start; a missing file is not an error.

    Raises:
        RequestFailed: No answer came; the file may still exist.
    """
    await _do(worker, machine, "sweep", {"path": path})


async def poll_runs(
    worker: Worker, machine: MachineName, runs: Iterable[Run]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the present state of some runs of one machine, as raw rows by run id.

    Raises:
        RequestFailed: No answer came.
    """
    asked = [
        {"run": run.id, "directory": run.directory, "log_dir": run.log_dir or None} for run in runs
    ]
    answer = await _do(worker, machine, "poll", {"runs": asked})
    return {name: row for row in objects(answer, "runs") if (name := text(row, "run"))}


async def discover_runs(
    worker: Worker, machine: MachineName, known: Collection[str]
) -> tuple[Mapping[str, Any], ...]:
    """Return the present state of a machine's other runs, as raw rows.

    Args:
        worker: Does jobs on machines.
        machine: Which machine.
        known: Ids of runs to leave out.

    Raises:
        RequestFailed: No answer came.
    """
    answer = await _do(worker, machine, "list", {"directory": RUNS_FOLDER, "known": sorted(known)})
    return objects(answer, "runs")


async def read_logs(
    worker: Worker, machine: MachineName, runs: Iterable[Run], secrets: Mapping[str, str]
) -> Mapping[str, Mapping[str, Any]]:
    """Let a machine's Inspect read the own logs of some runs; return a report by run id.

    A report is what `run_logs.after_logs` takes.

    Args:
        worker: Does jobs on machines.
        machine: Which machine.
        runs: Runs of this machine.
        secrets: Values of secret variables that the reading may need.

    Raises:
        JobFailed: The machine can't read them.
        RequestFailed: No answer came.
    """
    asked = [{"run": run.id, "directory": run.directory, "log_dir": run.log_dir} for run in runs]
    job = Job(program="launcher", verb="logs", given={"runs": asked}, secrets=secrets)
    answer = await worker.work(machine, job, deadline=LOGS_TIMEOUT_S)
    return {name: row for row in objects(answer, "reports") if (name := text(row, "run"))}


async def read_examples(
    worker: Worker, run: Run, secrets: Mapping[str, str]
) -> tuple[ErrorExample, ...]:
    """Return the full error of one sample of each group of a run's errors, a few at most.

    Raises:
        JobFailed: The machine can't read them.
        RequestFailed: No answer came.
    """
    groups = [(log, group) for log in run.logs for group in log.errors][:MAX_EXAMPLES]
    asked = [(log.location, str(group.example[0]), group.example[1]) for log, group in groups]
    given = {"directory": run.directory, "examples": asked}
    job = Job(program="launcher", verb="examples", given=given, secrets=secrets)
    answer = await worker.work(run.machine, job, deadline=LOGS_TIMEOUT_S)
    return tuple(
        ErrorExample(
            group=group,
            text=text(inner(row, "error"), "traceback") or text(inner(row, "error"), "message"),
            trouble=text(row, "why") or "",
        )
        for (_, group), row in zip(groups, objects(answer, "examples"), strict=False)
    )


async def read_output(worker: Worker, run: Run, file: str, start: int | None) -> OutputChunk:
    """Return a part of a file in a run's folder.

    Args:
        worker: Does jobs on machines.
        run: Which run.
        file: Path of the file, from the run's folder.
        start: Offset of the first byte; None: the end of the file.

    Raises:
        JobFailed: The file does not exist.
        RequestFailed: No answer came, or a malformed one.
    """
    given = {"directory": run.directory, "file": file, "start": start, "most": MAX_PIECE_BYTES}
    answer = await _do(worker, run.machine, "read", given)
    try:
        data = base64.b64decode(text(answer, "data") or "", validate=True)
    except ValueError as error:
        raise RequestFailed(
            f"{run.machine} sent a malformed part of the file {shown(file)}"
        ) from error
    return OutputChunk(data=data, end=count(answer, "end") or 0, size=count(answer, "size") or 0)


async def run_command(
    worker: Worker, machine: MachineName, command: tuple[str, ...], *, changes: bool = True
) -> tuple[int | None, str, str]:
    """Run a short command; return its exit status, standard output and standard error.

    Args:
        worker: Does jobs on machines.
        machine: Where it runs.
        command: The program and its arguments.
        changes: Whether it may change anything; such a command is refused on read-only machines.

    Raises:
        JobFailed: The machine can't run it.
        RequestFailed: No answer came; the command may have run.
    """
    given = {"words": list(command)}
    job = Job(program="launcher", verb="words" if changes else "screen", given=given)
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
    job = Job(program="launcher", verb=verb, given=given)
    return await worker.work(machine, job, deadline=deadline)
