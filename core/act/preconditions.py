"""Preconditions: the fields of a target that must still hold when its plan is confirmed.

A change of a count does not matter, with one exception: a cancel has to be confirmed again when
more is in flight than its preview showed.
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import assert_never

from core.act.snapshot import TargetSnapshot
from core.ids import ModelKey, ProcessKey, SampleKey, Target
from core.model.action import Action, Change, Verb
from core.model.knobs import ConfigView, LimitView
from core.model.order import Basis, BasisValue
from core.model.task import TaskRow

IN_FLIGHT = "in flight"
_NOTED = frozenset({"running", "quiesced", "pending", "unstarted"})
"""Fields that may change; stored to decide later whether a leftover process can be killed."""


def basis_of(action: Action, target: Target, snapshot: TargetSnapshot) -> Basis:
    """Return the fields that must still hold when `action` on `target` is confirmed."""
    row = snapshot.row(target)
    fields: dict[str, BasisValue] = {}
    if row is not None and not isinstance(target, ProcessKey | ModelKey):
        fields |= {"eval id": row.eval_id, "attempts": row.attempts, "status": row.status}
    fields |= _own(action, target, snapshot, row)
    return MappingProxyType(fields)


def _own(  # noqa: PLR0911 - one case per verb
    action: Action, target: Target, snapshot: TargetSnapshot, row: TaskRow | None
) -> dict[str, BasisValue]:
    resolving = row.resolving if row is not None else None
    match action.verb:
        case Verb.PAUSE | Verb.RESUME:
            return {"pause": latch(target, snapshot)}
        case Verb.DRAIN:
            return {"resolving": resolving}
        case Verb.CANCEL | Verb.CANCEL_CALL | Verb.REQUEUE if isinstance(target, SampleKey):
            return _sample(action, snapshot)
        case Verb.CANCEL:
            flying = row.samples.in_flight if row is not None else None
            return {"resolving": resolving, IN_FLIGHT: flying}
        case Verb.KEEP | Verb.RELEASE:
            return {"keep": row.keep_alive if row is not None else None}
        case Verb.CONFIG:
            return {knob_key(each): knob_value(each, snapshot.config) for each in action.changes}
        case Verb.INTERRUPT | Verb.KILL:
            held = sum(each.held or 0 for each in snapshot.rows)
            return {
                "channel": snapshot.answers,
                "running": len(snapshot.running),
                "held": held,
                "quiesced": all(each.quiesced for each in snapshot.running),
                "pending": _pending(snapshot.config),
                "unstarted": _unstarted(snapshot.config),
                IN_FLIGHT: sum(each.samples.in_flight or 0 for each in snapshot.running),
            }
        case Verb.CANCEL_CALL | Verb.REQUEUE | Verb.SCORE | Verb.FLUSH | Verb.RECOVER:
            return {}
        case _:
            assert_never(action.verb)


def _pending(config: ConfigView | None) -> BasisValue:
    """Return how many finished samples wait for a log; None: unknown."""
    if config is None or config.buffer is None:
        return None
    return config.buffer.pending


def _unstarted(config: ConfigView | None) -> BasisValue:
    """Return how many tasks of an eval-set have not started; None: unknown."""
    tasks = config.max_tasks if config is not None else None
    return None if tasks is None else tasks.pending or 0


def _sample(action: Action, snapshot: TargetSnapshot) -> dict[str, BasisValue]:
    sample = snapshot.sample
    fields: dict[str, BasisValue] = {
        "sample": snapshot.sample_status,
        "retries": (sample.retries or 0) if sample is not None else 0,
    }
    if action.verb is Verb.CANCEL:
        fields["interrupt"] = sample.interrupt if sample is not None else None
    if action.verb is Verb.CANCEL_CALL and sample is not None and sample.activity is not None:
        calls = sorted(call.id for call in sample.activity.calls)
        fields["calls"] = " ".join(calls)
    return fields


def latch(target: Target, snapshot: TargetSnapshot) -> str:
    """Return a target's own pause: `none`, `soft` or `hard`."""
    row = snapshot.row(target)
    if row is None:
        return "none"
    match target:
        case ProcessKey():
            is_set, is_hard = bool(row.process_paused), bool(row.process_paused_now)
        case ModelKey():
            is_set, is_hard = target.model in row.paused_models, "model" in row.paused_now
        case _:
            is_set, is_hard = "task" in row.paused, "task" in row.paused_now
    return ("hard" if is_hard else "soft") if is_set else "none"


def pause_words(latch: object) -> str:
    """Return what `latch` returned, as the screen says it."""
    return {"none": "not paused", "soft": "paused", "hard": "paused (now)"}.get(
        str(latch), "unknown"
    )


def changed(before: Basis, now: Basis) -> tuple[str, ...]:
    """Return the fields that no longer hold; the number in flight may shrink."""
    return tuple(
        name
        for name, value in before.items()
        if name not in _NOTED
        and (_grew(value, now.get(name)) if name == IN_FLIGHT else now.get(name) != value)
    )


def _grew(before: BasisValue, now: BasisValue) -> bool:
    return isinstance(now, int) and now > (before if isinstance(before, int) else 0)


# Knobs


def knob_key(change: Change) -> str:
    """Return a knob's name in previews: with its key or model where it has one."""
    if change.knob == "key":
        return f"limit {change.key}"
    return f"{change.knob} of {change.model}" if change.model else change.knob


def knob_value(  # noqa: PLR0911 - one case per knob
    change: Change, config: ConfigView | None
) -> BasisValue:
    """Return a knob's value now; None: unset, or unknown."""
    if config is None:
        return None
    match change.knob:
        case "key":
            found = next((each for each in config.keys or () if each.name == change.key), None)
            return _limit(found)
        case "max_samples":
            return _pinned(config.max_samples)
        case "max_tasks":
            return _limit(config.max_tasks)
        case "max_subprocesses":
            return _limit(config.max_subprocesses)
        case "max_sandboxes":
            return _together(each.limit for each in config.sandboxes)
        case "max_connections":
            chosen = (each for each in config.connections if _fits(each.name, change.model))
            return _together(each.maximum for each in chosen)
        case "log_buffer" | "log_shared":
            buffer = config.buffer
            return None if buffer is None else getattr(buffer, change.knob)
        case _:
            return config.retry.get(change.knob, config.limits.get(change.knob))


def _limit(view: LimitView | None) -> BasisValue:
    return None if view is None else view.limit


def _pinned(view: LimitView | None) -> BasisValue:
    if view is None:
        return None
    return view.override if view.tracks_adaptive else view.limit


def _together(values: Iterable[int | None]) -> BasisValue:
    found = [each for each in values if each is not None]
    if len(set(found)) <= 1:
        return found[0] if found else None
    return " ".join(str(each) for each in found)


def _fits(name: str, model: str) -> bool:
    """Return whether `model` selects a connection, by the rule of `inspect ctl`."""
    return not model or name.startswith(model) or f"/{model}" in name
