"""Which findings are muted: those that a mute of the fleet covers."""

from collections.abc import Sequence
from dataclasses import replace

from core.fleet import Fleet
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.model.mute import Mute


def with_mutes(fleet: Fleet) -> Fleet:
    """Return the fleet; each open finding has the end of the longest mute that covers it."""
    changed = [
        replace(each, muted_until=until)
        for each in fleet.findings
        if each.is_open and (until := muted_until(each, fleet.mutes)) != each.muted_until
    ]
    return with_findings(fleet, changed)


def muted_until(finding: Finding, mutes: Sequence[Mute]) -> float | None:
    """Return the end of the longest mute that covers a finding; None: none does."""
    return max((each.until for each in mutes if each.covers(finding)), default=None)
