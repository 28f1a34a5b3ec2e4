"""The error of a command whose target may be on a machine that did not answer."""

from collections.abc import Generator
from contextlib import contextmanager

from core.errors import NoMachineReached, TargetUnknown
from core.fleet import Fleet
from core.model.process import ProcessState
from core.text import shown

_NAMED = 5
"""Machines that a message names."""


@contextmanager
def silence_named(fleet: Fleet, *, polled: bool) -> Generator[None, None, None]:
    """Turn "no such target" into "its machine did not answer", if that may be the reason.

    Args:
        fleet: All that is known.
        polled: Whether the first poll of every machine ended in time.

    Raises:
        NoMachineReached: The target fits nothing, and its machine, or any machine where it names
            none, did not answer; or one of its processes could not be read.
    """
    try:
        yield
    except TargetUnknown as error:
        silent = [
            machine.name
            for machine in fleet.machines.values()
            if error.machine in {None, machine.name} and not (machine.is_reached and polled)
        ]
        if not silent:
            unread = _unread(fleet, error.machine)
            if unread is None:
                raise
            raise NoMachineReached(
                f"{error.message}. {unread}", "wait a little, then see: evalroom status"
            ) from error
        more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
        names = f"{', '.join(shown(name) for name in silent[:_NAMED])}{more}"
        raise NoMachineReached(
            f"{error.message}. {names} did not answer in time", "find out why: evalroom machines"
        ) from error


def _unread(fleet: Fleet, machine: str | None) -> str | None:
    """Return a sentence about a process whose tasks could not be read; None: all could be."""
    for key, process in fleet.processes.items():
        if machine not in {None, key.machine}:
            continue
        what = f"process {key.pid} on {shown(key.machine)}"
        if (process.trouble or "").startswith("tasks: ") and not process.is_gone:
            return f"{what} could not be read: {shown(process.trouble, 300)}"
        if process.state is ProcessState.STARVED and not process.tasks:
            return f"{what} has not answered yet"
    return None
