"""The variables that a machine's Inspect needs to read the log of a task."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, TaskKey

LogVariables = Callable[[Fleet, MachineName, str, str], Awaitable[Mapping[str, str]]]
"""Returns the variables for a log, by the fleet, the machine, the run's id and the location."""
MAX_VARIABLES_BYTES = 16_000
"""Bytes of all variables of a read as JSON; they travel in the head of its frame."""


async def no_variables(
    fleet: Fleet, machine: MachineName, run: str, location: str
) -> Mapping[str, str]:
    """Return no variables: logs are read with those of the login."""
    del fleet, machine, run, location
    return {}


async def with_access(
    frame: Frame, fleet: Fleet, task: TaskKey, log_variables: LogVariables
) -> Frame:
    """Return a frame that reads the log of a task, with the variables of the task's run.

    Args:
        frame: A frame of kind `logs` or `recover`.
        fleet: All that is known.
        task: The task.
        log_variables: Returns the variables of a run.
    """
    process = fleet.processes.get(task.process)
    if process is None or process.run is None or task not in fleet.tasks:
        return frame
    location = fleet.tasks[task].row.log_location
    variables = await log_variables(fleet, task.machine, process.run, location)
    if not variables or len(json.dumps(dict(variables))) > MAX_VARIABLES_BYTES:
        return frame
    return replace(frame, head={**frame.head, "variables": dict(variables)})
