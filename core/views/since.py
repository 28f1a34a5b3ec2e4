"""What changed since the operator looked: run by run, in order."""

from collections.abc import Iterator
from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.format import plural
from core.ids import TaskKey
from core.model.finding import Finding
from core.model.task import Task
from core.text import Shown, shown
from core.views.cells import Span, TextLine, Tone
from core.views.findings.changes import FindingChange, finding_changes
from core.views.look import Look, SeenTask
from core.views.tables.findings import TONES

_MAX_NAME_CHARACTERS = 60
_MAX_TEXT_CHARACTERS = 300
_MAX_OF_ONE = 12
"""Lines about one task or machine; the newest are kept."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What happened at one time, Unix seconds at the desk; None: some time between."""

    at: float | None
    text: str
    tone: Tone = "plain"


def since_lines(before: Look, now: Fleet) -> tuple[TextLine, ...]:
    """Return what changed in a fleet since a look at it, as lines; empty: nothing did.

    Each task comes with what happened to it in order of time: its progress, errors, findings that
    opened, worsened and closed, milestones, and how it ended. Tasks come in the order of what
    happened first, then machines. Of a look that was cut, a task that it lacks is left out.
    """
    groups: dict[str, list[_Moment]] = {}
    for change in finding_changes(before.findings, now.findings):
        if change.finding.acknowledged_at is None and not change.finding.is_muted(now.at):
            groups.setdefault(_name(now, change.finding), []).append(_of_finding(change))
    seen = before.by_task
    for key, task in now.tasks.items():
        if before.is_cut and key not in seen:
            continue
        moments = list(_of_task(seen.get(key), task))
        if moments:
            groups.setdefault(_task_name(now, key), []).extend(moments)
    lines: list[TextLine] = []
    for name, moments in sorted(groups.items(), key=lambda each: _first(each[1])):
        if lines:
            lines.append(())
        lines.append((Span(shown(name, _MAX_NAME_CHARACTERS * 2), "key"),))
        moments.sort(key=lambda each: each.at or 0.0)
        left_out = len(moments) - _MAX_OF_ONE
        if left_out > 0:
            lines.append((Span(Shown(f"       {left_out} more before"), "dim"),))
        for moment in moments[-_MAX_OF_ONE:]:
            clock = "     " if moment.at is None else fmt.clock(moment.at)
            text = Span(shown(moment.text, _MAX_TEXT_CHARACTERS), moment.tone)
            lines.append((Span(Shown(f"{clock}  "), "dim"), text))
    return tuple(lines)


def _first(moments: list[_Moment]) -> float:
    return min((each.at for each in moments if each.at is not None), default=float("inf"))


def _name(fleet: Fleet, finding: Finding) -> str:
    if finding.task is not None:
        return _task_name(fleet, finding.task)
    return str(finding.machine or finding.model or "evalroom")


def _task_name(fleet: Fleet, key: TaskKey) -> str:
    task = fleet.tasks.get(key)
    name = task.row.task if task is not None else key.task_id
    return f"{key.machine} {shown(name, _MAX_NAME_CHARACTERS)} ({key.process.pid})"


def _of_finding(change: FindingChange) -> _Moment:
    finding = change.finding
    kind = finding.kind
    if finding.sample is not None:
        kind = f"{kind} of sample {finding.sample.sample_id}/{finding.sample.epoch}"
    if change.word == "closed":
        return _Moment(finding.closed_at, f"closed: {kind}: {finding.text}", "dim")
    if finding.is_milestone:
        tone: Tone = "good" if finding.severity == "notice" else TONES[finding.severity]
        return _Moment(finding.opened_at, finding.text, tone)
    at = finding.changed_at if change.word == "worsened" else finding.opened_at
    words = f"{change.word}: {finding.severity} {kind}: {finding.text}"
    return _Moment(at, words, TONES[finding.severity])


def _of_task(before: SeenTask | None, now: Task) -> Iterator[_Moment]:
    """Yield how its counts and its state changed."""
    counts = now.progress
    if before is None:
        yield _Moment(None, f"is new: {counts.completed} of {counts.total} done")
    elif counts.completed > before.completed:
        more = counts.completed - before.completed
        done = f"{plural(more, 'more sample')} done, now {counts.completed} of {counts.total}"
        yield _Moment(None, done)
    errored = counts.errored - (before.errored if before is not None else 0)
    if errored > 0:
        yield _Moment(None, f"{plural(errored, 'more sample')} errored", "error")
    if before is not None and now.state is not before.state and now.is_over:
        yield _Moment(now.ended_at, f"is over: {now.state}")
