"""Outcomes of orders: from their answers, and from a later read where there was no answer."""

from core.act.preconditions import knob_key, knob_value, latch
from core.act.replies import body_of, is_changed, why_untrusted
from core.act.snapshot import TargetSnapshot
from core.ctl.decode import JsonObject, count, parse_object, text, texts
from core.errors import AnswerMalformed, NotThere, RequestFailed, TooBusy
from core.format import plural
from core.ids import SampleKey, Target
from core.model.action import Action, Verb
from core.model.order import Basis, OrderState, Outcome
from core.ports import Reply
from core.text import shown

NOT_SENT = "not sent"
"""How an error of a probe or a connection begins when nothing was sent."""

_UNCERTAIN = "it may have been applied"
"""Only the outcome of an order has these words, never a read or a dry run."""


def outcome_of(  # noqa: PLR0911 - one case per kind of answer
    action: Action, reply: Reply
) -> Outcome:
    """Return the outcome of an order from its answer."""
    if reply.error is not None:
        return _without_answer(reply.error)
    if action.verb in {Verb.INTERRUPT, Verb.KILL}:
        return Outcome(state=OrderState.DONE, message="signal sent")
    if action.verb is Verb.RECOVER:
        return _recovered(reply)
    try:
        answer = parse_object(body_of(reply, "refused"))
    except TooBusy as error:
        return Outcome(state=OrderState.FAILED, message=f"{error.message}: not applied")
    except NotThere as error:
        return Outcome(state=OrderState.REFUSED, message=error.message)
    except RequestFailed as error:
        # One that failed halfway may have been applied: only a later read can show it.
        refused = error.status is not None and 400 <= error.status < 500  # noqa: PLR2004
        state = OrderState.REFUSED if refused else OrderState.UNKNOWN
        return Outcome(state=state, message=error.message)
    except AnswerMalformed as error:
        return Outcome(state=OrderState.UNKNOWN, message=error.message)
    return _answered(action, answer)


def failed(error: RequestFailed) -> Outcome:
    """Return the outcome of an order whose request failed on the way."""
    if isinstance(error, TooBusy):  # it was never given to the link
        return Outcome(state=OrderState.FAILED, message=f"{NOT_SENT}: {error.message}")
    return _without_answer(error.message)


def _without_answer(why: str) -> Outcome:
    if why.startswith(NOT_SENT):
        return Outcome(state=OrderState.FAILED, message=shown(why, 300))
    return Outcome(state=OrderState.UNKNOWN, message=f"{shown(why, 270)}; {_UNCERTAIN}")


def _recovered(reply: Reply) -> Outcome:
    """Return the outcome of a recovery: the log script answers it, not the control channel."""
    try:
        answer = parse_object(reply.body)
    except AnswerMalformed as error:
        return Outcome(state=OrderState.UNKNOWN, message=error.message)
    log = text(answer, "log")
    if log is None:
        why = shown(text(answer, "error") or "Inspect wrote no log", 300)
        return Outcome(state=OrderState.FAILED, message=why)
    number = plural(count(answer, "samples") or 0, "sample")
    message = f"{number} in the new log {shown(log, 1_000)}"
    return Outcome(state=OrderState.DONE, message=message)


def _answered(action: Action, answer: JsonObject) -> Outcome:
    if action.verb is Verb.CONFIG:
        odd = why_untrusted(answer, dry_run=False, tells_changed=False)
        unknown = Outcome(state=OrderState.UNKNOWN, message=odd or "")
        return _configured(answer) if odd is None else unknown
    if action.verb is Verb.FLUSH:
        flushed = count(answer, "flushed") or 0
        state = OrderState.DONE if flushed else OrderState.NO_CHANGE
        return Outcome(state=state, message=f"{plural(flushed, 'sample')} written")
    odd = why_untrusted(answer, dry_run=False)
    if odd is not None:
        return Outcome(state=OrderState.UNKNOWN, message=odd)
    if not is_changed(answer):
        why = shown(text(answer, "reason") or "already in this state", 300)
        return Outcome(state=OrderState.NO_CHANGE, message=why)
    return Outcome(state=OrderState.DONE, message=_message(action, answer))


def _message(action: Action, answer: JsonObject) -> str:
    reason = text(answer, "reason")
    if reason:
        return shown(reason, 300)
    if action.verb is Verb.REQUEUE:
        return f"queued for run {count(answer, 'attempt') or '?'}"
    return _APPLIED.get(action.verb, "applied")


_APPLIED = {
    Verb.PAUSE: "paused",
    Verb.RESUME: "resumed",
    Verb.DRAIN: "draining",
    Verb.CANCEL: "ending",
    Verb.CANCEL_CALL: "ending the call",
    Verb.SCORE: "scoring has begun",
    Verb.KEEP: "kept",
    Verb.RELEASE: "released",
}


def _configured(answer: JsonObject) -> Outcome:
    warnings = "; ".join(shown(each, 200) for each in texts(answer, "warnings"))
    persisted: object = answer.get("persisted")
    if isinstance(persisted, dict) and persisted:
        tail = f" ({warnings})" if warnings else ""
        return Outcome(state=OrderState.DONE, message=f"set{tail}")
    if persisted is None and "persisted" not in answer:  # an Inspect that does not say
        return Outcome(state=OrderState.DONE, message=warnings or "set")
    if warnings:
        return Outcome(state=OrderState.REFUSED, message=warnings)
    return Outcome(state=OrderState.NO_CHANGE, message="already set to this value")


def shows_applied(  # noqa: PLR0911 - one case per verb
    action: Action, target: Target, basis: Basis, snapshot: TargetSnapshot
) -> bool | None:
    """Return whether a read of the target shows an order applied; None: no read can show it.

    Args:
        action: The ordered action.
        target: Its target.
        basis: The target's fields before the order.
        snapshot: A read from after the order was sent.
    """
    row = snapshot.row(target)
    match action.verb:
        case Verb.PAUSE:
            return latch(target, snapshot) == ("hard" if action.now else "soft")
        case Verb.RESUME:
            return latch(target, snapshot) == "none"
        case Verb.CONFIG:
            return all(
                knob_value(each, snapshot.config) == each.value
                or (
                    each.value is None
                    and knob_value(each, snapshot.config) != basis.get(knob_key(each))
                )
                for each in action.changes
            )
        case Verb.KEEP | Verb.RELEASE:
            kept = row.keep_alive if row is not None else None
            return kept is (action.verb is Verb.KEEP)
        case Verb.DRAIN | Verb.CANCEL if not isinstance(target, SampleKey):
            if row is None or row.is_completed:
                return True
            return row.resolving not in {None, basis.get("resolving")}
        case Verb.CANCEL | Verb.CANCEL_CALL | Verb.REQUEUE:
            if row is None or row.eval_id != basis.get("eval id"):
                return None  # a new attempt of the task has a new sample with this id
            return _sample_moved(action, basis, snapshot)
        case _:
            return None


def _sample_moved(action: Action, basis: Basis, snapshot: TargetSnapshot) -> bool:
    sample = snapshot.sample
    if action.verb is Verb.CANCEL:
        stopping = sample is not None and sample.interrupt is not None
        return stopping or snapshot.sample_status not in {"running", "queued", "pending"}
    if action.verb is Verb.REQUEUE:
        return snapshot.sample_status in {"queued", "running", "pending"}
    calls = sample.activity.calls if sample is not None and sample.activity is not None else ()
    before = str(basis.get("calls") or "").split()
    left = [call for call in calls if call.id in before and not call.cancel_requested]
    return not any(action.tool_call in {None, call.id} for call in left)
