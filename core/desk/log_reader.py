"""When to read which log's header: once per log, one at a time per machine, patiently."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from core.desk.observers import Watching
from core.errors import RequestFailed
from core.events import Event, LogRead, LogUnreadable
from core.fleet import Fleet
from core.ids import MachineName, TaskKey
from core.ports import MachineConnection, Reply

DEADLINE = 60.0
"""Seconds that one reading may take."""
UNREADABLE_AFTER = 3
"""Vain readings after which a log counts as unreadable."""
_WAITS = (2.0, 10.0, 30.0, 120.0, 300.0)
"""Seconds until a log is read again, by how often that was in vain."""

_Attempt = tuple[TaskKey, str]


@dataclass(frozen=True, slots=True)
class _Tries:
    vain: int = 0
    not_before: float = 0.0


class LogReader:
    """Reads the headers of one machine's finishing logs through its connection.

    What came back too early proves nothing: a log that still says started while its process
    lives, or that was read before its process went, is read again.
    """

    def __init__(
        self, machine: MachineName, connection: MachineConnection, watching: Watching
    ) -> None:
        self._machine = machine
        self._connection = connection
        self._watching = watching
        self._tries: dict[_Attempt, _Tries] = {}
        self._nudged = asyncio.Event()

    def nudge(self) -> None:
        """Look again: a task may have ended, or the link may be back."""
        self._nudged.set()

    async def run(
        self, fleet: Callable[[], Fleet], now: Callable[[], float], post: Callable[[Event], None]
    ) -> None:
        """Read what is to be read, one log after the other, until cancelled."""
        while True:
            self._nudged.clear()
            key, wait = self.next_want(fleet(), now())
            event = None if key is None else await self.read(fleet, key, now)
            if event is not None:
                # It is proved once it is folded in, and that nudges.
                self._nudged.clear()
                post(event)
            if event is not None or key is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._nudged.wait()

    def next_want(self, fleet: Fleet, now: float) -> tuple[TaskKey | None, float | None]:
        """Return the log to read now, or in how many seconds one is due (None: none is)."""
        machine = fleet.machines.get(self._machine)
        if machine is None or not machine.link.is_alive:
            return None, None
        wants = [key for key in self._watching.wants(fleet, self._machine) if key in fleet.tasks]
        self._keep_only(_attempt(fleet, key) for key in wants)
        if not wants:
            return None, None
        due = {key: self._tried(fleet, key).not_before - now for key in wants}
        first = min(wants, key=lambda key: due[key])
        return (first, None) if due[first] <= 0 else (None, due[first])

    async def read(
        self, fleet: Callable[[], Fleet], key: TaskKey, now: Callable[[], float]
    ) -> LogRead | LogUnreadable | None:
        """Read one log's header.

        Args:
            fleet: Gives all that is known by then.
            key: The task; it is in the fleet.
            now: Unix seconds at the desk.

        Returns:
            What is now proved; None when it is to be read again later.
        """
        was_gone = fleet().is_gone(key.process)
        frame = self._watching.frame(fleet(), key)
        try:
            reply = await self._connection.request(frame, deadline=DEADLINE)
        except RequestFailed:
            # The link or the probe failed, which says nothing of the log.
            self._was_vain(fleet(), key, now())
            return None
        return self._weighed(fleet(), key, reply, was_gone=was_gone, at=now())

    def _weighed(
        self, fleet: Fleet, key: TaskKey, reply: Reply, *, was_gone: bool, at: float
    ) -> LogRead | LogUnreadable | None:
        if key not in fleet.tasks:
            return None
        event = self._watching.event(fleet, key, reply, at)
        if isinstance(event, LogRead) and event.header.status != "started":
            return event
        if fleet.is_gone(key.process) and not was_gone:
            return None
        vain = self._was_vain(fleet, key, at)
        if isinstance(event, LogRead):
            return event if was_gone else None
        return event if vain >= UNREADABLE_AFTER else None

    def _tried(self, fleet: Fleet, key: TaskKey) -> _Tries:
        return self._tries.get(_attempt(fleet, key), _Tries())

    def _was_vain(self, fleet: Fleet, key: TaskKey, at: float) -> int:
        if key not in fleet.tasks:
            return 0
        vain = self._tried(fleet, key).vain + 1
        wait = _WAITS[min(vain, len(_WAITS)) - 1]
        self._tries[_attempt(fleet, key)] = _Tries(vain, at + wait)
        return vain

    def _keep_only(self, attempts: Iterable[_Attempt]) -> None:
        kept = set(attempts)
        self._tries = {each: tries for each, tries in self._tries.items() if each in kept}


def _attempt(fleet: Fleet, key: TaskKey) -> _Attempt:
    """A task's attempt: when its process goes, what was tried before counts no more."""
    gone = "gone" if fleet.is_gone(key.process) else "alive"
    return key, f"{fleet.tasks[key].row.eval_id}:{gone}"
