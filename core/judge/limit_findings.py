"""The finding that a machine sends more than evalroom keeps: one for each machine."""

from collections.abc import Iterable
from dataclasses import replace

from core.fleet import Fleet
from core.ids import MachineName
from core.judge.finding_list import closed, newest_finding
from core.model.finding import Finding, occurrence_id

_CHANGE = 1.1
"""A number that changed by less than a tenth does not change the text."""


def judge_limits(before: Fleet, after: Fleet, machine: MachineName, at: float) -> Iterable[Finding]:
    """Yield the new, changed or closed finding about what a machine sent beyond the limits."""
    former, known = before.machines.get(machine), after.machines.get(machine)
    if known is None or (former is not None and former.left_out == known.left_out):
        return
    last = newest_finding(after, f"limits:{machine}:")
    if not known.left_out.is_any:
        if last is not None and last.closed_at is None:
            yield closed(last, at)
        return
    text = (
        f"{machine} sends more than evalroom keeps; left out: {known.left_out.words}."
        " Look what runs there."
    )
    if last is None or last.closed_at is not None:
        yield Finding(
            id=occurrence_id(f"limits:{machine}", at),
            kind="limits",
            severity="suspect",
            opened_at=at,
            machine=machine,
            text=text,
            count=known.left_out.total,
            closes_when="it sends less",
        )
    elif not last.count / _CHANGE <= known.left_out.total <= last.count * _CHANGE:
        yield replace(last, text=text, changed_at=at, count=known.left_out.total)
