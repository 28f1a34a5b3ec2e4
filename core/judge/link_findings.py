"""Findings about links: one finding for a loss, and for all losses of a link that flaps."""

from collections.abc import Iterable
from dataclasses import replace

from core.errors import sentences
from core.fleet import Fleet
from core.format import duration_in_words
from core.judge.finding_list import closed, newest_finding
from core.model.finding import Finding, Severity, occurrence_id, worse
from core.model.machine import LinkState, Machine

FLAPPING_S = 3_600.0
"""A link that is lost again within this time after it came back reopens the same finding."""

_LOST = frozenset({LinkState.DOWN, LinkState.REFUSED, LinkState.NEEDS_TRUST, LinkState.NEEDS_YOU})
_SEVERITIES: dict[LinkState, Severity] = {
    LinkState.DOWN: "alarm",
    LinkState.REFUSED: "alarm",
    LinkState.NEEDS_TRUST: "suspect",
    LinkState.NEEDS_YOU: "suspect",
}


def judge_link(fleet: Fleet, machine: Machine, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed finding about a machine's link.

    A loss opens a finding at once, its end closes it at once, and the text has the newest reason.
    A link that is lost again soon reopens its finding, which counts the outages. The wait for the
    first connection (a host key to accept, a sign-in) is not an outage.
    """
    identity = f"link:{machine.name}"
    last = newest_finding(fleet, f"{identity}:")
    state = machine.link.state
    if state in _LOST:
        yield from _lose(last, machine, at, identity)
    elif state is not LinkState.CONNECTING and last is not None and last.closed_at is None:
        if last.is_first:
            yield closed(last, at, "The link is up")
            return
        lasted = max(0.0, at - _began(last))
        back = replace(last, longest=max(last.longest, lasted))
        down = f"The link is up again after {duration_in_words(lasted)}"
        yield closed(back, at, f"{down}{_outages(back, at)}")


def _lose(last: Finding | None, machine: Machine, at: float, identity: str) -> Iterable[Finding]:
    severity = _SEVERITIES[machine.link.state]
    is_over = last is not None and last.closed_at is not None
    if last is None or (is_over and (last.is_first or at - (last.closed_at or 0.0) > FLAPPING_S)):
        yield Finding(
            id=occurrence_id(identity, at),
            kind="link",
            severity=severity,
            opened_at=at,
            machine=machine.name,
            text=_text(machine),
            is_first=machine.link.heard_at is None,
            closes_when="the link is up again",
        )
        return
    lost = last
    if last.closed_at is None:
        severity = worse(last.severity, severity)
    else:
        lost = replace(last, closed_at=None, count=last.count + 1, began_at=at)
    text = f"{_text(machine)}{_outages(lost, _began(lost))}"
    if lost is not last or (last.severity, last.text) != (severity, text):
        yield replace(lost, text=text, severity=severity, changed_at=at)


def _began(finding: Finding) -> float:
    return finding.opened_at if finding.began_at is None else finding.began_at


def _outages(finding: Finding, until: float) -> str:
    """Return how often the link was lost, in how long, in brackets; empty for one outage."""
    if finding.count == 1:
        return ""
    since = duration_in_words(until - finding.opened_at)
    longest = f", longest {duration_in_words(finding.longest)}" if finding.longest else ""
    return f" ({finding.count} outages in {since}{longest})"


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
