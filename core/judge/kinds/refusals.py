"""Refusals: the model refuses far more often than it did in this task before."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import last_step, name_of, short_time
from core.model.finding import Proposal
from core.model.task import ProgressPoint, Task

_WINDOW = JudgeRule(
    kind="refusals", name="window", default=600, unit="seconds", low=1,
    help="The time whose refusals are compared with all time before.",
)  # fmt: skip
_TIMES = JudgeRule(
    kind="refusals", name="times", default=3, unit="times",
    help="Times the task's own rate of refusals.",
)  # fmt: skip
_LEAST = JudgeRule(
    kind="refusals", name="least", default=5, unit="refusals",
    help="Fewer refusals in that time are not a spike.",
)  # fmt: skip

LASTS_FROM = 0.5
"""Part of both bounds above which an open finding stays open."""


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if not scene.fleet.is_up(task.key.machine):
        return None
    if not task.row.refusals:
        return signs(task.heard_at)
    window = scene.rules.number(_WINDOW)
    base = _before(task.trail, task.heard_at - window)
    if base is None or base.at - task.trail[0].at < window:
        return signs(task.heard_at)  # too little is known of the time before
    recent = (task.row.refusals or 0) - (base.refusals or 0)
    easier = LASTS_FROM if scene.open else 1.0
    usual = _usual(task, base, window)
    is_spike = recent >= scene.rules.number(_LEAST) * easier
    if not is_spike or recent < scene.rules.number(_TIMES) * usual * easier:
        return signs(task.heard_at)
    at_least = round(last_step(recent, min(5, recent)))
    text = (
        f"{name_of(task.row.model)} refused {plural(at_least, 'time')} or more in"
        f" {short_time(window)}; at this task's own rate it would have been about"
        f" {max(1, round(usual))}"
    )
    sign = Sign(
        severity="suspect",
        reading=task.heard_at,
        text=sentences(text, "Look at the samples that were refused; pause the task if all are"),
        cause="other inputs, another prompt, or a change at the provider",
        proposals=(Proposal(action="pause", scope="task"),),
        closes_when="the model refuses as rarely as before",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        model=task.row.model,
        count=recent,
    )
    return signs(task.heard_at, [sign])


def _before(trail: tuple[ProgressPoint, ...], at: float) -> ProgressPoint | None:
    """Return the newest point at or before a time; None: no point is so old."""
    return next((point for point in reversed(trail) if point.at <= at), None)


def _usual(task: Task, base: ProgressPoint, window: float) -> float:
    """Return how many refusals the work since `base` would have had at the rate before it.

    Work is counted in tokens where they are known, because a task that ramps does more in a
    minute than before; else in seconds.
    """
    first = task.trail[0]
    refused = max(0, (base.refusals or 0) - (first.refusals or 0))
    tokens = (first.tokens, base.tokens, task.row.total_tokens)
    if None not in tokens:
        one, two, three = (each or 0 for each in tokens)
        if two > one and three > two:
            return refused * (three - two) / (two - one)
    return refused * window / (base.at - first.at)


KIND = Kind(
    name="refusals",
    help="The model refuses far more often than it did in this task before.",
    numbers=(_WINDOW, _TIMES, _LEAST),
    of_task=_signs,
)
