"""The steps of an incident guide: which targets it paused, and which it still has to resume."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.act.target_expansion import with_model
from core.format import plural
from core.guide.context import GOOD, GuideContext
from core.guide.guide import Guide, GuideStep, StepKind
from core.guide.step_status import NO_ANSWER, done, running, waiting
from core.ids import ModelKey, Target, address_of, process_of
from core.model.action import Action
from core.model.order import Order, OrderState
from core.text import shown

_NAMED = 6
_ALL_PAUSED = "the model was already paused everywhere, so this guide has nothing to resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedHere:
    """A target that this guide paused.

    Attributes:
        target: The target.
        back: The action that restores its state from before.
        latch: The kind of pause that was set: `soft` or `hard`.
    """

    target: Target
    back: Action
    latch: str


def step_of(guide: Guide, kind: StepKind) -> GuideStep:
    """Return the guide's only step of a kind."""
    return next(step for step in guide.steps if step.kind is kind)


def paused_here(guide: Guide, world: GuideContext) -> tuple[PausedHere, ...]:
    """Return the targets that orders of this guide paused; not those with an unknown outcome."""
    found: dict[Target, PausedHere] = {}
    for order in reversed(world.own(step_of(guide, StepKind.PAUSE))):
        if order.state is not OrderState.DONE or order.undo is None:
            continue
        before = found.get(order.target)
        found[order.target] = PausedHere(
            target=order.target,
            back=order.undo if before is None else before.back,
            latch="hard" if order.action.now else "soft",
        )
    return tuple(found.values())


def to_resume(guide: Guide, world: GuideContext) -> tuple[PausedHere, ...]:
    """Return the targets that this guide paused and has not resumed yet."""
    step = step_of(guide, StepKind.RESUME)
    resumed = world.newest(step)
    return tuple(
        each
        for each in paused_here(guide, world)
        if not _is_good(resumed.get(each.target))
        and address_of(each.target) not in step.settled
        and world.presence(process_of(each.target)) != "gone"
    )


def _is_good(order: Order | None) -> bool:
    return order is not None and order.state in GOOD


def pause(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that pauses the model."""
    orders = world.newest(step)
    here = paused_here(guide, world)
    still = [order for order in orders.values() if order.is_open]
    failed = [order for order in orders.values() if order.state in _BAD]
    if any(order.state is OrderState.SENDING for order in still):
        return running(step, f"{len(here)} of {len(guide.targets)} paused")
    if here or still:
        return done(step, _paused(guide, step, world))
    if failed:
        return waiting(step, f"nothing was paused: {shown(failed[0].message, 200)}")
    if all(address in step.settled for address in guide.targets):
        return done(step, _ALL_PAUSED)
    return waiting(step, f"in {plural(len(guide.targets), 'process', 'processes')}")


_BAD = frozenset({OrderState.FAILED, OrderState.REFUSED})


def _paused(guide: Guide, step: GuideStep, world: GuideContext) -> str:
    orders = world.newest(step)
    counts = [
        (len(paused_here(guide, world)), "paused by this guide"),
        (sum(address in step.settled for address in guide.targets), "already paused"),
        (sum(order.state in _BAD for order in orders.values()), "not paused"),
        (sum(order.is_open for order in orders.values()), "with unknown outcome"),
    ]
    return ", ".join(f"{number} {words}" for number, words in counts if number)


def resume(guide: Guide, step: GuideStep, world: GuideContext) -> GuideStep:
    """Return the state of the step that resumes what this guide paused."""
    left = to_resume(guide, world)
    orders = world.newest(step)
    doubtful = [
        order
        for order in world.newest(step_of(guide, StepKind.PAUSE)).values()
        if order.is_open and world.presence(process_of(order.target)) != "gone"
    ]
    if any(order.is_open for order in orders.values()):
        return running(step, NO_ANSWER)
    if not left and not doubtful:
        return done(step, _resumed(guide, step, world))
    parts = [f"{_paused(guide, step_of(guide, StepKind.PAUSE), world)}"]
    unreachable = [each for each in left if world.presence(process_of(each.target)) == "unknown"]
    if orders or step.settled:
        parts.append(f"still paused: {_names(each.target for each in left)}")
    if unreachable:
        parts.append(f"not reachable now: {_names(each.target for each in unreachable)}")
    if doubtful:
        parts.append(f"outcome unknown: {_names(order.target for order in doubtful)}")
    others = newcomers(guide, world)
    if others:
        parts.append(f"also using the model, but not paused by this guide: {_names(others)}")
    return waiting(step, "; ".join(parts))


def newcomers(guide: Guide, world: GuideContext) -> tuple[ModelKey, ...]:
    """Return where the model is also used, in processes that are not targets of this guide."""
    models = [target.model for target in guide.places if isinstance(target, ModelKey)]
    known = set(guide.places)
    return tuple(each for each in with_model(world.fleet, models[0]) if each not in known)


def _resumed(guide: Guide, step: GuideStep, world: GuideContext) -> str:
    here = paused_here(guide, world)
    orders = world.newest(step)
    rest = [each for each in here if not _is_good(orders.get(each.target))]
    back = len(here) - len(rest)
    left = sum(address_of(each.target) in step.settled for each in rest)
    gone = len(rest) - left
    counts = [
        (back, "resumed"),
        (left, "left as they are, because someone else changed them"),
        (gone, "gone (the process has ended)"),
    ]
    summary = ", ".join(f"{number} {words}" for number, words in counts if number)
    return summary or "this guide had nothing to resume"


def _names(targets: Iterable[Target]) -> str:
    found = [process_of(target) for target in targets]
    named = ", ".join(f"{shown(key.machine)}:{key.pid}" for key in found[:_NAMED])
    return named + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
