"""The variables for reads of logs, from the runs and the secrets of this operator."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.errors import StorageError
from core.fleet import Fleet
from core.ids import MachineName

if TYPE_CHECKING:
    from core.model.run import Run


async def log_variables(
    fleet: Fleet, machine: MachineName, run: str, location: str
) -> Mapping[str, str]:
    """Return the variables with which to read a log (see `core.desk.log_access.LogVariables`).

    A command that follows no runs finds the run in the history, which it does not change.
    """
    from core.launch.run.log_secrets import variables_of_log  # noqa: PLC0415 - rarely needed
    from storage.paths import paths  # noqa: PLC0415
    from storage.secrets import Secrets  # noqa: PLC0415

    known = fleet.runs.get(run) or await asyncio.to_thread(_stored_run, run)
    if known is None or known.machine != machine:
        return {}
    return await variables_of_log(known, location, Secrets(paths().secrets).open)


def _stored_run(run: str) -> "Run | None":
    from storage.paths import paths  # noqa: PLC0415
    from storage.runs import run_readonly  # noqa: PLC0415

    try:
        return run_readonly(paths().database, run)
    except StorageError:
        return None
