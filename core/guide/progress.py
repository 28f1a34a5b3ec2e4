"""Advances a guide's steps from a snapshot of the fleet. Pure: it sends no order."""

from collections.abc import Callable
from dataclasses import replace

from core.guide import incident_status, step_status
from core.guide.context import GuideContext
from core.guide.guide import OVER, Guide, GuideKind, GuideStep, StepKind, StepState
from core.guide.leftover_removal import containers_status

StepReader = Callable[[Guide, GuideStep, GuideContext], GuideStep]

_RUN_STEPS: dict[StepKind, StepReader] = {
    StepKind.PAUSE: step_status.pause,
    StepKind.QUIESCE: step_status.quiesce,
    StepKind.FLUSH: step_status.flush,
    StepKind.INTERRUPT: step_status.interrupt,
    StepKind.END: step_status.end,
    StepKind.DRAIN: step_status.ending,
    StepKind.SCORE: step_status.ending,
    StepKind.CANCEL: step_status.ending,
    StepKind.RELEASE: step_status.release,
    StepKind.CONTAINERS: containers_status,
}
_INCIDENT_STEPS: dict[StepKind, StepReader] = {
    StepKind.PAUSE: incident_status.pause,
    StepKind.RESUME: incident_status.resume,
}
_NOT_REACHED = "not reached"


def advanced(guide: Guide, world: GuideContext) -> Guide:
    """Return the guide with its steps brought up to date; after a step is done, the next begins."""
    guide = _back_to_quiesce(guide, world)
    while (at := guide.current) is not None:
        step = guide.steps[at]
        if step.since is None:
            step = replace(step, since=world.now)
        known = _INCIDENT_STEPS if guide.kind is GuideKind.INCIDENT else _RUN_STEPS
        reader = known.get(step.kind)
        step = step if reader is None else reader(guide, step, world)
        guide = guide.with_step(at, step)
        if not step.is_over:
            return guide
        if step.state is StepState.STOPPED:
            return closed(guide, world.now)
    return guide if not guide.is_open else replace(guide, ended_at=world.now)


def closed(guide: Guide, now: float) -> Guide:
    """Return the guide ended; its open steps become skipped."""
    steps = tuple(
        step
        if step.state in OVER
        else replace(step, state=StepState.SKIPPED, sentence=_NOT_REACHED)
        for step in guide.steps
    )
    return replace(guide, steps=steps, ended_at=now)


def stopped(guide: Guide, now: float, why: str) -> Guide:
    """Return the guide stopped at its current step; orders already sent stay in effect."""
    at = guide.current
    if at is not None:
        step = replace(guide.steps[at], state=StepState.STOPPED, sentence=why)
        guide = guide.with_step(at, step)
    return closed(guide, now)


def skipped(guide: Guide, why: str) -> Guide:
    """Return the guide with its current step skipped."""
    at = guide.current
    if at is None:
        return guide
    step = replace(guide.steps[at], state=StepState.SKIPPED, sentence=why)
    return guide.with_step(at, step)


def _back_to_quiesce(guide: Guide, world: GuideContext) -> Guide:
    """Return the guide back at its quiesce step if someone resumed the process meanwhile."""
    step, at = guide.step, guide.current
    if step is None or at is None or step.kind not in {StepKind.FLUSH, StepKind.INTERRUPT}:
        return guide
    if world.own(step) or world.is_quiet(guide.process) or not world.running(guide.process):
        return guide
    before = next(i for i, each in enumerate(guide.steps) if each.kind is StepKind.QUIESCE)
    guide = guide.with_step(at, replace(step, since=None, state=StepState.WAITING, sentence=""))
    return guide.with_step(before, replace(guide.steps[before], state=StepState.RUNNING))
