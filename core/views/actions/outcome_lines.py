"""The outcomes of a confirmed plan, as lines: one for each target, those in trouble first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.format import plural
from core.model.order import OrderState
from core.text import Shown, shown
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.glyphs import GlyphName, glyph


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutcome:
    """The outcome of a plan for one target.

    Attributes:
        where, name: The target, as shown on screen.
        state: `waiting`: no outcome yet; `changed`: it changed since the preview, so nothing was
            sent; else the state of its order.
        message: The outcome in one sentence.
    """

    where: str
    name: str
    state: str
    message: str = ""


WAITING, CHANGED = "waiting", "changed"
_STYLES: dict[str, tuple[GlyphName, Tone, str]] = {
    CHANGED: ("ask", "warning", "changed"),
    OrderState.UNKNOWN: ("unknown", "warning", "unknown"),
    OrderState.FAILED: ("failed", "error", "failed"),
    OrderState.REFUSED: ("failed", "warning", "refused"),
    WAITING: ("wait", "dim", "sending"),
    OrderState.SENDING: ("wait", "dim", "sending"),
    OrderState.DONE: ("success", "good", "done"),
    OrderState.NO_CHANGE: ("cancelled", "dim", "no change"),
}
"""Glyph, tone and word of each state, those in trouble first."""
_WORD = 13
_APART = 12
"""Up to this many targets, each has a line; beyond it, targets of one outcome share a line."""
_NAMED = 24
_LABEL = 40


def outcome_word(state: str) -> str:
    """Return the word for the state of a target, as the screen shows it."""
    return _STYLES[state][2]


def summary(outcomes: Iterable[TargetOutcome]) -> tuple[Span, ...]:
    """Return the counts of the outcomes: `3 done  1 unknown`."""
    counts = Counter(each.state for each in outcomes)
    counts[WAITING] += counts.pop(OrderState.SENDING, 0)
    return tuple(
        span
        for state, (_, tone, word) in _STYLES.items()
        if counts[state]
        for span in (span_of(f"{counts[state]} {word}", tone), Span(Shown("  ")))
    )[:-1]


def outcome_lines(outcomes: Sequence[TargetOutcome]) -> tuple[TextLine, ...]:
    """Return a line for each target, or for each outcome where there are many targets."""
    order = list(_STYLES)
    ranked = sorted(outcomes, key=lambda each: order.index(each.state))
    if len(ranked) <= _APART:
        width = max((len(f"{each.where} {each.name}") for each in ranked), default=0)
        return tuple(line for each in ranked for line in _one(each, min(width, _LABEL)))
    groups: dict[tuple[str, str], list[TargetOutcome]] = {}
    for each in ranked:
        groups.setdefault((each.state, each.message), []).append(each)
    return tuple(line for group in groups.values() for line in _together(group))


def _head(state: str) -> TextLine:
    name, tone, word = _STYLES[state]
    return (Span(glyph(name), tone), span_of(f" {word.ljust(_WORD)} ", tone))


def _target(each: TargetOutcome) -> TextLine:
    return (Span(shown(each.where), "dim"), Span(shown(f" {each.name}"), "strong"))


def _one(each: TargetOutcome, width: int = 0) -> Iterator[TextLine]:
    text = _message(each.state, each.message)
    gap = Span(Shown(" " * (max(width - len(f"{each.where} {each.name}"), 0) + 3)))
    yield (*_head(each.state), *_target(each), *((gap, text) if text else ()))


def _together(group: Sequence[TargetOutcome]) -> Iterator[TextLine]:
    if len(group) == 1:
        yield from _one(group[0])
        return
    text = _message(group[0].state, group[0].message)
    counted = span_of(plural(len(group), "target"), "strong")
    yield (*_head(group[0].state), counted, *((span_of("   ", "dim"), text) if text else ()))
    spans: list[Span] = [Span(Shown(" " * (_WORD + 3)))]
    for each in group[:_NAMED]:
        spans += [*_target(each), Span(Shown("  "))]
    if len(group) > _NAMED:
        spans.append(span_of(f"and {len(group) - _NAMED} more", "dim"))
    yield tuple(spans)


def _message(state: str, message: str) -> Span | None:
    # A message that repeats the state ("done: done") is left out.
    if not message or message == _STYLES[state][2]:
        return None
    return Span(shown(message, 400), "dim")
