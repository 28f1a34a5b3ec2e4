"""A loop: a sample takes far more turns or tokens than the finished samples of its task."""

from dataclasses import dataclass

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import count, plural
from core.ids import SampleKey
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import CANCEL_AND_SCORE, CANCEL_SAMPLE, last_step, sample_name
from core.model.sample import Sample, SampleStatus
from core.model.task import Task, TaskState

_TIMES = JudgeRule(
    kind="loop", name="times", default=3, unit="times",
    help="Times the p95 of the finished samples' turns or tokens.",
)  # fmt: skip
_SAMPLES = JudgeRule(
    kind="loop", name="samples", default=10, unit="samples",
    help="Finished samples that must be known.",
)  # fmt: skip

NOTED_FROM = 0.8
"""Part of the bound from which a reading counts as one of those that must agree."""
LEAST_TURNS = 10
"""Fewer turns than these are not a loop, however few the others took."""
LEAST_TOKENS = 20_000
"""The same for tokens."""


@dataclass(frozen=True, slots=True)
class _Excess:
    """How far a running sample is beyond a bound; 1 is at the bound.

    Attributes:
        sample: Its row.
        factor: Its value, divided by the bound.
        value, bound: In `unit`.
        unit: `turns` or `tokens`.
    """

    sample: Sample
    factor: float
    value: int
    bound: float
    unit: str


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if task.samples_as_of is None or not scene.fleet.is_up(task.key.machine):
        return None
    usual = task.usual
    if task.state is not TaskState.RUNNING or usual.count < scene.rules.number(_SAMPLES):
        return signs(task.samples_as_of)
    times = scene.rules.number(_TIMES)
    turns = max(LEAST_TURNS, times * usual.turns_p95) if usual.turns_p95 else 0
    tokens = max(LEAST_TOKENS, times * usual.tokens_p95) if usual.tokens_p95 else 0
    beyond = [
        excess
        for row in task.samples.values()
        if row.status == SampleStatus.RUNNING
        and (excess := _excess(row, turns, tokens)).factor >= NOTED_FROM
    ]
    found = [_sign(task, beyond, times)] if beyond else []
    return signs(task.samples_as_of, found)


def _excess(row: Sample, turns: float, tokens: float) -> _Excess:
    by_turns = (row.turn_count or 0) / turns if turns else 0.0
    by_tokens = (row.total_tokens or 0) / tokens if tokens else 0.0
    if by_turns >= by_tokens:
        return _Excess(row, by_turns, row.turn_count or 0, turns, "turns")
    return _Excess(row, by_tokens, row.total_tokens or 0, tokens, "tokens")


def _sign(task: Task, beyond: list[_Excess], times: float) -> Sign:
    worst = max(beyond, key=lambda each: each.factor)
    over = [each for each in beyond if each.factor > 1]
    sample = SampleKey(task.key, worst.sample.sample_id, worst.sample.epoch)
    taken = count(last_step(worst.value, worst.bound))
    name = sample_name(sample)
    usual = count(worst.bound / times) if times else count(worst.bound)
    text = (
        f"{name[:1].upper()}{name[1:]} has taken over {taken} {worst.unit}; 95% of the finished"
        f" samples took at most {usual}"
    )
    if len(over) > 1:
        text += f". {plural(len(over) - 1, 'other sample is', 'other samples are')} over it too"
    return Sign(
        severity="suspect" if over else None,
        reading=task.samples_as_of or 0.0,
        text=sentences(text, "Look at its last messages, and cancel it if it repeats itself"),
        cause="the agent repeats itself, or this input is far harder than the others",
        proposals=(CANCEL_AND_SCORE, CANCEL_SAMPLE),
        closes_when="the sample ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=sample,
        model=task.row.model,
        count=max(1, len(over)),
    )


KIND = Kind(
    name="loop",
    help="A sample takes far more turns or tokens than the finished samples of its task.",
    numbers=(_TIMES, _SAMPLES),
    misses=1,
    by_samples=True,
    of_task=_signs,
)
