"""The memory of earlier rooms: the events and findings with which a new room begins."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from core.events import (
    DeadEvalFound,
    Dismissed,
    Event,
    LogRead,
    LogUnreadable,
    ProcessGone,
    ProcessSeen,
    SurfaceRead,
    TasksSeen,
)
from core.finding_events import FindingsMuted
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName, ProcessKey
from core.judge.finding_list import closed, with_findings
from core.judge.mutes import with_mutes
from core.judge.suspicions import with_restored_suspicions
from core.model.finding import Finding
from core.model.task import TaskRow
from core.task_events import SpinUpTimed


@dataclass(frozen=True, slots=True)
class Past:
    """What the history knows of the last hours.

    Attributes:
        events: Its events about processes, tasks and logs, oldest first. The history keeps only
            the rows of tasks that changed.
        findings: Its findings, oldest first.
        mutes: The mutes of findings, oldest first; some may be over.
        spin_ups: The spin-ups of tasks, oldest first, also of machines that are not named now.
        since: Processes that ended before this are left out, Unix seconds at the desk. Those that
            had not ended are all included: the first list of a probe shows which of them are gone.
        stale: Findings that have been open and unchanged since before `since`, oldest first, except
            those that wait for the operator: their room ended with them open.
    """

    events: tuple[Event, ...] = ()
    findings: tuple[Finding, ...] = ()
    since: float = 0.0
    mutes: tuple[FindingsMuted, ...] = ()
    spin_ups: tuple[SpinUpTimed, ...] = ()
    stale: tuple[Finding, ...] = ()


NOTHING = Past()


@dataclass(slots=True)
class _Process:
    """The newest events of one process."""

    seen: ProcessSeen | DeadEvalFound
    left: DeadEvalFound | None = None
    """The logs that it left, if it was seen."""
    surface: SurfaceRead | None = None
    rows: dict[str, TaskRow] = field(default_factory=dict[str, TaskRow])
    listed: TasksSeen | None = None
    gone: ProcessGone | None = None
    dismissed: Dismissed | None = None
    logs: dict[str, LogRead | LogUnreadable] = field(
        default_factory=dict[str, LogRead | LogUnreadable]
    )

    def events(self) -> Iterator[Event]:
        yield self.seen
        if self.surface is not None:
            yield self.surface
        if self.listed is not None:
            yield replace(self.listed, rows=tuple(self.rows.values()), malformed=())
        if self.gone is not None:
            yield self.gone
            if self.left is not None:
                yield self.left
        if self.dismissed is not None:
            yield self.dismissed
        else:
            yield from self.logs.values()


def with_past(fleet: Fleet, past: Past) -> Fleet:
    """Return the fleet with the processes, tasks and findings of an earlier room.

    Each keeps its age. Processes that were alive then are still shown as alive: the
    first list of a probe says which of them have ended. Machines that the fleet does not name
    are left out, and so are findings about evalroom itself.
    """
    at = fleet.at
    for event in past_events(fleet, past):
        fleet = fold(fleet, event)
    findings = [each for each in past.findings if _belongs(fleet, each)]
    restored = with_mutes(with_restored_suspicions(with_findings(fleet, findings)))
    return replace(restored, at=max(at, fleet.at))


def leftover_findings(fleet: Fleet, past: Past) -> tuple[Finding, ...]:
    """Return the open findings that did not come back, closed: their room ended with them open.

    Those of machines that the fleet does not name, and those that wait for the operator, stay.
    """
    restored = {finding.id for finding in fleet.findings}
    return tuple(
        closed(finding, fleet.at)
        for finding in (*past.stale, *past.findings)
        if finding.closed_at is None
        and not finding.waits
        and finding.id not in restored
        and (finding.machine is None or finding.machine in fleet.machines)
    )


def past_events(fleet: Fleet, past: Past) -> Iterator[Event]:
    """Yield the fewest events that restore processes, tasks, mutes and spin-ups of earlier rooms.

    One that seems to lie in the future, by a clock that was wrong, happened now.
    """
    yield from (each for each in past.mutes if each.at <= fleet.at)
    yield from (each for each in past.spin_ups if each.at <= fleet.at)
    for process in _processes(past.events, fleet.machines.keys()):
        if process.gone is None or process.gone.at >= past.since:
            for event in process.events():
                yield event if event.at <= fleet.at else replace(event, at=fleet.at)


def _processes(events: Iterable[Event], machines: AbstractSet[MachineName]) -> Iterable[_Process]:
    known: dict[ProcessKey, _Process] = {}
    for event in events:
        match event:
            case ProcessSeen(process=key) | DeadEvalFound(process=key):
                if key.machine in machines:
                    _see(known.setdefault(key, _Process(event)), event)
            case (
                TasksSeen(process=key)
                | ProcessGone(process=key)
                | SurfaceRead(process=key)
                | Dismissed(process=key)
            ):
                if key in known:
                    _take(known[key], event)
            case LogRead(task=task) | LogUnreadable(task=task):
                if task.process in known:
                    known[task.process].logs[task.task_id] = event
            case _:
                continue
    return known.values()


def _see(process: _Process, event: ProcessSeen | DeadEvalFound) -> None:
    if isinstance(event, DeadEvalFound) and isinstance(process.seen, ProcessSeen):
        process.left = event
    else:
        process.seen = event


def _take(process: _Process, event: TasksSeen | ProcessGone | SurfaceRead | Dismissed) -> None:
    match event:
        case TasksSeen():
            process.listed = event
            process.rows.update({row.task_id: row for row in event.rows})
        case ProcessGone():
            process.gone = event
        case SurfaceRead():
            process.surface = event
        case Dismissed():
            process.dismissed = event


def _belongs(fleet: Fleet, finding: Finding) -> bool:
    if finding.machine is None or finding.machine not in fleet.machines:
        return False
    if finding.waits:
        return True
    is_task_known = finding.task is None or finding.task in fleet.tasks
    is_process_known = finding.process is None or finding.process in fleet.processes
    return finding.closed_at is not None or (is_task_known and is_process_known)
