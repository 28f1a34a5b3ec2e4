"""Turns signs into findings: what lasts over several readings opens one, what is gone closes it.

Pure. A finding opens after corroboration (`Kind.readings`), worsens, and closes after readings
without its sign (`Kind.misses`). It never eases while it is open, so that nothing flaps.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from core.config.judge import JudgeConfig
from core.events import (
    Event,
    TasksSeen,
    TimePassed,
)
from core.fleet import Fleet
from core.fold.immutable import thawed, with_fields, with_items, without
from core.ids import ProcessKey, TaskKey
from core.judge.finding_list import closed, has_room, with_findings, with_id
from core.judge.judged_subjects import Scope, is_fleet_due, stopped_at, subjects
from core.judge.kinds import all_kinds
from core.judge.sign import QUIET_S, Kind, Scene, Sign, Signs
from core.judge.standing import standing
from core.judge.usual_calls import usual_calls
from core.model.finding import SAME_START_S, Finding, occurrence_id, worse
from core.model.suspicion import Subject, Suspicion
from core.model.task import Task, TaskState

MAX_WORK = 10_000
"""Samples that are looked at for one event; a process may have more, in thousands of tasks. The
next event of that process goes on where this one stopped."""
KIND_WORK = 10
"""As so many samples counts each kind that looks at a task."""
SIGN_WORK = 50
"""As so many samples counts each sign that is found."""

_Place = tuple[str, str, Subject]


def judge_signs(fleet: Fleet, event: Event, rules: JudgeConfig) -> Fleet:
    """Return the fleet with the findings that the signs at the event's subjects open and close."""
    scene = Scene(fleet=fleet, rules=rules, at=event.at)
    is_due = is_fleet_due(fleet, event)
    if is_due:
        scene = _with_fleet_judged(scene)  # others ask for what is found: it is known at once
    fleet = _with_subjects_judged(scene, event)
    if isinstance(event, TimePassed):
        fleet = _pruned(fleet)
    if is_due:
        fleet = with_fields(fleet, judged_at=event.at, usual_calls=usual_calls(fleet))
    return fleet


def _with_fleet_judged(scene: Scene) -> Scene:
    for kind in _kinds_on("fleet"):
        fleet, place = scene.fleet, (kind.name, "fleet", None)
        known = fleet.suspicions.get(place, _NOTHING)
        seen = _seen(kind, _with_open(scene, known), "fleet", None)
        if seen is None or not (seen.found or known):
            continue
        judged = _Judged(fleet, kind, "fleet", scene.at)
        now = judged.take(known, seen)
        fleet = _with_suspicions(fleet, {place: now}) if now is not known else fleet
        scene = replace(scene, fleet=with_findings(fleet, judged.findings))
    return scene


def _with_subjects_judged(scene: Scene, event: Event) -> Fleet:
    fleet, work = scene.fleet, 0
    changed: dict[str, Finding] = {}
    suspicions: dict[_Place, Mapping[str, Suspicion]] = {}
    quiet: dict[Subject, float] = {}
    judged_to = fleet.judged_to
    for scope, named in subjects(fleet, event):
        if work > MAX_WORK:
            judged_to = stopped_at(fleet, event, named)
            break
        task = fleet.tasks.get(named) if isinstance(named, TaskKey) else None
        subject = named if task is None else task.key  # the key of the mappings: found at once
        by_row = _is_row_alone(event, task)
        kinds = _kinds_on(scope, by_row=by_row)
        work += len(task.samples) + KIND_WORK * len(kinds) if task is not None else 0
        quiet_for = QUIET_S
        for kind in kinds:
            place = (kind.name, scope, subject)
            known = fleet.suspicions.get(place, _NOTHING)
            seen = _seen(kind, _with_open(scene, known), scope, task or subject)
            if seen is None or not (seen.found or known):  # as almost always
                quiet_for = min(quiet_for, QUIET_S if seen is None else seen.quiet_for)
                continue
            judged = _Judged(fleet, kind, scope, scene.at)
            now = judged.take(known, seen)
            work += SIGN_WORK * len(seen.found)
            quiet_for = min(quiet_for, judged.quiet_for)
            if now is not known:
                suspicions[place] = now
            changed.update({each.id: each for each in judged.findings})
        if scope in {"task", "process"} and not by_row:
            quiet[subject] = scene.at + quiet_for
    if suspicions or quiet or judged_to is not fleet.judged_to:
        fleet = with_fields(
            fleet,
            suspicions=_changed_suspicions(fleet, suspicions),
            quiet_until=with_items(fleet.quiet_until, quiet) if quiet else fleet.quiet_until,
            judged_to=judged_to,
        )
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
        quiet_for: Seconds for which nothing else can be found, as long as nothing changes.
    """

    def __init__(self, fleet: Fleet, kind: Kind, scope: Scope, at: float) -> None:
        self._fleet = fleet
        self._kind = kind
        self._scope: Scope = scope
        self._at = at
        self.findings: list[Finding] = []
        self.quiet_for = QUIET_S

    def take(self, known: Mapping[str, Suspicion], seen: Signs) -> Mapping[str, Suspicion]:
        """Return the suspicions after a reading; the same object if they are the same."""
        self.quiet_for = seen.quiet_for
        now: dict[str, Suspicion] = {}
        for sign in seen.found:
            now[sign.key] = self._found(self._continued(known.get(sign.key), sign), sign)
        for key, before in known.items():
            if key not in now and (left := self._missed(before, seen)) is not None:
                now[key] = left
        return known if now == known else now

    def _continued(self, before: Suspicion | None, sign: Sign) -> Suspicion | None:
        """Return what was suspected, unless its sign began anew: then its finding is over."""
        if before is None or not _starts_anew(before, sign):
            return before
        if (finding := self._open(before)) is not None:
            self.findings.append(closed(finding, self._at))
        return None

    def _found(self, before: Suspicion | None, sign: Sign) -> Suspicion:
        is_calm = sign.severity is None
        if is_calm and before and not before.finding and self._is_seen_enough(before):
            return before  # most signs never get worse: no new copy for each reading
        now = _read_again(before, sign)
        if is_calm and not now.finding:
            return now
        finding = self._open(now)
        if any(standing(self._fleet, kind, sign.model) for kind in sign.covered_by):
            if finding is not None:
                self.findings.append(closed(finding, self._at))
            return replace(now, finding="") if now.finding else now
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


def _read_again(before: Suspicion | None, sign: Sign) -> Suspicion:
    """Return the suspicion with the reading of a sign."""
    if before is None:
        return Suspicion(last_reading=sign.reading, start=sign.start)
    if sign.reading <= before.last_reading:
        return before
    readings = before.readings + 1
    return with_fields(before, last_reading=sign.reading, readings=readings, misses=0)


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


def _with_open(scene: Scene, known: Mapping[str, Suspicion]) -> Scene:
    """Return the scene with the keys of those suspicions that have a finding."""
    is_open = frozenset(key for key, each in known.items() if each.finding) if known else None
    return replace(scene, open=is_open) if is_open else scene


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


def _with_suspicions(fleet: Fleet, changed: Mapping[_Place, Mapping[str, Suspicion]]) -> Fleet:
    return with_fields(fleet, suspicions=_changed_suspicions(fleet, changed)) if changed else fleet


def _changed_suspicions(
    fleet: Fleet, changed: Mapping[_Place, Mapping[str, Suspicion]]
) -> Mapping[_Place, Mapping[str, Suspicion]]:
    if not changed:
        return fleet.suspicions
    kept = {place: each for place, each in changed.items() if each}
    suspicions = with_items(fleet.suspicions, kept)
    empty = [place for place in changed if place not in kept and place in suspicions]
    return without(suspicions, empty) if empty else suspicions


def _pruned(fleet: Fleet) -> Fleet:
    """Return the fleet without the suspicions of tasks and processes that left it."""
    lost = [place for place in thawed(fleet.suspicions) if not _is_known(fleet, place[2])]
    over = [subject for subject in thawed(fleet.quiet_until) if not _is_known(fleet, subject)]
    left = [key for key in thawed(fleet.judged_to) if not _is_known(fleet, key)]
    if not (lost or over or left):
        return fleet
    return with_fields(
        fleet,
        suspicions=without(fleet.suspicions, lost),
        quiet_until=without(fleet.quiet_until, over),
        judged_to=without(fleet.judged_to, left),
    )


def _is_known(fleet: Fleet, subject: Subject) -> bool:
    if isinstance(subject, TaskKey):
        return subject in fleet.tasks
    if isinstance(subject, ProcessKey):
        return subject in fleet.processes
    return subject is None or subject in fleet.machines
