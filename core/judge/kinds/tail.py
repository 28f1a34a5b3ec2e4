"""The tail: nearly all samples of a task are done, and the last ones do not end."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.ids import SampleKey
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.told_already import all_stall
from core.judge.words import CANCEL_AND_SCORE, CANCEL_SAMPLE, last_step, sample_name, short_time
from core.model.sample import SampleStatus
from core.model.task import Task, TaskState

_DONE = JudgeRule(
    kind="tail", name="done", default=90, unit="percent", high=100,
    help="Part of the samples that must have ended.",
)  # fmt: skip
_TIMES = JudgeRule(
    kind="tail", name="times", default=3, unit="times",
    help="Times the median duration in which no sample ended.",
)  # fmt: skip
_LEAST = JudgeRule(
    kind="tail", name="least", default=300, unit="seconds",
    help="A shorter time without an end is not a tail, however short the samples are.",
)  # fmt: skip

ENOUGH_SAMPLES = 5
"""Finished samples that tell how long such samples usually take."""
NOTED_FROM = 0.5
"""Part of the time from which a reading counts as one of those that must agree."""


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if task.samples_as_of is None or not scene.fleet.is_up(task.key.machine):
        return None
    sign = _sign(scene, task, task.samples_as_of) if _is_near_end(scene, task) else None
    return signs(task.samples_as_of, [sign] if sign is not None else [])


def _is_near_end(scene: Scene, task: Task) -> bool:
    counts, row = task.row.samples, task.row
    if task.state is not TaskState.RUNNING or not counts.in_flight or row.paused:
        return False
    is_held = row.paused_now or row.process_paused_now
    share = scene.rules.number(_DONE) / 100
    return not is_held and counts.total > 0 and counts.ended > share * counts.total


def _sign(scene: Scene, task: Task, as_of: float) -> Sign | None:
    usual = task.usual
    running = [row for row in task.samples.values() if row.status == SampleStatus.RUNNING]
    if usual.count < ENOUGH_SAMPLES or not usual.last_end or not running:
        return None
    if all_stall(scene.fleet, task, running):
        return None  # each of them has a finding that says why
    times = scene.rules.number(_TIMES)
    bound = max(scene.rules.number(_LEAST), times * usual.median_s)
    oldest = min(running, key=lambda row: as_of if row.started_at is None else row.started_at)
    age = as_of - (as_of if oldest.started_at is None else oldest.started_at)
    lasted = min(age, as_of - usual.last_end)
    if lasted < bound * NOTED_FROM:
        return None
    sample = SampleKey(task.key, oldest.sample_id, oldest.epoch)
    counts = task.row.samples
    lasts = short_time(last_step(lasted, bound))
    still = "still runs" if len(running) == 1 else f"is the oldest of {len(running)} that still run"
    text = (
        f"{counts.ended} of {plural(counts.total, 'sample')} have ended, but none for over {lasts};"
        f" half of them took {short_time(usual.median_s)} at most; {sample_name(sample)} {still}"
    )
    return Sign(
        severity="suspect" if lasted >= bound else None,
        reading=as_of,
        text=sentences(text, "See what it does, or cancel and score it"),
        since=round(scene.at - lasted),
        proposals=(CANCEL_AND_SCORE, CANCEL_SAMPLE),
        closes_when="a sample ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=sample,
        model=task.row.model,
        covered_by=("outage",),
        count=len(running),
    )


KIND = Kind(
    name="tail",
    help="Nearly all samples of a task are done, and the last ones do not end.",
    numbers=(_DONE, _TIMES, _LEAST),
    misses=1,
    by_samples=True,
    of_task=_signs,
)
