"""Reads the logs of a machine's ended tasks: many by one start of Inspect, with retries."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from core.desk.log_access import LogVariables, no_variables, with_access
from core.errors import RequestFailed
from core.events import Event, LogRead, LogUnreadable
from core.fleet import Fleet
from core.fold.tasks import is_of_another_attempt
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.log_summary import LogReading
from core.model.task import TaskState
from core.ports import MachineConnection
from core.watch.log_reads import (
    LogAnswer,
    batch_of,
    has_location,
    log_answer,
    log_event,
    logs_frame,
    unread_tasks,
)

READ_TIMEOUT_S = 60.0
"""Seconds that the reading of one log may take, the start of Inspect included."""
_FURTHER_LOG_TIMEOUT_S = 4.0
"""Seconds for each further log of a batch."""
MAX_READS_OF_LIVE = 3
"""Failed reads after which the log of a live process counts as unreadable, for now."""
MAX_OWN_FAILURES = 3
"""Failed reads, not caused by the log, after which the task is shown as unreadable for now."""
_RETRY_DELAYS_S = (2.0, 10.0, 30.0, 120.0, 300.0, 900.0)
"""Seconds until a log is read again, by the number of failed reads; the last repeats."""

_OTHER_ATTEMPT = "another attempt wrote the log at this path"

_Attempt = tuple[TaskKey, str]
"""A task, and a text of its attempt and whether its process is gone."""


@dataclass(frozen=True, slots=True)
class _Retries:
    """The failed reads of a log: how many, how many of them hung at it, when to try again."""

    failed: int = 0
    hung: int = 0
    not_before: float = 0.0


class LogReader:
    """Reads the logs of one machine's ended tasks through its connection.

    A log that was read too early proves nothing, so it is read again: when its status is
    `started` and the process is alive, or when the process ended during the read. A log that
    can't be read is tried again for as long as its task is known, ever more seldom.
    """

    def __init__(
        self,
        machine: MachineName,
        connection: MachineConnection,
        log_variables: LogVariables = no_variables,
    ) -> None:
        self._machine = machine
        self._connection = connection
        self._log_variables = log_variables
        self._retries: dict[_Attempt, _Retries] = {}
        self._again: set[TaskKey] = set()
        self._turns: dict[ProcessKey, int] = {}
        """The number of the batch in which a process last had a log."""
        self._hung: set[ProcessKey] = set()
        """Processes of which a log hung."""
        self._batches = 0
        self._nudged = asyncio.Event()
        self._posted: set[TaskKey] = set()
        """Tasks whose events were posted and are not in the fleet yet."""
        self._all_folded = asyncio.Event()

    def nudge(self) -> None:
        """Look for a log to read now: a task may have ended."""
        self._nudged.set()

    def note_folded(self, task: TaskKey) -> None:
        """Note that an event about the log of a task is in the fleet."""
        self._posted.discard(task)
        if not self._posted:
            self._all_folded.set()

    def forget_failures(self) -> None:
        """Try every log again at once: a new probe answers."""
        self._retries.clear()
        self._nudged.set()

    def read_again(self, task: TaskKey) -> None:
        """Read the log of an ended task now, also if it is known already."""
        self._again.add(task)
        self._nudged.set()

    async def run(
        self, fleet: Callable[[], Fleet], now: Callable[[], float], post: Callable[[Event], None]
    ) -> None:
        """Read one batch of logs after the other until cancelled, and post an event for each."""
        while True:
            self._nudged.clear()
            keys, wait = self.next_logs(fleet(), now())
            events = await self.read(fleet, keys, now) if keys else ()
            if events:
                # They are folded in over several turns; until then their logs look unread.
                self._posted = {event.task for event in events}
                self._all_folded.clear()
                for event in events:
                    post(event)
                await self._all_folded.wait()
            elif not keys:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._nudged.wait()

    def next_logs(self, fleet: Fleet, now: float) -> tuple[tuple[TaskKey, ...], float | None]:
        """Return the tasks whose logs to read now, or the seconds until one is due.

        Returns:
            (tasks, None): read their logs now. ((), seconds): wait that long. ((), None): there
            is no log to read.
        """
        machine = fleet.machines.get(self._machine)
        if machine is None or not machine.link.is_alive:
            return (), None
        again = [key for key in self._again if _can_read(fleet, key)]
        self._again.clear()
        wanted = [key for key in unread_tasks(fleet, self._machine) if key not in again]
        self._keep_only(_attempt(fleet, key) for key in wanted)
        if again:
            self._again.update(again[1:])
            return (again[0],), None
        if not wanted:
            return (), None
        due_in = {key: self._retries_of(fleet, key).not_before - now for key in wanted}
        due = [key for key in wanted if due_in[key] <= 0]
        if not due:
            return (), min(due_in.values())
        due.sort(key=lambda key: (*self._rank(fleet, key), due_in[key]))
        return batch_of(fleet, self._in_turns(due)), None

    async def read(
        self, fleet: Callable[[], Fleet], keys: Sequence[TaskKey], now: Callable[[], float]
    ) -> tuple[LogRead | LogUnreadable, ...]:
        """Read a batch of logs.

        Args:
            fleet: Returns the fleet at that moment.
            keys: The tasks; they are in the fleet.
            now: Returns Unix seconds at the desk.

        Returns:
            The events that the logs prove; a log without an event must be read again later.
        """
        gone = {key for key in keys if fleet().is_gone(key.process)}
        locations = {key: fleet().tasks[key].row.log_location for key in keys}
        self._batches += 1
        self._turns.update({key.process: self._batches for key in keys})
        frame = logs_frame(fleet(), keys)
        frame = await with_access(frame, fleet(), keys[0], self._log_variables)
        timeout = READ_TIMEOUT_S + _FURTHER_LOG_TIMEOUT_S * (len(keys) - 1)
        try:
            reply = await self._connection.request(frame, deadline=timeout)
        except RequestFailed:
            # The link or the probe failed, which says nothing about the logs.
            for key in keys:
                self._count_failure(fleet(), key, now())
            return ()
        answer = await asyncio.to_thread(log_answer, reply)  # it may hold thousands of rows
        missing = [key for key in keys if locations[key] not in answer.logs]
        if answer.logs and missing:
            self._count_failure(fleet(), missing[0], now(), hung=True)
        events = (
            self._proved(fleet(), key, _reading(answer, locations[key]), key in gone, now())
            for key in keys
        )
        return tuple(event for event in events if event is not None)

    def _proved(
        self, fleet: Fleet, key: TaskKey, reading: LogReading | str, was_gone: bool, at: float
    ) -> LogRead | LogUnreadable | None:
        if key not in fleet.tasks:
            return None
        if isinstance(reading, str):  # the read failed on our side, which says nothing of the log
            failed = self._count_failure(fleet, key, at)
            event = LogUnreadable(at=at, task=key, reason=reading)
            return event if failed >= MAX_OWN_FAILURES else None
        proof = log_event(key, reading, at)
        if isinstance(proof, LogRead) and is_of_another_attempt(fleet.tasks[key], proof.header):
            proof = LogUnreadable(at=at, task=key, reason=_OTHER_ATTEMPT)
        if isinstance(proof, LogRead) and proof.header.is_final:
            return proof
        if fleet.is_gone(key.process) and not was_gone:
            return None
        failed = self._count_failure(fleet, key, at)
        is_unreadable = isinstance(proof, LogUnreadable) and failed >= MAX_READS_OF_LIVE
        return proof if was_gone or is_unreadable else None

    def _rank(self, fleet: Fleet, key: TaskKey) -> tuple[int, bool, float]:
        """Return what orders the logs that are due; the least comes first.

        A log that hung comes last, so that it can't hold up the others again. One that could not
        be read comes after those that may be final, and the newest end comes first: a command
        that waits for a few seconds still reports what ended just now.
        """
        task = fleet.tasks[key]
        is_unreadable = task.state is TaskState.UNREADABLE
        return self._retries_of(fleet, key).hung, is_unreadable, -(task.ended_at or 0.0)

    def _in_turns(self, due: Sequence[TaskKey]) -> list[TaskKey]:
        """Return these tasks so that their processes take turns: the first log of each, and so on.

        A process whose logs hung comes after the others, and the one that was read last after
        those that wait. So no eval can hold up the logs of another one.
        """
        of_process = Counter[ProcessKey]()
        places = dict[TaskKey, tuple[bool, int, int]]()
        for key in due:
            process = key.process
            is_hanging = process in self._hung
            places[key] = (is_hanging, of_process[process], self._turns.get(process, 0))
            of_process[process] += 1
        return sorted(due, key=lambda key: places[key])

    def _retries_of(self, fleet: Fleet, key: TaskKey) -> _Retries:
        return self._retries.get(_attempt(fleet, key), _Retries())

    def _count_failure(self, fleet: Fleet, key: TaskKey, at: float, *, hung: bool = False) -> int:
        """Schedule the next read of a log; return how many reads of it have failed."""
        if key not in fleet.tasks:
            return 0
        known = self._retries_of(fleet, key)
        if hung:
            self._hung.add(key.process)
            self._retries[_attempt(fleet, key)] = replace(known, hung=known.hung + 1)
            return known.failed
        failed = known.failed + 1
        delay = _RETRY_DELAYS_S[min(failed, len(_RETRY_DELAYS_S)) - 1]
        self._retries[_attempt(fleet, key)] = _Retries(failed, known.hung, at + delay)
        return failed

    def _keep_only(self, attempts: Iterable[_Attempt]) -> None:
        kept = set(attempts)
        processes = {task.process for task, _ in kept}
        self._turns = {key: turn for key, turn in self._turns.items() if key in processes}
        self._hung &= processes
        self._retries = {each: known for each, known in self._retries.items() if each in kept}


def _can_read(fleet: Fleet, key: TaskKey) -> bool:
    task = fleet.tasks.get(key)
    return task is not None and task.ended_at is not None and has_location(task)


def _reading(answer: LogAnswer, location: str) -> LogReading | str:
    """Return the result of reading a log; a text says why the read itself failed."""
    return answer.logs.get(location) or answer.why or "the log script did not answer"


def _attempt(fleet: Fleet, key: TaskKey) -> _Attempt:
    """Return a task's attempt; once its process is gone, earlier failures no longer count."""
    gone = "gone" if fleet.is_gone(key.process) else "alive"
    return key, f"{fleet.tasks[key].row.eval_id}:{gone}"
