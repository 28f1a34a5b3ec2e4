"""Errors: the errored samples of a running task, and causes that several tasks share.

Causes are those of `Task.errors`: an error's type and message without the numbers, ids and quoted
texts that differ. The text itself may be the agent's, and is shown only on request.
"""

from collections import defaultdict

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import percent, plural
from core.ids import SampleKey
from core.judge.docker_words import trouble_in
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import key_of, sample_name
from core.model.finding import Proposal, Severity
from core.model.sample import Sample, SampleId, SampleStatus
from core.model.task import Task, TaskState
from core.text import shown

_SHARE = JudgeRule(
    kind="errors", name="share", default=10, unit="percent", high=100,
    help="Part of a task's samples from which errors are an alarm.",
)  # fmt: skip
_RECENT = JudgeRule(
    kind="errors", name="recent", default=50, unit="percent", high=100,
    help="Part of the samples that ended in the last 10 minutes from which errors are an alarm.",
)  # fmt: skip
_SHARED_FOR = JudgeRule(
    kind="errors", name="shared_for", default=3_600, unit="seconds",
    help="For how long a cause that several tasks share is a finding after the last of them ended.",
)  # fmt: skip

RECENT_S = 600.0
"""The time of the rate of errors, seconds."""
ENOUGH_RECENT = 5
"""Samples that must have ended in that time for a rate."""
WIDE_SHARE = 0.5
"""Part of the ended samples from which errors are of the task and not of its inputs."""
MAX_CAUSES = 5
"""Shared causes that are findings at the same time; the most frequent ones."""

MAX_NAMED_CAUSES = 3
"""Causes that the finding of a running task names; the others are counted."""

_MAX_CAUSE_CHARACTERS = 100
_PAUSE = Proposal(action="pause", scope="task")
_REQUEUE = Proposal(action="requeue", scope="sample")


def _of_task(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    counts = task.row.samples
    if not counts.errored or task.state is not TaskState.RUNNING:
        return signs(task.heard_at)
    share = counts.errored / counts.total if counts.total > 0 else 1.0
    recent = _recent(task)
    is_recent = recent is not None and recent >= scene.rules.number(_RECENT) / 100
    is_alarm = share >= scene.rules.number(_SHARE) / 100 or is_recent
    part = "under 1%" if 0 < share < 0.01 else percent(share)  # noqa: PLR2004
    text = f"{counts.errored} of {plural(counts.total, 'sample')} errored ({part})"
    if is_recent:
        text += f", most of those that ended in the last {RECENT_S / 60:.0f}m"
    errored = [row for row in task.samples.values() if row.status == SampleStatus.ERROR]
    is_wide = counts.errored > 1 and counts.errored >= WIDE_SHARE * counts.ended
    only = errored[0] if len(errored) == counts.errored == 1 else None
    sign = Sign(
        key=key_of(task.row.eval_id),
        severity="alarm" if is_alarm else "suspect",
        reading=task.heard_at,
        text=sentences(text, "Pause the task, and look at one of them") if is_wide else text,
        cause=_cause(task, errored, is_wide=is_wide),
        proposals=_proposals(is_wide, only),
        closes_when="no sample is errored any more, or the task ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=SampleKey(task.key, only.sample_id, only.epoch) if only is not None else None,
        model=task.row.model,
        count=counts.errored,
    )
    return signs(task.heard_at, [sign])


def _cause(task: Task, errored: list[Sample], *, is_wide: bool) -> str:
    """Return the likely cause: of what the errors are, and which they are as far as was read."""
    of = "the task or its model: most of what ended" if is_wide else _inputs(task, errored)
    return "; ".join(each for each in (of, _most_frequent(task)) if each)


def _most_frequent(task: Task) -> str:
    """Return the most frequent causes of a task's errors, with their counts; empty: unknown."""
    groups = task.errors
    if not groups:
        return ""
    if len(groups) == 1:
        return shown(groups[0].cause, _MAX_CAUSE_CHARACTERS)
    named = [
        f"{group.count} x {shown(group.cause, _MAX_CAUSE_CHARACTERS)}"
        for group in groups[:MAX_NAMED_CAUSES]
    ]
    more = len(groups) - len(named)
    return ", ".join(named) + (f", and {plural(more, 'other cause')}" if more else "")


def _proposals(is_wide: bool, only: Sample | None) -> tuple[Proposal, ...]:
    if is_wide:
        return (_PAUSE,)
    return (_REQUEUE,) if only is not None else ()


def _recent(task: Task) -> float | None:
    """Return the part of the samples that errored of those that ended lately; None: too few."""
    trail = task.trail
    if not trail:
        return None
    base = trail[-1]
    for point in reversed(trail):
        base = point
        if trail[-1].at - point.at >= RECENT_S:
            break
    ended = trail[-1].done - base.done
    return (trail[-1].errored - base.errored) / ended if ended >= ENOUGH_RECENT else None


def _inputs(task: Task, errored: list[Sample]) -> str:
    """Return that the errors are of certain inputs, if all epochs of these errored; else empty."""
    if (task.row.epochs or 1) < 2:  # noqa: PLR2004 - one epoch tells nothing
        return ""
    epochs: dict[str | int, list[SampleId]] = defaultdict(list)
    for row in errored:
        epochs[row.sample_id].append((row.sample_id, row.epoch))
    passed = {row.sample_id for row in task.samples.values() if row.status == "completed"}
    bad = [name for name, each in epochs.items() if len(each) > 1 and name not in passed]
    if not bad or sum(len(epochs[name]) for name in bad) < len(errored):
        return ""
    first = sample_name(SampleKey(task.key, *epochs[bad[0]][0])).rpartition("/")[0]
    if len(bad) == 1:
        return f"the input of {first}: all its epochs that ended errored"
    return f"{len(bad)} inputs, such as {first}: all their epochs that ended errored"


def _of_fleet(scene: Scene) -> Signs:
    oldest = scene.at - scene.rules.number(_SHARED_FOR)
    tasks: dict[str, list[tuple[Task, int]]] = {}
    for task in scene.fleet.tasks.values():
        if not task.errors or (task.ended_at is not None and task.ended_at < oldest):
            continue
        for group in task.errors:
            if trouble_in(group.cause):
                continue  # trouble with sandboxes is told with its remedy
            tasks.setdefault(group.cause, []).append((task, group.count))
    shared = {cause: each for cause, each in tasks.items() if len(each) > 1}
    most = sorted(shared, key=lambda cause: -sum(number for _, number in shared[cause]))
    found = [_shared(scene, cause, shared[cause]) for cause in most[:MAX_CAUSES]]
    return signs(scene.at, found)


def _shared(scene: Scene, cause: str, of: list[tuple[Task, int]]) -> Sign:
    machines = {task.key.machine for task, _ in of}
    models = {task.row.model for task, _ in of}
    number = sum(each for _, each in of)
    where = f"{len(of)} tasks"
    if len(machines) > 1:
        where += f" on {len(machines)} machines"
    what = shown(cause, _MAX_CAUSE_CHARACTERS)
    severity: Severity = "suspect"
    return Sign(
        key=key_of(cause),
        severity=severity,
        reading=max(task.ended_at or task.causes.heard_at or 0.0 for task, _ in of),
        text=f"{plural(number, 'sample')} of {where} errored for one cause: {what}",
        cause=what,
        closes_when=f"{scene.rules.number(_SHARED_FOR) / 60:.0f}m have passed since the last of"
        " these tasks ended",
        machine=next(iter(machines)) if len(machines) == 1 else None,
        model=next(iter(models)) if len(models) == 1 else "",
        count=number,
    )


KIND = Kind(
    name="errors",
    help="Samples of a task errored, or samples of several tasks errored for one cause.",
    numbers=(_SHARE, _RECENT, _SHARED_FOR),
    readings=1,
    misses=1,
    of_task=_of_task,
    of_fleet=_of_fleet,
)
