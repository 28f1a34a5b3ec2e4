"""The list of findings of a fleet: bounded, newest first; an open finding keeps its id."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from core.fleet import Fleet
from core.ids import MachineName
from core.model.finding import Finding

MAX_FINDINGS = 500
"""Maximum findings in the fleet. Those of the machine with the most of them are dropped first, the
oldest closed ones before the others."""


def with_findings(fleet: Fleet, changed: Iterable[Finding]) -> Fleet:
    """Return the fleet with new and changed findings; a changed finding keeps its place."""
    by_id = {finding.id: finding for finding in changed}
    if not by_id:
        return fleet
    kept = [by_id.pop(finding.id, finding) for finding in fleet.findings]
    findings = [*reversed(by_id.values()), *kept]
    return replace(fleet, findings=_bounded(findings))


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    share = [each for each in findings if each.machine == _loudest(findings)]
    # The oldest closed ones go first; then open ones, so that no machine hides those of others.
    for going in (
        [each for each in reversed(share) if each.closed_at is not None],
        [each for each in reversed(share) if not each.is_kept],
        list(reversed(share)),
    ):
        over = len(findings) - MAX_FINDINGS
        if over <= 0:
            break
        dropped = {each.id for each in going[:over]}
        findings = [each for each in findings if each.id not in dropped]
    return tuple(findings[:MAX_FINDINGS])


def _loudest(findings: list[Finding]) -> MachineName | None:
    """Return the machine that most of the findings are about."""
    return Counter(each.machine for each in findings).most_common(1)[0][0]


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
