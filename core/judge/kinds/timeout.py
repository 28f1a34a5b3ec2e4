"""A timeout that is too tight: it ends model calls that would have had an answer, again and again.

Calls that end within a moment of the timeout, one after the other, are its doing.
"""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.judge.knob_values import knob_of
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import short_time
from core.model.action import Change
from core.model.finding import Proposal
from core.model.task import Task

_CALLS = JudgeRule(
    kind="timeout", name="calls", default=5, unit="calls",
    help="How many of the newest 20 calls must have ended at the timeout.",
)  # fmt: skip

NEWEST_CALLS = 20
"""Calls that are looked at."""
KNOBS = ("attempt_timeout", "timeout")
"""Knobs that end a model call: one attempt of it, or all of them together."""
_EARLY = 0.97
_LATE = 1.05
_LATE_S = 1.0


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if task.samples_as_of is None or not scene.fleet.is_up(task.key.machine):
        return None
    calls, needed = task.calls.get("model", ()), scene.rules.number(_CALLS)
    if len(calls) < needed or not task.row.http_retries:
        return signs(task.samples_as_of)
    newest = calls[-NEWEST_CALLS:]
    for knob in KNOBS:
        limit = knob_of(scene.fleet, task, knob, of_process=True)
        at_it = [each for each in newest if limit and _is_at(each, limit)]
        bound = needed / 2 if knob in scene.open else needed
        if limit and at_it and len(at_it) >= bound:
            return signs(task.samples_as_of, [_sign(task, knob, limit, len(at_it), len(newest))])
    return signs(task.samples_as_of)


def _is_at(seconds: float, limit: int) -> bool:
    return limit * _EARLY <= seconds <= limit * _LATE + _LATE_S


def _sign(task: Task, knob: str, limit: int, number: int, of: int) -> Sign:
    name = knob.replace("_", " ")
    longer = Change(knob, limit * 2)
    return Sign(
        key=knob,
        severity="suspect",
        reading=task.samples_as_of or 0.0,
        text=sentences(
            f"{number} of the newest {of} model calls ended at the {name} of {short_time(limit)}"
            " and were retried",
            f"Raise it: {knob} = {limit * 2}",
        ),
        cause=f"the {name} is shorter than the model needs",
        proposals=(Proposal(action="config", scope="task", changes=(longer,)),),
        closes_when="calls end before the timeout again, or the timeout is raised",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        model=task.row.model,
        count=number,
    )


KIND = Kind(
    name="timeout",
    help="A timeout ends model calls that are then retried: it is too tight.",
    numbers=(_CALLS,),
    by_samples=True,
    of_task=_signs,
)
