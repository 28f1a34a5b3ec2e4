"""One step of a room: fold an event in, then judge the fleet. Pure."""

from core.events import Event
from core.fleet import Fleet
from core.fold.fold import fold
from core.judge.finding_list import with_findings
from core.judge.judge import judge


def advance(fleet: Fleet, event: Event) -> Fleet:
    """Return the fleet after `event`, with its new findings."""
    after = fold(fleet, event)
    return with_findings(after, judge(fleet, after, event))
