"""Findings about links: one finding for a loss, updated once a minute while the link flaps."""

from collections.abc import Iterable
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.format import duration_in_words, times_in_words
from core.judge.finding_list import closed, newest_finding
from core.model.finding import Finding, Severity
from core.model.machine import LinkState, Machine

SETTLE_S = 60.0
"""Minimum seconds between two changes of a link's finding while the link flaps."""
FLAPPING_S = 600.0
"""A link that is lost again within this time after it came back reopens the same finding."""

_LOST = frozenset({LinkState.DOWN, LinkState.REFUSED, LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU})
_TONES: dict[LinkState, Severity] = {
    LinkState.DOWN: "hand",
    LinkState.REFUSED: "hand",
    LinkState.NEEDS_TRUST: "look",
    LinkState.NEEDS_YOU: "look",
}


def judge_link(fleet: Fleet, machine: Machine, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed finding about a machine's link.

    A first loss opens a finding at once, and its end closes it at once. While the link flaps, the
    finding changes at most once a minute, to the state that the link has then.
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
        flapped = f" (lost {times_in_words(last.count)})" if last.count > 1 else ""
        yield closed(last, at, f"The link is up again after {down}{flapped}")


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
        # A new reason may wait a minute. A new severity means that the operator is needed now.
        yield replace(last, text=text, tone=_TONES[state], changed_at=at)


def _settled(last: Finding, at: float) -> bool:
    changed = max(last.opened_at, last.changed_at or 0.0, last.closed_at or 0.0)
    return at - changed >= SETTLE_S


def _text(machine: Machine) -> str:
    link = machine.link
    what = _SENTENCES[link.state]
    return sentences(f"{what}: {link.reason}" if link.reason else what, link.advice)


_SENTENCES = {
    LinkState.DOWN: "The link is down",
    LinkState.REFUSED: "The link is refused",
    LinkState.NEEDS_TRUST: "The link needs trust",
    LinkState.NEEDS_YOU: "The link needs you",
}
