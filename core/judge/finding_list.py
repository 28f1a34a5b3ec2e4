"""The list of findings of a fleet: bounded, newest first; an open finding keeps its id."""

from collections.abc import Iterable
from dataclasses import replace

from core.fleet import Fleet
from core.model.finding import Finding

MAX_FINDINGS = 500
"""Maximum findings in the fleet; the oldest closed ones are dropped first."""


def with_findings(fleet: Fleet, changed: Iterable[Finding]) -> Fleet:
    """Return the fleet with new and changed findings; a changed finding keeps its place."""
    by_id = {finding.id: finding for finding in changed}
    if not by_id:
        return fleet
    kept = [by_id.pop(finding.id, finding) for finding in fleet.findings]
    findings = [*reversed(by_id.values()), *kept]
    return replace(fleet, findings=_bounded(findings))


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    over = len(findings) - MAX_FINDINGS
    if over <= 0:
        return tuple(findings)
    closed = [each.id for each in reversed(findings) if each.closed_at is not None]
    dropped = set(closed[:over])
    return tuple(each for each in findings if each.id not in dropped)[:MAX_FINDINGS]


def open_finding(fleet: Fleet, prefix: str) -> Finding | None:
    """Return the newest open finding whose id begins with `prefix`; None if there is none."""
    for finding in fleet.findings:
        if finding.closed_at is None and finding.id.startswith(prefix):
            return finding
    return None


def newest_finding(fleet: Fleet, prefix: str) -> Finding | None:
    """Return the newest finding, open or closed, whose id begins with `prefix`."""
    for finding in fleet.findings:
        if finding.id.startswith(prefix):
            return finding
    return None


def with_id(fleet: Fleet, finding_id: str) -> Finding | None:
    """Return the finding with this id, open or closed."""
    return next((each for each in fleet.findings if each.id == finding_id), None)


def acknowledged(finding: Finding, at: float) -> Finding:
    """Return a finding that waited for the operator, closed; its text stays."""
    return replace(finding, closed_at=at, acknowledged_at=at)


def closed(finding: Finding, at: float, text: str | None = None) -> Finding:
    """Return the finding closed; `text` replaces its sentence, None keeps it."""
    last_text = finding.text if text is None else text
    return replace(finding, closed_at=at, changed_at=at, text=last_text)
