"""Links lost and found: one finding a loss, calm while a link flaps."""

from collections.abc import Iterable
from dataclasses import replace

from core.fleet import Fleet
from core.format import duration_in_words, times_in_words
from core.judge.finding_list import closed, newest_finding
from core.model.finding import Finding, Severity
from core.model.machine import LinkState, Machine

SETTLE_S = 60.0
"""Seconds between two changes of a link's finding while the link flaps."""
FLAPPING_S = 600.0
"""A link that is lost again this soon after it came back is still the same finding."""

_LOST = frozenset({LinkState.DOWN, LinkState.REFUSED, LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU})
_TONES: dict[LinkState, Severity] = {
    LinkState.DOWN: "hand",
    LinkState.REFUSED: "hand",
    LinkState.NEEDS_TRUST: "look",
    LinkState.NEEDS_YOU: "look",
}


def judge_link(fleet: Fleet, machine: Machine, at: float) -> Iterable[Finding]:
    """Yield what changed about a machine's link.

    A first loss is told at once and so is its end. A link that goes on flapping changes its
    finding once a minute at most; what it came to meanwhile is told when a minute passed.
    """
    prefix = f"link:{machine.name}:"
    last = newest_finding(fleet, prefix)
    state = machine.link.state
    if state in _LOST:
        yield from _lose(last, machine, at, prefix)
        return
    if state is LinkState.CONNECTING or last is None or last.closed_at is not None:
        return
    if last.count == 1 or _settled(last, at):
        down = duration_in_words(at - last.opened_at)
        flapped = f", lost {times_in_words(last.count)}" if last.count > 1 else ""
        yield closed(last, at, f"the link is back after {down}{flapped}")


def _lose(last: Finding | None, machine: Machine, at: float, prefix: str) -> Iterable[Finding]:
    state = machine.link.state
    text = _text(machine)
    if last is None or (last.closed_at is not None and at - last.closed_at > FLAPPING_S):
        yield Finding(
            id=f"{prefix}{at:.3f}",
            kind="link",
            tone=_TONES[state],
            opened_at=at,
            machine=machine.name,
            text=text,
        )
        return
    if last.closed_at is not None:
        if _settled(last, at):
            count = last.count + 1
            since = duration_in_words(at - last.opened_at)
            yield replace(
                last,
                closed_at=None,
                changed_at=at,
                count=count,
                tone=_TONES[state],
                text=f"{text} (lost {times_in_words(count)} in {since})",
            )
    elif last.tone != _TONES[state] or (
        last.count == 1 and last.text != text and _settled(last, at)
    ):
        # Another reason may wait a minute; that it now needs the operator may not.
        yield replace(last, text=text, tone=_TONES[state], changed_at=at)


def _settled(last: Finding, at: float) -> bool:
    changed = max(last.opened_at, last.changed_at or 0.0, last.closed_at or 0.0)
    return at - changed >= SETTLE_S


def _text(machine: Machine) -> str:
    link = machine.link
    what = "the link is down" if link.state is LinkState.DOWN else f"the link {_WORDS[link.state]}"
    return f"{what}: {link.reason}" if link.reason else what


_WORDS = {
    LinkState.REFUSED: "is refused",
    LinkState.NEEDS_TRUST: "needs trust",
    LinkState.NEEDS_YOU: "needs you",
}
