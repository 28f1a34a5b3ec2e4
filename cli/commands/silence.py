"""The error of a command whose target may be on a machine that did not answer."""

from collections.abc import Generator
from contextlib import contextmanager

from core.errors import EvalroomError, NoMachineReached, TargetUnknown
from core.fleet import Fleet
from core.text import shown

_NAMED = 5
"""Machines that a message names."""
_REASON = 200
"""The most characters of a reason."""


@contextmanager
def silence_named(fleet: Fleet, *, polled: bool) -> Generator[None, None, None]:
    """Turn "no such target" into "its machine did not answer", if that may be the reason.

    Args:
        fleet: All that is known.
        polled: Whether the first poll of every machine ended in time.

    Raises:
        NoMachineReached: The target fits nothing, and its machine, or any machine where it names
            none, did not answer; or the tasks of an eval there could not be read.
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
            raise _of_unread(fleet, error) from None
        more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
        names = f"{', '.join(shown(name) for name in silent[:_NAMED])}{more}"
        raise NoMachineReached(
            f"{error.message}. {names} did not answer in time", "find out why: evalroom machines"
        ) from error


def _of_unread(fleet: Fleet, error: TargetUnknown) -> EvalroomError:
    """Return the error; where a read of an eval's tasks failed, one that says so."""
    unread = [
        process
        for process in fleet.processes.values()
        if error.machine in {None, process.key.machine}
        and process.trouble
        and not process.tasks
        and not process.is_gone
    ]
    if not unread:
        return error
    one = unread[0]
    more = f", and those of {len(unread) - 1} more" if len(unread) > 1 else ""
    reason = shown((one.trouble or "").removeprefix("tasks: "), _REASON)
    return NoMachineReached(
        f"{error.message}. The tasks of pid {one.key.pid} on {shown(one.key.machine)}{more} could"
        f" not be read: {reason}",
        "try again, or look at the eval: evalroom status",
    )
