"""Has everything been looked at once? For commands that take one look and end."""

from collections.abc import Set as AbstractSet

from core.fleet import Fleet
from core.ids import MachineName, ProcessKey
from core.model.machine import LinkState, Machine
from core.model.process import Process, ProcessState

_FAILED = frozenset({LinkState.DOWN, LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU, LinkState.REFUSED})
_ANSWERS = frozenset({ProcessState.LIVE, ProcessState.BUSY, ProcessState.PARKED})


def looked_at(
    fleet: Fleet, listed: AbstractSet[MachineName], read: AbstractSet[ProcessKey]
) -> bool:
    """Return whether every machine was looked at once, or can't be.

    Args:
        fleet: All that is known.
        listed: Machines whose processes were listed.
        read: Processes whose tasks were read, or could not be.
    """
    if any(not _is_settled(machine, listed) for machine in fleet.machines.values()):
        return False
    return all(
        key in read
        for key, process in fleet.processes.items()
        if _answers(process) and not _has_failed(fleet.machines.get(key.machine))
    )


def _answers(process: Process) -> bool:
    """Whether its tasks can be read; one that starts has nothing to read before its socket."""
    if process.state is ProcessState.STARTING:
        return process.socket_path is not None
    return process.state in _ANSWERS


def _has_failed(machine: Machine | None) -> bool:
    return machine is None or machine.link.state in _FAILED


def _is_settled(machine: Machine, listed: AbstractSet[MachineName]) -> bool:
    return _has_failed(machine) or machine.name in listed
