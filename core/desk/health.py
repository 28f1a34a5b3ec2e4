"""Findings about the desk itself: its store, its recording, its notifications."""

from core.fleet import Fleet
from core.judge.finding_list import closed, open_finding
from core.model.finding import Finding, occurrence_id

_STORAGE = "storage:"
"""How the id of a finding about the store begins."""
_NOTIFY = "notify:"
"""How the id of a finding about notifications begins."""


def storage_failed(fleet: Fleet, reason: str, at: float) -> Finding:
    """Return the finding that events can't be stored, and why."""
    return _failed(fleet, _STORAGE, f"The journal can't be written: {reason}", at)


def storage_works(fleet: Fleet, at: float) -> tuple[Finding, ...]:
    """Return the open findings closed, since events are stored again."""
    return _works(fleet, _STORAGE, at)


def notifying_failed(fleet: Fleet, reason: str, at: float) -> Finding:
    """Return the finding that notifications are not sent, and why."""
    return _failed(fleet, _NOTIFY, reason, at)


def notifying_works(fleet: Fleet, at: float) -> tuple[Finding, ...]:
    """Return the open findings closed, since notifications are sent again."""
    return _works(fleet, _NOTIFY, at)


def _failed(fleet: Fleet, prefix: str, text: str, at: float) -> Finding:
    """Return a finding about the desk itself.

    While it is open, a new reason changes it; it keeps its id and the time it opened.
    """
    last = open_finding(fleet, prefix)
    return Finding(
        id=occurrence_id(prefix.removesuffix(":"), at) if last is None else last.id,
        kind=prefix.removesuffix(":"),
        severity="alarm",
        opened_at=at if last is None else last.opened_at,
        changed_at=at,
        machine=None,
        text=text,
        closes_when="it works again",
    )


def _works(fleet: Fleet, prefix: str, at: float) -> tuple[Finding, ...]:
    return tuple(
        closed(finding, at)
        for finding in fleet.findings
        if finding.closed_at is None and finding.id.startswith(prefix)
    )


def recording_stopped(reason: str, at: float) -> Finding:
    """Return the finding that the recording stopped, and why."""
    return Finding(
        id=occurrence_id("recording", at),
        kind="storage",
        severity="alarm",
        opened_at=at,
        machine=None,
        text=f"The recording has stopped: {reason}",
        closes_when="evalroom is left",
    )
