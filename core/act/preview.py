"""Previews: what an action would do to one target, in fields and in one sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, assert_never, cast

from core.act.preconditions import knob_key, knob_value
from core.act.snapshot import TargetSnapshot
from core.ctl.config_envelopes import config_view
from core.ctl.decode import JsonObject, count, inner, number, text
from core.format import duration, plural
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.action import Action, Verb, scope_of
from core.model.argv_knobs import launched_with
from core.model.order import BasisValue
from core.model.sample import NOT_STARTED
from core.model.task import TaskRow
from core.text import Untrusted, shown

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_PLAIN = frozenset(
    {"task_id", "eval_id", "sample_id", "action", "status", "reason", "scope", "tool_call_id",
     "task", "model", "function", "pass_id"}
)  # fmt: skip
"""Text fields that Inspect fills with its own words or names; all others are free text."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Free text of an answer: shown only on request, and never stored.

    Attributes:
        name: The name of its field.
        text: The text as the host sent it.
    """

    name: str
    text: Untrusted

    @property
    def size(self) -> str:
        """The placeholder on screen: the kind of text, and its length."""
        what = "error" if "error" in self.name else self.name.replace("_", " ")
        return f"{what}, {plural(len(self.text), 'character')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobChange:
    """A knob before and after; None: unset."""

    knob: str
    before: BasisValue
    after: BasisValue
    launch: BasisValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The answer of a target's dry run, or a computed preview where it has no dry run.

    Attributes:
        sentence: What would happen; harmless text.
        fields: The answer without any free text.
        notes: Warnings, one sentence each; harmless text.
        changes: The changes of knobs.
        withheld: The free text of the answer.
        is_computed: This action has no dry run: the preview was computed from the last read.
        changes_nothing: Nothing would change; the sentence says why.
    """

    sentence: str
    fields: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    notes: tuple[str, ...] = ()
    changes: tuple[KnobChange, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    is_computed: bool = False
    changes_nothing: bool = False


def without_free_text(answer: JsonObject) -> tuple[Mapping[str, Any], tuple[Withheld, ...]]:
    """Return an answer's fields without free text, and the free text."""
    fields: dict[str, Any] = {}
    withheld: list[Withheld] = []
    for name, value in answer.items():
        if name == "ok":
            continue
        if isinstance(value, str) and name not in _PLAIN:
            withheld.append(Withheld(name, value))
        elif isinstance(value, dict | list) and not _is_plain(cast("object", value)):
            continue  # nested answers (activity, pending calls, results) can hold anything
        else:
            fields[name] = shown(value) if isinstance(value, str) else value
    return MappingProxyType(fields), tuple(withheld)


def _is_plain(value: object) -> bool:
    values = _values(value)
    return all(
        each is None or isinstance(each, int | float | bool) or each in _LATCHES for each in values
    )


def _values(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value)


_LATCHES = ("task", "process", "model")


def preview_of(
    action: Action, target: Target, answer: JsonObject, snapshot: TargetSnapshot
) -> Preview:
    """Return the preview made from a dry run's answer."""
    fields, withheld = without_free_text(answer)
    if answer.get("changed") is False:
        why = shown(text(answer, "reason") or "nothing to change", 300)
        return Preview(sentence=why, fields=fields, withheld=withheld, changes_nothing=True)
    sentence = _sentence(action, target, answer, snapshot)
    sentence = sentence[:1].upper() + sentence[1:]
    return Preview(sentence=sentence, fields=fields, withheld=withheld)


def _sentence(  # noqa: PLR0911 - one case per verb
    action: Action, target: Target, answer: JsonObject, snapshot: TargetSnapshot
) -> str:
    match action.verb:
        case Verb.PAUSE:
            return _paused(action, target, answer, snapshot)
        case Verb.RESUME:
            return _resumed(target, snapshot)
        case Verb.DRAIN:
            finish = _flying(answer, "finishes", "finish")
            return f"{finish}, {_abandoned(answer, snapshot, target)}; then the task ends"
        case Verb.CANCEL if isinstance(target, SampleKey):
            return _sample_cancelled(action, snapshot)
        case Verb.CANCEL:
            return _task_cancelled(action, target, answer, snapshot)
        case Verb.CANCEL_CALL:
            since = number(answer, "running_time")
            how_long = f" (running {duration(since)})" if since is not None else ""
            function = text(answer, "function")
            call = f"the call of {shown(function, 60)}" if function else "the call"
            return f"{call}{how_long} ends with a timeout; the sample continues"
        case Verb.REQUEUE:
            return _requeued(answer, snapshot)
        case Verb.SCORE:
            return _scored(action, answer)
        case (
            Verb.FLUSH | Verb.CONFIG | Verb.KEEP | Verb.RELEASE | Verb.RECOVER | Verb.INTERRUPT
            | Verb.KILL
        ):  # fmt: skip
            return "the target changes"
        case _:
            assert_never(action.verb)


def _requeued(answer: JsonObject, snapshot: TargetSnapshot) -> str:
    attempt = count(answer, "attempt")
    if attempt is None:
        return shown(text(answer, "reason") or "the sample goes back into the queue", 300)
    was = shown(text(answer, "status") or snapshot.sample_status, 30)
    return f"the sample is {was}; it goes to the end of the queue, for run {attempt}"


def _flying(answer: JsonObject, one: str, several: str) -> str:
    """Return the samples in flight with a verb, which depends on whether it is one sample."""
    flying = count(answer, "in_flight")
    flying = count(answer, "dispatched") if flying is None else flying
    return _in_flight(flying, one, several)


def all_in_flight(rows: Sequence[TaskRow]) -> int | None:
    """Return the samples in flight of these tasks; None: unknown for one of them."""
    numbers = [row.samples.in_flight for row in rows]
    return None if None in numbers else sum(number or 0 for number in numbers)


def _in_flight(number: int | None, one: str, several: str) -> str:
    if number is None:
        return f"samples in flight {several}"
    if not number:
        return "no sample is in flight"
    return f"{plural(number, 'sample')} in flight {one if number == 1 else several}"


def _queued(
    answer: JsonObject, snapshot: TargetSnapshot, target: Target, one: str, several: str
) -> str:
    queued = count(answer, "queued")
    row = snapshot.row(target)
    if queued is None and row is not None:
        queued = row.samples.queued
    if queued is None:
        return f"queued samples {several}"
    if not queued:
        return "no sample is queued"
    return f"{plural(queued, 'queued sample')} {one if queued == 1 else several}"


def _abandoned(answer: JsonObject, snapshot: TargetSnapshot, target: Target) -> str:
    return _queued(answer, snapshot, target, "is abandoned", "are abandoned")


def _paused(action: Action, target: Target, answer: JsonObject, snapshot: TargetSnapshot) -> str:
    one, several = "finishes", "finish"
    if action.now:
        one = "is held at its next model call, with its clock running"
        several = "are held at their next model call, with their clocks running"
    match target:
        case ProcessKey():
            rows = snapshot.running
            where = f"in {plural(len(rows), 'task')}: "
            held = _in_flight(all_in_flight(rows), one, several)
            return f"{where}{held}; no new tasks or samples start"
        case ModelKey():
            tasks = count(answer, "tasks")
            where = f"in {plural(tasks, 'task')}: " if tasks is not None else ""
            held = "; all calls to this model, graders included, are held" if action.now else ""
            return f"{where}{_flying(answer, one, several)}{held}; no new samples start"
        case _:
            waiting = _queued(answer, snapshot, target, "waits", "wait")
            return f"{_flying(answer, one, several)}; {waiting}"


def _resumed(target: Target, snapshot: TargetSnapshot) -> str:
    rows = snapshot.running_of(target)
    other = [each for each in _LATCHES if each != scope_of(target)]
    kept = [row for row in rows if not set(other).isdisjoint(row.paused)]
    others = [each for each in other if any(each in row.paused for row in kept)]
    what = "the task" if isinstance(target, TaskKey) else plural(len(kept), "task")
    stays = "stays" if isinstance(target, TaskKey) or len(kept) == 1 else "stay"
    still = f"; {what} {stays} paused by: {', '.join(others)}" if kept else ""
    held = sum(row.held or 0 for row in rows)
    continued = f"{plural(held, 'held sample')} {'continues' if held == 1 else 'continue'}, "
    return f"{continued if held else ''}queued samples start again{still}"


def _sample_cancelled(action: Action, snapshot: TargetSnapshot) -> str:
    status = snapshot.sample_status
    if status in NOT_STARTED:
        return "the sample has not started; it leaves the queue and will not be in the log"
    how = {
        "score": "the sample ends now, and its work so far is scored",
        "error": "the sample ends now and is marked errored",
        "cancel": "the sample is cut off now, without a score or an error",
    }
    return how[action.manner or "score"]


def _task_cancelled(
    action: Action, target: Target, answer: JsonObject, snapshot: TargetSnapshot
) -> str:
    if answer.get("retry_abandoned") is True:
        return "the pending retry is abandoned; the task ends with the log of its last attempt"
    one, several = {
        "score": ("is scored as it is", "are scored as they are"),
        "error": ("is marked errored", "are marked errored"),
        "cancel": ("is cut off", "are cut off"),
    }[action.manner or "cancel"]
    row = snapshot.row(target)
    kept = f", {_finished(row.samples.completed)} kept" if row is not None else ""
    ends = "the log ends with an error" if action.manner == "cancel" else "then the task ends"
    abandoned = _abandoned(answer, snapshot, target)
    return f"{_flying(answer, one, several)}, {abandoned}{kept}; {ends}"


def _finished(number: int) -> str:
    return f"{plural(number, 'finished sample')} {'is' if number == 1 else 'are'}"


def _scored(action: Action, answer: JsonObject) -> str:
    aim = inner(answer, "targeted") or answer
    flying, done = count(aim, "in_flight"), count(aim, "completed_scored") or 0
    if action.completed_only:
        return f"metrics are computed from {plural(done, 'finished sample')}; no sample is held"
    held = _in_flight(
        flying,
        "is held until its next model call, scored, and then continues",
        "are held until their next model call, scored, and then continue",
    )
    return f"{held}; {_finished(done)} counted as scored"


# Knobs


def config_preview(
    action: Action, body: bytes, answer: JsonObject, snapshot: TargetSnapshot
) -> Preview:
    """Return the preview of a config change: before and after of each knob."""
    after = config_view(body)
    changes = tuple(
        KnobChange(
            knob=knob_key(each),
            before=knob_value(each, snapshot.config),
            after=each.value,
            launch=_launch(each.knob, snapshot),
        )
        for each in action.changes
    )
    moved = [each for each in changes if each.before != each.after]
    warnings = tuple(shown(each, 400) for each in after.warnings)
    settings = "; ".join(
        f"{each.knob}: {_word(each.before)} → {_word(each.after)}" for each in moved
    )
    requested: object = answer.get("requested")
    fields = MappingProxyType({"requested": _requested(requested)})
    return Preview(
        sentence=settings or "every knob already has its new value",
        fields=fields,
        notes=warnings,
        changes=changes,
        changes_nothing=not moved,
    )


def _launch(knob: str, snapshot: TargetSnapshot) -> BasisValue:
    tasks = snapshot.config.max_tasks if snapshot.config is not None else None
    launched = tasks.launch if knob == "max_tasks" and tasks is not None else None
    return launched_with(snapshot.argv, knob) if launched is None else launched


def _requested(value: object) -> object:
    if not isinstance(value, dict):
        return None
    asked = cast("dict[str, object]", value)
    return {name: each for name, each in asked.items() if isinstance(each, int | str)}


def _word(value: BasisValue) -> str:
    return "unset" if value is None else str(value)
