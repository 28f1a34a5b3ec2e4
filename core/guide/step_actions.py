"""The actions of a guide's current step, and the targets that its plan leaves out."""

from dataclasses import replace

from core.act.plan import Plan, Step
from core.act.preconditions import pause_words
from core.act.refusals import Refusal
from core.act.target_expansion import ActionRequest
from core.errors import UsageWrong
from core.guide.context import GuideContext
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind
from core.guide.incident_status import paused_here, to_resume
from core.ids import Address, address_of, process_of
from core.model.action import Action, Verb

_ON_TARGETS: dict[StepKind, Action] = {
    StepKind.PAUSE: Action(verb=Verb.PAUSE),
    StepKind.INTERRUPT: Action(verb=Verb.INTERRUPT),
    StepKind.DRAIN: Action(verb=Verb.DRAIN),
    StepKind.SCORE: Action(verb=Verb.CANCEL, manner="score"),
    StepKind.CANCEL: Action(verb=Verb.CANCEL, manner="cancel"),
}
_NAMES = {
    GuideKind.INTERRUPT: "interrupt safely",
    GuideKind.INCIDENT: "provider incident",
    GuideKind.FINISH: "finish early",
    GuideKind.CLEANUP: "clean up",
}


def guide_label(kind: GuideKind) -> str:
    """Return the name of a kind of guide, for people."""
    return _NAMES[kind]


def title_of(guide: Guide, step: GuideStep) -> str:
    """Return the title of a step's plan."""
    return f"{guide_label(guide.kind).capitalize()}: {step.title} ({guide.name})"


def requests_of(guide: Guide, step: GuideStep, world: GuideContext) -> tuple[ActionRequest, ...]:
    """Return the actions of a step, each with its target.

    Raises:
        UsageWrong: There is nothing to send.
    """
    wishes = _wishes(guide, step, world)
    if not wishes:
        raise UsageWrong(f"nothing to send: {step.sentence or step.title}")
    return wishes


def _wishes(guide: Guide, step: GuideStep, world: GuideContext) -> tuple[ActionRequest, ...]:
    match step.kind:
        case StepKind.FLUSH:
            running = world.running(guide.process)
            return tuple((Action(verb=Verb.FLUSH), task.key) for task in running)
        case StepKind.RELEASE:
            if step.address is None:
                return ()
            return ((Action(verb=Verb.RELEASE), step.address.target),)
        case StepKind.RESUME:
            return tuple((each.back, each.target) for each in to_resume(guide, world))
        case _:
            action = _ON_TARGETS.get(step.kind)
            if action is None:
                return ()
            return tuple((replace(action, now=_is_now(guide, step)), at) for at in guide.places)


def _is_now(guide: Guide, step: GuideStep) -> bool:
    return guide.is_now and step.kind is StepKind.PAUSE


def fitted(guide: Guide, step: GuideStep, plan: Plan, world: GuideContext) -> Plan:
    """Return the plan of a step, with a refusal for each target that it must not touch."""
    match step.kind:
        case StepKind.RESUME:
            latches = {each.target: each.latch for each in paused_here(guide, world)}
            steps = tuple(_if_as_left(each, latches.get(each.target)) for each in plan.steps)
        case StepKind.INTERRUPT:
            steps = tuple(_if_quiet(each) for each in plan.steps)
        case _:
            return plan
    return replace(plan, steps=steps)


def _if_as_left(step: Step, latch: str | None) -> Step:
    now = step.basis.get("pause")
    if not step.is_sent or now == latch:
        return step
    why = f"someone changed this pause since: it is {pause_words(now)}. The guide leaves it as is"
    return replace(step, request=None, refusal=Refusal("no change", why))


def _if_quiet(step: Step) -> Step:
    if not step.is_sent or step.basis.get("quiesced") is True:
        return step
    why = "samples are in flight again and would be cut off. Wait until the process is quiesced"
    return replace(step, request=None, refusal=Refusal("refused", why))


def settled_by(plan: Plan, world: GuideContext) -> tuple[Address, ...]:
    """Return the targets that are still there and need no order, according to a plan."""
    return tuple(
        address_of(step.target)
        for step in plan.steps
        if step.refusal is not None
        and step.refusal.kind == "no change"
        and world.presence(process_of(step.target)) == "there"
    )
