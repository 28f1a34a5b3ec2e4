"""A limit: samples that a pause holds near their time limit, because its clock keeps running."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.ids import SampleKey
from core.judge.knob_values import knob_of
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import sample_name, short_time
from core.model.action import Change
from core.model.finding import Proposal, Severity
from core.model.sample import SampleStatus
from core.model.task import Task, TaskState

_SUSPECT = JudgeRule(
    kind="limit", name="share.suspect", default=80, unit="percent", high=100,
    help="Part of its time limit from which a held sample is suspect.",
)  # fmt: skip
_ALARM = JudgeRule(
    kind="limit", name="share.alarm", default=95, unit="percent", high=100,
    help="Part of its time limit from which it is an alarm.",
)  # fmt: skip

NOTED_FROM = 0.9
"""Part of the share to suspect from which a reading counts as one of those that must agree."""


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if task.samples_as_of is None or not scene.fleet.is_up(task.key.machine):
        return None
    row = task.row
    held_by = "process" if row.process_paused_now else next(iter(row.paused_now), "")
    limit = _time_limit(scene, task) if held_by and task.state is TaskState.RUNNING else None
    if limit is None or limit <= 0:
        return signs(task.samples_as_of)
    sign = _sign(scene, task, limit, held_by)
    return signs(task.samples_as_of, [sign] if sign is not None else [])


def _time_limit(scene: Scene, task: Task) -> int | None:
    """Return the time limit of the task's samples, seconds; None: none, or not known."""
    limit = knob_of(scene.fleet, task, "time_limit", of_process=False)
    return limit or (task.header.time_limit if task.header is not None else None)


def _sign(scene: Scene, task: Task, limit: int, held_by: str) -> Sign | None:
    as_of = task.samples_as_of or 0.0
    suspect, alarm = (scene.rules.number(rule) / 100 for rule in (_SUSPECT, _ALARM))
    shares = sorted(
        (
            ((as_of - row.started_at) / limit, key)
            for key, row in task.samples.items()
            if row.status == SampleStatus.RUNNING and row.started_at is not None
        ),
        key=lambda each: each[0],
    )
    if not shares or shares[-1][0] < suspect * NOTED_FROM:
        return None
    share, key = shares[-1]
    near = sum(each >= suspect for each, _ in shares)
    sample = SampleKey(task.key, *key)
    part = alarm if share >= alarm else suspect
    text = (
        f"{plural(max(1, near), 'held sample has', 'held samples have')} used over {part:.0%} of"
        f" {short_time(limit)}, the time limit, which runs on while they are held; the first is"
        f" {sample_name(sample)}"
    )
    severity: Severity = "alarm" if share >= alarm else "suspect"
    return Sign(
        severity=severity if share >= suspect else None,
        reading=as_of,
        text=sentences(text, "Resume, or raise the time limit"),
        cause=f"a pause of the {held_by} holds them",
        proposals=_proposals(held_by, limit),
        closes_when="the held samples are resumed, or end",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=sample,
        model=task.row.model,
        count=max(1, near),
    )


def _proposals(held_by: str, limit: int) -> tuple[Proposal, ...]:
    longer = Change("time_limit", limit * 2)
    more_time = Proposal(action="config", scope="task", changes=(longer,))
    if held_by == "process":
        return (Proposal(action="resume", scope="process"), more_time)
    if held_by == "task":
        return (Proposal(action="resume", scope="task"), more_time)
    return (more_time,)


KIND = Kind(
    name="limit",
    help="A pause holds samples that have used most of their time limit.",
    numbers=(_SUSPECT, _ALARM),
    misses=1,
    by_samples=True,
    of_task=_signs,
)
