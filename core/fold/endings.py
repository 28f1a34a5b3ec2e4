"""Whether all that a fleet knows has ended."""

from core.fleet import Fleet
from core.model.process import Process, ProcessState
from core.model.run import RunState

_LISTS_TASKS = frozenset(
    {ProcessState.STARTING, ProcessState.LIVE, ProcessState.BUSY, ProcessState.STARVED}
)
_RUNS_ON = frozenset(
    {
        RunState.QUEUED,
        RunState.PREPARING,
        RunState.STARTING,
        RunState.RUNNING,
        RunState.FINISHING,
    }
)


def all_ended(fleet: Fleet) -> bool:
    """Whether every task and run has ended, as far as its logs could be read.

    A process that is about to list its first task has not.
    """
    return (
        all(task.is_over for task in fleet.tasks.values())
        and not any(_is_starting(process) for process in fleet.processes.values())
        and not any(run.state in _RUNS_ON for run in fleet.runs.values())
    )


def _is_starting(process: Process) -> bool:
    return process.state in _LISTS_TASKS and not process.tasks
