"""Milestones of a task: notices that close when they open. `finished` tells its end."""

from collections.abc import Iterable

from core.fleet import Fleet
from core.format import percent, plural
from core.ids import SampleKey, TaskKey
from core.judge.finding_list import with_id
from core.judge.words import key_of, name_of, sample_name
from core.model.action import Verb
from core.model.finding import Finding
from core.model.sample import Sample, SampleStatus
from core.model.task import Task, TaskCounts

PARTS = (0.9, 0.75, 0.5, 0.25)
"""Parts of the samples that are a milestone, the largest first: near the end, three quarters ..."""
ENOUGH_SAMPLES = 10
"""A task of fewer samples has no parts."""


def judge_milestones(before: Fleet, after: Fleet, key: TaskKey, at: float) -> Iterable[Finding]:
    """Yield the milestones that a task has reached, the furthest one where it passed several."""
    task, known = after.tasks.get(key), before.tasks.get(key)
    if task is None or known is None or task.is_over or known.row.eval_id != task.row.eval_id:
        return
    if task.row is not known.row:
        reached = _reached(known.row.samples, task.row.samples)
        if reached:
            yield from _notice(after, task, at, reached)
        if task.row.quiesced and not known.row.quiesced:
            text = f"{name_of(task.row.task)} is paused with nothing in flight: it is safe to end"
            yield from _notice(after, task, at, (f"quiesced:{at:.0f}", text))
    if task.samples is not known.samples:
        yield from _requeued(after, known, task, at)


def _reached(before: TaskCounts, now: TaskCounts) -> tuple[str, str] | None:
    """Return the milestone between two counts: its name and its words; None: none, or the end."""
    if now.total < 2 or now.ended >= now.total:  # noqa: PLR2004 - a first and a last sample
        return None
    done = f"{now.ended} of {plural(now.total, 'sample')} have ended"
    if now.errored:
        done += f", {now.errored} of them errored"
    for part in PARTS if now.total >= ENOUGH_SAMPLES else ():
        if before.ended < part * now.total <= now.ended:
            near = "Near the end: " if part == PARTS[0] else f"{percent(part)}: "
            return f"{part:.2f}", f"{near}{done}"
    if not before.completed and now.completed:
        return "first", f"The first sample is done: {done}"
    return None


def _requeued(after: Fleet, known: Task, task: Task, at: float) -> Iterable[Finding]:
    """Yield the samples that passed after a requeue, whether this room ordered it or another."""
    ordered = {
        (order.target.sample_id, order.target.epoch)
        for order in after.orders
        if order.action.verb is Verb.REQUEUE
        and isinstance(order.target, SampleKey)
        and order.target.task == task.key
    }
    for sample in sorted(ordered | task.requeued, key=str):
        row = task.samples.get(sample)
        if _has_passed(row) and not _has_passed(known.samples.get(sample)):
            target = SampleKey(task.key, *sample)
            name = sample_name(target)
            text = f"{name[:1].upper()}{name[1:]} passed after its requeue"
            tries = row.retries if row is not None else None
            what = f"requeue:{key_of(f'{sample[0]}/{sample[1]}')}:{tries or 0}"
            yield from _notice(after, task, at, (what, text), target)


def _has_passed(row: Sample | None) -> bool:
    return row is not None and row.status == SampleStatus.COMPLETED and not row.has_error


def _notice(
    after: Fleet, task: Task, at: float, what: tuple[str, str], sample: SampleKey | None = None
) -> Iterable[Finding]:
    """Yield the notice of a milestone, its name and its words, unless it was told already."""
    name, text = what
    process = task.key.process
    attempt = f"{process.machine}:{process.pid}:{process.start}:{task.key.task_id}"
    identity = f"milestone:{attempt}:{task.row.eval_id}:{name}"
    if with_id(after, identity) is None:
        yield Finding(
            id=identity,
            kind="milestone",
            severity="notice",
            opened_at=at,
            closed_at=at,
            machine=process.machine,
            process=process,
            task=task.key,
            sample=sample,
            model=task.row.model,
            text=text,
        )
