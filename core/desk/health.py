"""Findings about the desk itself: its store can't be written, its recording has stopped."""

from core.fleet import Fleet
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding

_STORAGE = "storage:"
"""How the id of a finding about the store begins."""


def storage_failed(fleet: Fleet, reason: str, at: float) -> Finding:
    """Return the finding that events can't be stored, and why.

    While it is open, a new reason changes it; it keeps its id and the time it opened.
    """
    last = open_finding(fleet, _STORAGE)
    return Finding(
        id=f"{_STORAGE}{at:.3f}" if last is None else last.id,
        kind="storage",
        severity="alarm",
        opened_at=at if last is None else last.opened_at,
        changed_at=at,
        machine=None,
        text=f"The journal can't be written: {reason}",
    )


def storage_works(fleet: Fleet, at: float) -> tuple[Finding, ...]:
    """Return the open findings closed, since events are stored again."""
    return tuple(
        closed(finding, at)
        for finding in fleet.findings
        if finding.closed_at is None and finding.id.startswith(_STORAGE)
    )


def recording_stopped(reason: str, at: float) -> Finding:
    """Return the finding that the recording stopped, and why."""
    return Finding(
        id=f"recording:{at:.3f}",
        kind="storage",
        severity="alarm",
        opened_at=at,
        machine=None,
        text=f"The recording has stopped: {reason}",
    )
