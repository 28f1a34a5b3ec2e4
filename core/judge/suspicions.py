"""Turns signs into findings: what lasts over several readings opens one, what is gone closes it.

Pure. A finding opens after corroboration (`Kind.readings`), worsens, and closes after readings
without its sign (`Kind.misses`). It never eases while it is open, so that nothing flaps.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from core.config.judge import JudgeConfig
from core.events import (
    DeadEvalFound,
    Event,
    LinkChanged,
    LogRead,
    LogUnreadable,
    MachineRead,
    OperationsSeen,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    SamplesSeen,
    TasksSeen,
    TimePassed,
)
from core.fleet import Fleet
from core.fold.immutable import thawed, with_fields, with_items, without
from core.ids import ProcessKey, TaskKey
from core.judge.finding_list import closed, has_room, with_findings, with_id
from core.judge.kinds import all_kinds
from core.judge.sign import QUIET_S, Kind, Scene, Sign, Signs
from core.judge.standing import standing
from core.judge.usual_calls import usual_calls
from core.model.finding import SAME_START_S, Finding, occurrence_id, worse
from core.model.suspicion import Subject, Suspicion
from core.model.task import Task, TaskState

FLEET_INTERVAL_S = 5.0
"""The fleet as a whole is judged at most this often, seconds."""

MAX_WORK = 10_000
"""Samples that are looked at for one event; a process may have more, in thousands of tasks."""
SIGN_WORK = 50
"""As so many samples counts each sign that is found."""

Scope = Literal["task", "process", "machine", "fleet"]
_Place = tuple[str, str, Subject]


def judge_signs(fleet: Fleet, event: Event, rules: JudgeConfig) -> Fleet:
    """Return the fleet with the findings that the signs at the event's subjects open and close."""
    changed: dict[str, Finding] = {}
    memo: dict[object, Any] = {}
    work = 0
    suspicions: dict[_Place, Mapping[str, Suspicion]] = {}
    quiet: dict[Subject, float] = {}
    scene = Scene(fleet=fleet, rules=rules, at=event.at, memo=memo)
    for scope, subject in _subjects(fleet, event):
        if work > MAX_WORK:
            break  # the others are judged when they are read again
        task = fleet.tasks.get(subject) if isinstance(subject, TaskKey) else None
        work += len(task.samples) if task is not None else 0
        by_row = _is_row_alone(event, task)
        quiet_for = QUIET_S
        for kind in _kinds_on(scope, by_row=by_row):
            place = (kind.name, scope, subject)
            known = fleet.suspicions.get(place, _NOTHING)
            judged = _Judged(fleet, kind, scope, event.at)
            now = judged.look(known, task or subject, scene)
            work += SIGN_WORK * judged.signs
            quiet_for = min(quiet_for, judged.quiet_for)
            if scope == "fleet":  # others ask for these: they come first, and are known at once
                fleet = _with_suspicions(fleet, {place: now}) if now != known else fleet
                fleet = with_findings(fleet, judged.findings)
                scene = replace(scene, fleet=fleet)
                continue
            if now != known:
                suspicions[place] = now
            changed.update({each.id: each for each in judged.findings})
        if scope in {"task", "process"} and not by_row:
            quiet[subject] = event.at + quiet_for
    fleet = _with_quiet(_with_suspicions(fleet, suspicions), quiet)
    if isinstance(event, TimePassed):
        fleet = _pruned(fleet)
    if _is_fleet_due(fleet, event):
        fleet = with_fields(fleet, judged_at=event.at, usual_calls=usual_calls(fleet))
    return with_findings(fleet, changed.values())


def with_restored_suspicions(fleet: Fleet) -> Fleet:
    """Return the fleet, with the open findings of an earlier room tied to their signs again."""
    suspicions: dict[_Place, dict[str, Suspicion]] = {}
    for finding in fleet.findings:
        if finding.closed_at is not None or not finding.sign:
            continue
        scope, _, key = finding.sign.partition(":")
        for known in ("task", "process", "machine", "fleet"):
            if scope == known:
                place = (finding.kind, known, _subject_of(finding, known))
                suspicions.setdefault(place, {})[key] = Suspicion(
                    last_reading=0.0, finding=finding.id, start=finding.start
                )
    return _with_suspicions(fleet, suspicions)


_NOTHING: Mapping[str, Suspicion] = {}


class _Judged:
    """Judges the signs of one kind at one subject.

    Attributes:
        findings: Those that opened, changed or closed.
        signs: How many signs were seen.
        quiet_for: Seconds for which nothing else can be found, as long as nothing changes.
    """

    def __init__(self, fleet: Fleet, kind: Kind, scope: Scope, at: float) -> None:
        self._fleet = fleet
        self._kind = kind
        self._scope: Scope = scope
        self._at = at
        self.findings: list[Finding] = []
        self.quiet_for = QUIET_S
        self.signs = 0

    def look(
        self, known: Mapping[str, Suspicion], subject: Subject | Task, scene: Scene
    ) -> Mapping[str, Suspicion]:
        """Return the suspicions after a look at a subject, in a scene without what is open."""
        if known:
            is_open = frozenset(key for key, each in known.items() if each.finding)
            scene = replace(scene, open=is_open)
        seen = _seen(self._kind, scene, self._scope, subject)
        if seen is None:
            return known
        self.quiet_for = seen.quiet_for
        self.signs = len(seen.found)
        return self.take(known, seen) if seen.found or known else known

    def take(self, known: Mapping[str, Suspicion], seen: Signs) -> Mapping[str, Suspicion]:
        """Return the suspicions after a reading."""
        now: dict[str, Suspicion] = {}
        for sign in seen.found:
            now[sign.key] = self._found(self._continued(known.get(sign.key), sign), sign)
        for key, before in known.items():
            if key not in now and (left := self._missed(before, seen)) is not None:
                now[key] = left
        return now

    def _continued(self, before: Suspicion | None, sign: Sign) -> Suspicion | None:
        """Return what was suspected, unless its sign began anew: then its finding is over."""
        if before is None or not _starts_anew(before, sign):
            return before
        if (finding := self._open(before)) is not None:
            self.findings.append(closed(finding, self._at))
        return None

    def _found(self, before: Suspicion | None, sign: Sign) -> Suspicion:
        if before is None:
            now = Suspicion(last_reading=sign.reading, start=sign.start)
        elif sign.severity is None and not before.finding and self._is_seen_enough(before):
            return before  # most signs never get worse: no new copy for each reading
        elif sign.reading > before.last_reading:
            readings = before.readings + 1
            now = with_fields(before, last_reading=sign.reading, readings=readings, misses=0)
        else:
            now = before
        finding = self._open(now)
        if any(standing(self._fleet, kind, sign.model) for kind in sign.covered_by):
            if finding is not None:
                self.findings.append(closed(finding, self._at))
            return replace(now, finding="")
        if finding is None and (sign.severity is None or not self._is_seen_enough(now)):
            if sign.severity is not None:
                self.quiet_for = 0.0  # the next reading may open it
            return replace(now, finding="") if now.finding else now
        if finding is None and self._is_pushed_out(now, sign):
            return now
        changed = self._opened(sign) if finding is None else self._renewed(finding, sign)
        if changed is not finding:
            self.findings.append(changed)
        return now if now.finding == changed.id else replace(now, finding=changed.id)

    def _is_pushed_out(self, suspicion: Suspicion, sign: Sign) -> bool:
        """Whether the list has no room for the finding of a sign: it does not open time and again.

        It opens again once there is room, or once it is worse than what has the room.
        """
        if not suspicion.finding or with_id(self._fleet, suspicion.finding) is not None:
            return False
        return not has_room(self._fleet, sign.machine, sign.severity or "notice")

    def _is_seen_enough(self, suspicion: Suspicion) -> bool:
        return suspicion.readings >= self._kind.readings

    def _missed(self, before: Suspicion, seen: Signs) -> Suspicion | None:
        """Return the suspicion after a reading without its sign; None: it is over."""
        if seen.reading <= before.last_reading and not seen.is_final:
            return before
        finding = self._open(before)
        if finding is None:
            return None
        misses = before.misses + 1
        if misses < self._kind.misses and not seen.is_final:
            return replace(before, misses=misses, last_reading=seen.reading)
        self.findings.append(closed(finding, self._at))
        return None

    def _open(self, suspicion: Suspicion) -> Finding | None:
        finding = with_id(self._fleet, suspicion.finding) if suspicion.finding else None
        return finding if finding is not None and finding.is_open else None

    def _opened(self, sign: Sign) -> Finding:
        about = sign.task or sign.process or sign.machine or ""
        identity = f"{self._kind.name}:{about}:{sign.key}"
        return _with_words(
            Finding(
                id=occurrence_id(identity, self._at if sign.start is None else sign.start),
                kind=self._kind.name,
                severity=sign.severity or "notice",
                opened_at=self._at,
                text=sign.text,
                sign=f"{self._scope}:{sign.key}",
                machine=sign.machine,
                process=sign.process,
                task=sign.task,
                model=sign.model,
                run=sign.run,
                began_at=sign.since,
                start=sign.start,
            ),
            sign,
        )

    def _renewed(self, finding: Finding, sign: Sign) -> Finding:
        """Return the open finding with what its sign says now; the same one if it says no more."""
        severity = finding.severity
        if sign.severity is not None:
            severity = worse(severity, sign.severity)
        now = _with_words(replace(finding, severity=severity), sign)
        if now == finding:
            return finding
        return replace(now, changed_at=self._at)


def _starts_anew(before: Suspicion, sign: Sign) -> bool:
    """Whether a sign shows something that began after what was suspected."""
    if before.start is None or sign.start is None:
        return False
    return sign.start - before.start > SAME_START_S


def _with_words(finding: Finding, sign: Sign) -> Finding:
    return replace(
        finding,
        text=sign.text,
        cause=sign.cause,
        proposals=sign.proposals,
        closes_when=sign.closes_when,
        count=sign.count,
        sample=sign.sample,
    )


@cache
def _kinds_on(scope: Scope, *, by_row: bool = False) -> tuple[Kind, ...]:
    """Return the kinds on a scope; `by_row`: without those that look at samples alone."""
    kinds = (each for each in all_kinds() if getattr(each, f"of_{scope}") is not None)
    return tuple(each for each in kinds if not (by_row and each.by_samples))


def _is_row_alone(event: Event, task: Task | None) -> bool:
    """Whether an event read the row of a running task, and none of its samples."""
    return isinstance(event, TasksSeen) and task is not None and task.state is TaskState.RUNNING


def _seen(kind: Kind, scene: Scene, scope: Scope, subject: Subject | Task) -> Signs | None:
    """Return what a kind sees at a subject; None: it can't tell, or the subject is not known."""
    fleet = scene.fleet
    if scope == "fleet":
        return kind.of_fleet(scene) if kind.of_fleet is not None else None
    if isinstance(subject, Task):
        return kind.of_task(scene, subject) if kind.of_task is not None else None
    if isinstance(subject, ProcessKey):
        process = fleet.processes.get(subject)
        return kind.of_process(scene, process) if process is not None and kind.of_process else None
    if isinstance(subject, TaskKey) or subject is None:
        return None
    machine = fleet.machines.get(subject)
    return kind.of_machine(scene, machine) if machine is not None and kind.of_machine else None


def _subjects(fleet: Fleet, event: Event) -> Iterator[tuple[Scope, Subject]]:
    """Yield what may show other signs after an event than before; the fleet comes first."""
    if _is_fleet_due(fleet, event):
        yield "fleet", None
    match event:
        case SamplesSeen() | LogRead() | LogUnreadable():
            yield "task", event.task
        case ReadsUnchanged():
            yield from _of_unchanged(fleet, event)
        case (
            TasksSeen()
            | ProcessSeen()
            | ProcessGone()
            | ReadFailed()
            | OperationsSeen()
            | DeadEvalFound()
        ):
            yield "process", event.process
            for task in _tasks_of(fleet, event.process):
                yield "task", task
        case MachineRead() | LinkChanged():
            yield "machine", event.machine
        case TimePassed():
            for name in fleet.machines:
                yield "machine", name
        case _:
            pass


def _is_fleet_due(fleet: Fleet, event: Event) -> bool:
    """Whether the fleet as a whole is judged now; also after the desk's clock was set back."""
    return not 0 <= event.at - fleet.judged_at < FLEET_INTERVAL_S


def _of_unchanged(fleet: Fleet, event: ReadsUnchanged) -> Iterator[tuple[Scope, Subject]]:
    """Yield what may show other signs because time went by."""
    due = fleet.quiet_until
    tasks = dict.fromkeys(key for key, _ in event.samples)
    for process, _ in event.tasks:
        if event.at >= due.get(process, 0.0):
            yield "process", process
        tasks.update(dict.fromkeys(_tasks_of(fleet, process)))
    for task in tasks:
        if event.at >= due.get(task, 0.0):
            yield "task", task


def _tasks_of(fleet: Fleet, key: ProcessKey) -> tuple[TaskKey, ...]:
    process = fleet.processes.get(key)
    return process.tasks if process is not None else ()


def _subject_of(finding: Finding, scope: Scope) -> Subject:
    match scope:
        case "task":
            return finding.task
        case "process":
            return finding.process
        case "machine":
            return finding.machine
        case "fleet":
            return None


def _with_quiet(fleet: Fleet, quiet: Mapping[Subject, float]) -> Fleet:
    if not quiet:
        return fleet
    return with_fields(fleet, quiet_until=with_items(fleet.quiet_until, quiet))


def _with_suspicions(fleet: Fleet, changed: Mapping[_Place, Mapping[str, Suspicion]]) -> Fleet:
    if not changed:
        return fleet
    kept = {place: each for place, each in changed.items() if each}
    suspicions = with_items(fleet.suspicions, kept)
    empty = [place for place in changed if place not in kept and place in suspicions]
    return with_fields(fleet, suspicions=without(suspicions, empty) if empty else suspicions)


def _pruned(fleet: Fleet) -> Fleet:
    """Return the fleet without the suspicions of tasks and processes that left it."""
    lost = [place for place in thawed(fleet.suspicions) if not _is_known(fleet, place[2])]
    over = [subject for subject in thawed(fleet.quiet_until) if not _is_known(fleet, subject)]
    if not (lost or over):
        return fleet
    return with_fields(
        fleet,
        suspicions=without(fleet.suspicions, lost),
        quiet_until=without(fleet.quiet_until, over),
    )


def _is_known(fleet: Fleet, subject: Subject) -> bool:
    if isinstance(subject, TaskKey):
        return subject in fleet.tasks
    if isinstance(subject, ProcessKey):
        return subject in fleet.processes
    return subject is None or subject in fleet.machines
