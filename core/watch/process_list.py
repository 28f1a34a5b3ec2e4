"""Decodes the processes of a `processes` frame, and their states."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import accumulate

from core.ctl.decode import (
    JsonObject,
    count,
    first_rows,
    flag,
    inner,
    number,
    objects,
    parse_object,
    text,
    texts,
)
from core.errors import AnswerMalformed
from core.events import DeadEvalFound, ProcessSeen
from core.ids import MachineName, ProcessKey
from core.model.limits import MAX_PROCESSES, units
from core.model.process import ContainerPlace, OutOfMemory, ProcessState, SlowPoll, Unsignalled
from core.watch.polls import TASKS_POLL, sampled_task

BUSY_AFTER_S = 2.0
"""Seconds without an answer after which a process is busy."""
STARVED_AFTER_S = 10.0
"""Seconds without an answer after which its event loop counts as blocked."""
HEADLESS_AFTER_S = 5.0
"""Seconds without a control server after which a living process is headless.

An eval that ends removes its socket a moment before the process ends.
"""

_MAX_DEAD_LOGS = 50
_MAX_SLOW_POLLS = 10
MAX_PATH_LENGTH = 4_096
"""Characters of a path or an id; a longer one counts as unknown."""
MAX_WORDS = 1_000
"""Words of a command line, and names of variables."""

Channel = str
_ENGINES = frozenset({"docker", "podman", "kubernetes"})
_SHORT_ID = re.compile("[0-9a-f]{12}")
"""The id of a container that a command may name: a host can send anything."""
_STATES: dict[Channel, ProcessState] = {
    "ok": ProcessState.LIVE,
    "new": ProcessState.STARTING,
    "refused": ProcessState.HEADLESS,
    "none": ProcessState.HEADLESS,
    "off": ProcessState.OPTED_OUT,
    "removed": ProcessState.HEADLESS,
    "contained": ProcessState.CONTAINED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """One process of a `processes` frame.

    Attributes:
        event: The process as an event, with its state when the frame was made.
        channel: The probe's word for the state of its control socket.
        alive: Whether the process is alive.
        left: The logs of an eval that has ended: its tasks may never have been listed. None: it is
            alive, or no log is known to be its own.
        killed: Whether the kernel killed it for lack of memory, and how that is known.
    """

    event: ProcessSeen
    channel: Channel
    alive: bool
    left: DeadEvalFound | None = None
    killed: OutOfMemory = ""

    @property
    def is_refused(self) -> bool:
        """Whether its control server refuses connections."""
        return self.channel == "refused"

    @property
    def is_steady(self) -> bool:
        """Whether its state stays the same while time passes."""
        return self.alive and not self.is_refused and self.event.waiting_since is None

    def unlisted(self, listed: AbstractSet[str]) -> Iterator[DeadEvalFound]:
        """Yield what it left, unless all the logs are among `listed`, as paths or URLs."""
        if self.left is not None and not all(
            log in listed or f"file://{log}" in listed for log in self.left.logs
        ):
            yield self.left

    def at_time(
        self, clock: float, at: float, *, refused_since: float, former: ProcessState | None = None
    ) -> ProcessSeen:
        """Return the event with the state of the moment `clock`.

        Args:
            clock: Unix seconds on the host.
            at: Unix seconds at the desk.
            refused_since: When its control server first refused, Unix seconds on the host.
            former: Its last known state, which holds until a new probe has asked it; None: not
                known.
        """
        state = self._state(clock, refused_since)
        if self.channel == "new" and former is not None:
            state = former
        return replace(self.event, at=at, state=state)

    def _state(self, clock: float, refused_since: float) -> ProcessState:
        if self.is_refused and clock - refused_since < HEADLESS_AFTER_S:
            return ProcessState.LIVE
        waiting = self.event.waiting_since
        if waiting is not None:
            waited = clock - waiting
            if waited >= STARVED_AFTER_S:
                return ProcessState.STARVED
            if waited >= BUSY_AFTER_S:
                return ProcessState.BUSY
        return _STATES.get(self.channel, ProcessState.LIVE)


@dataclass(frozen=True, slots=True)
class ProcessReports:
    """The processes, and the evals that died unseen; `left_out` more were not read, at least."""

    reports: tuple[ProcessReport | DeadEvalFound, ...]
    left_out: int = 0


def process_reports(machine: MachineName, body: bytes, *, at: float) -> ProcessReports:
    """Return what the body of a `processes` frame lists, up to `MAX_PROCESSES`.

    Args:
        machine: The machine that they run on.
        body: The frame's body.
        at: Now at the desk, Unix seconds.

    Raises:
        AnswerMalformed: The body is not a list.
    """
    rows = first_rows(body, MAX_PROCESSES)
    sums = accumulate(units(raw) for raw in rows.items)
    fitting = [raw for raw, total in zip(rows.items, sums, strict=True) if total <= MAX_PROCESSES]
    reports = (_report(machine, raw, at=at) for raw in fitting)
    left_out = rows.left_out + len(rows.items) - len(fitting)
    return ProcessReports(tuple(each for each in reports if each is not None), left_out)


def process_key(machine: MachineName, row: JsonObject) -> ProcessKey | None:
    """Return the process that a row or the head of a frame names; None: it names none."""
    pid, start = count(row, "pid"), text(row, "start")
    return None if pid is None or start is None else ProcessKey(machine, pid, start)


def _report(machine: MachineName, raw: bytes, *, at: float) -> ProcessReport | DeadEvalFound | None:
    try:
        row = parse_object(raw)
    except AnswerMalformed:
        return None
    key = process_key(machine, row)
    if key is None:
        return None
    if text(row, "channel") == "dead":
        return _dead(key, row, at=at)
    event = ProcessSeen(
        at=at,
        process=key,
        state=ProcessState.LIVE,
        run_id=_short(row, "run_id"),
        started_at=number(row, "started_at"),
        api_version=count(row, "api_version"),
        socket_path=_short(row, "socket_path"),
        data_dir=_short(row, "data_dir"),
        argv=texts(row, "argv")[:MAX_WORDS],
        cwd=_short(row, "cwd"),
        python=_short(row, "python"),
        run=_short(row, "run"),
        variables=texts(row, "variables")[:MAX_WORDS],
        waiting_since=number(row, "waiting_since"),
        unsignalled=_unsignalled(row),
        container=_container(row),
        is_cut_off=text(row, "channel") == "removed",
        is_stopped=flag(row, "is_stopped") is True,
        slow_polls=_slow_polls(row),
        units=units(raw),
    )
    return ProcessReport(
        event=event,
        channel=text(row, "channel") or "",
        alive=flag(row, "alive") is not False,
        left=_dead(event.process, row, at=at),
        killed=_killed(row),
    )


def _killed(row: JsonObject) -> OutOfMemory:
    match text(row, "killed"):
        case "kernel":
            return "kernel"
        case "group":
            return "group"
        case _:
            return ""


def _slow_polls(row: JsonObject) -> tuple[SlowPoll, ...]:
    """Return the slow polls of tasks and samples, which are those that rows are made of.

    Several polls read the samples of one task, and share their pauses: the one with the slowest
    answer, which caused the pause, stands for them.
    """
    found = dict[str | None, SlowPoll]()
    for each in objects(row, "slow_polls")[:_MAX_SLOW_POLLS]:
        wait, took, name = number(each, "wait"), number(each, "took"), _short(each, "name")
        task_id = sampled_task(name or "")
        if wait is not None and took is not None and (name == TASKS_POLL or task_id):
            poll = SlowPoll(wait=max(0.0, wait), answer=max(0.0, took), task_id=task_id)
            if task_id not in found or found[task_id].answer < poll.answer:
                found[task_id] = poll
    return tuple(found.values())


def _short(row: JsonObject, name: str) -> str | None:
    """Return a text field; None if it is missing, or longer than any path."""
    value = text(row, name)
    return value if value is not None and len(value) <= MAX_PATH_LENGTH else None


def _dead(process: ProcessKey, row: JsonObject, *, at: float) -> DeadEvalFound | None:
    written_at = number(row, "ended_at")
    logs = tuple(log for log in texts(row, "logs") if len(log) <= MAX_PATH_LENGTH)
    if written_at is None or not logs:
        return None
    return DeadEvalFound(
        at=at,
        process=process,
        logs=logs[:_MAX_DEAD_LOGS],
        last_written_at=written_at,
        started_at=number(row, "started_at"),
        run_id=_short(row, "run_id"),
        data_dir=_short(row, "data_dir"),
    )


def _unsignalled(row: JsonObject) -> Unsignalled | None:
    match text(row, "unsignalled"):
        case None:
            return None
        case "contained":
            return "contained"
        case _:
            return "script"


def _container(row: JsonObject) -> ContainerPlace | None:
    if text(row, "channel") != "contained":
        return None
    found = inner(row, "container")
    engine, short_id = text(found, "engine") or "", text(found, "id") or ""
    return ContainerPlace(
        engine=engine if engine in _ENGINES else "",
        id=short_id if _SHORT_ID.fullmatch(short_id) else "",
        namespace=text(found, "namespace") or "",
        pid=count(found, "pid"),
    )
