"""The target of a command, which may be of a machine or an eval that does not answer."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import TypeVar

from cli.commands.desk_protocols import DeskReader
from cli.render.plain import print_note
from core.errors import NoMachineReached, TargetUnknown
from core.events import Event, ProcessGone, ProcessSeen, ReadFailed, TasksSeen
from core.fleet import Fleet
from core.format import duration_in_words
from core.ids import ProcessKey
from core.model.process import ProcessState
from core.text import shown

_NAMED = 5
"""Machines that a message names."""


Found = TypeVar("Found")


async def found_target(
    desk: DeskReader, find: Callable[[], Awaitable[Found]], *, polled: bool, until: float
) -> Found:
    """Return what `find` returns; while it may be of an eval that is blocked, wait for that eval.

    Args:
        desk: Its first poll is done.
        find: Looks into the desk's fleet; raises TargetUnknown.
        polled: Whether the first poll of every machine ended in time.
        until: When to give up, by the clock of the event loop.

    Raises:
        NoMachineReached: As `silence_named`.
        TargetUnknown: Nothing has this name.
    """
    clock = asyncio.get_running_loop().time
    news = _News()
    noted = set[ProcessKey]()
    stop = desk.listen(news.take)
    try:
        while True:
            news.arrived.clear()
            with silence_named(desk.fleet, polled=polled):
                try:
                    return await find()
                except TargetUnknown as error:
                    blocked = _blocked(desk.fleet, error.machine)
                    unlisted = [key for key in noted - news.answered if key in desk.fleet.processes]
                    left = until - clock()
                    if not (blocked or unlisted) or left <= 0:
                        raise
            if not noted.issuperset(blocked):
                noted.update(blocked)
                names = ", ".join(_name(key) for key in blocked[:_NAMED])
                wait = f"for at most {duration_in_words(left)} more"
                print_note(f"waiting for {names}, which may be blocked, {wait}")
            with suppress(TimeoutError):
                await asyncio.wait_for(news.arrived.wait(), left)
    finally:
        stop()


class _News:
    """What happens to the processes of a fleet while a command waits."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        """Set by any news of a process."""
        self.answered = set[ProcessKey]()
        """Those whose tasks were listed, or will not be. A process is live before that."""

    def take(self, event: Event) -> None:
        """Keep what an event says of a process."""
        if isinstance(event, TasksSeen | ReadFailed | ProcessGone):
            self.answered.add(event.process)
        elif not isinstance(event, ProcessSeen):
            return
        self.arrived.set()


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
        what = _name(key)
        if (process.trouble or "").startswith("tasks: ") and not process.is_gone:
            return f"{what} could not be read: {shown(process.trouble, 300)}"
    blocked = _blocked(fleet, machine)
    return f"{_name(blocked[0])} has not answered yet" if blocked else None


def _blocked(fleet: Fleet, machine: str | None) -> list[ProcessKey]:
    """Return the processes whose tasks are not known because they do not answer."""
    return [
        key
        for key, process in fleet.processes.items()
        if machine in {None, key.machine}
        and process.state is ProcessState.STARVED
        and not process.tasks
    ]


def _name(key: ProcessKey) -> str:
    return f"process {key.pid} on {shown(key.machine)}"
