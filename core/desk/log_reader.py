"""Reads the log headers of a machine's ended tasks: one at a time, with retries."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from core.errors import RequestFailed
from core.events import Event, LogRead, LogUnreadable
from core.fleet import Fleet
from core.ids import MachineName, TaskKey
from core.ports import MachineConnection, Reply
from core.watch.log_headers import header_event, header_frame, unread_tasks

READ_TIMEOUT_S = 60.0
"""Seconds that one read may take."""
MAX_FAILED_READS = 3
"""Failed reads after which a log counts as unreadable."""
_RETRY_DELAYS_S = (2.0, 10.0, 30.0, 120.0, 300.0)
"""Seconds until a log is read again, by the number of failed reads; the last repeats."""

_Attempt = tuple[TaskKey, str]
"""A task, and a text of its attempt and whether its process is gone."""


@dataclass(frozen=True, slots=True)
class _Retries:
    failed: int = 0
    not_before: float = 0.0


class LogReader:
    """Reads the headers of one machine's finishing logs through its connection.

    A header that was read too early proves nothing, so it is read again: when its status is
    `started` and the process is alive, or when the process ended during the read.
    """

    def __init__(self, machine: MachineName, connection: MachineConnection) -> None:
        self._machine = machine
        self._connection = connection
        self._retries: dict[_Attempt, _Retries] = {}
        self._nudged = asyncio.Event()

    def nudge(self) -> None:
        """Look for a log to read now: a task may have ended, or the link may be back."""
        self._nudged.set()

    async def run(
        self, fleet: Callable[[], Fleet], now: Callable[[], float], post: Callable[[Event], None]
    ) -> None:
        """Read one log after the other until cancelled, and post an event for each."""
        while True:
            self._nudged.clear()
            key, wait = self.next_log(fleet(), now())
            event = None if key is None else await self.read(fleet, key, now)
            if event is not None:
                # Folding the event in nudges this reader again.
                self._nudged.clear()
                post(event)
            if event is not None or key is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._nudged.wait()

    def next_log(self, fleet: Fleet, now: float) -> tuple[TaskKey | None, float | None]:
        """Return the task whose log to read now, or the seconds until one is due.

        Returns:
            (task, None): read its log now. (None, seconds): wait that long. (None, None): there
            is no log to read.
        """
        machine = fleet.machines.get(self._machine)
        if machine is None or not machine.link.is_alive:
            return None, None
        wanted = [key for key in unread_tasks(fleet, self._machine) if key in fleet.tasks]
        self._keep_only(_attempt(fleet, key) for key in wanted)
        if not wanted:
            return None, None
        due_in = {key: self._retries_of(fleet, key).not_before - now for key in wanted}
        first = min(wanted, key=lambda key: due_in[key])
        return (first, None) if due_in[first] <= 0 else (None, due_in[first])

    async def read(
        self, fleet: Callable[[], Fleet], key: TaskKey, now: Callable[[], float]
    ) -> LogRead | LogUnreadable | None:
        """Read one log's header.

        Args:
            fleet: Returns the fleet at that moment.
            key: The task; it is in the fleet.
            now: Returns Unix seconds at the desk.

        Returns:
            The event that the log proves; None when the log must be read again later.
        """
        was_gone = fleet().is_gone(key.process)
        frame = header_frame(fleet(), key)
        try:
            reply = await self._connection.request(frame, deadline=READ_TIMEOUT_S)
        except RequestFailed:
            # The link or the probe failed, which says nothing about the log.
            self._count_failure(fleet(), key, now())
            return None
        return self._proved(fleet(), key, reply, was_gone=was_gone, at=now())

    def _proved(
        self, fleet: Fleet, key: TaskKey, reply: Reply, *, was_gone: bool, at: float
    ) -> LogRead | LogUnreadable | None:
        if key not in fleet.tasks:
            return None
        event = header_event(fleet, key, reply, at)
        if isinstance(event, LogRead) and event.header.status != "started":
            return event
        if fleet.is_gone(key.process) and not was_gone:
            return None
        failed = self._count_failure(fleet, key, at)
        if isinstance(event, LogRead):
            return event if was_gone else None
        return event if failed >= MAX_FAILED_READS else None

    def _retries_of(self, fleet: Fleet, key: TaskKey) -> _Retries:
        return self._retries.get(_attempt(fleet, key), _Retries())

    def _count_failure(self, fleet: Fleet, key: TaskKey, at: float) -> int:
        """Schedule the next read of a log; return how many reads of it have failed."""
        if key not in fleet.tasks:
            return 0
        failed = self._retries_of(fleet, key).failed + 1
        delay = _RETRY_DELAYS_S[min(failed, len(_RETRY_DELAYS_S)) - 1]
        self._retries[_attempt(fleet, key)] = _Retries(failed, at + delay)
        return failed

    def _keep_only(self, attempts: Iterable[_Attempt]) -> None:
        kept = set(attempts)
        self._retries = {each: known for each, known in self._retries.items() if each in kept}


def _attempt(fleet: Fleet, key: TaskKey) -> _Attempt:
    """Return a task's attempt; once its process is gone, earlier failures no longer count."""
    gone = "gone" if fleet.is_gone(key.process) else "alive"
    return key, f"{fleet.tasks[key].row.eval_id}:{gone}"
