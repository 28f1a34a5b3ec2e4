"""The list of findings of a fleet: bounded, newest first; an open finding keeps its id."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.fleet import Fleet
from core.ids import MachineName
from core.model.finding import SEVERITIES, Finding, Severity

MAX_FINDINGS = 500
"""Maximum findings in the fleet. Those of the machine with the most of them are dropped first, the
oldest closed ones before the others. What was open opens again once there is room."""


def with_findings(fleet: Fleet, changed: Iterable[Finding]) -> Fleet:
    """Return the fleet with new and changed findings; a changed finding keeps its place.

    It stays acknowledged until it worsens, or closes and opens again.
    """
    by_id = {finding.id: finding for finding in changed}
    if not by_id:
        return fleet
    kept = [_renewed(finding, by_id.pop(finding.id, finding)) for finding in fleet.findings]
    findings = [*reversed(by_id.values()), *kept]
    return replace(fleet, findings=_bounded(findings))


def _renewed(before: Finding, now: Finding) -> Finding:
    if now is before or not now.is_open:
        return now
    if now.acknowledged_at not in {None, before.acknowledged_at}:
        return now  # it is acknowledged just now
    is_same = before.is_open and not _is_worse(before, now)
    acknowledged_at = before.acknowledged_at if is_same else None
    if acknowledged_at == now.acknowledged_at:
        return now
    return replace(now, acknowledged_at=acknowledged_at)


def _is_worse(before: Finding, now: Finding) -> bool:
    return SEVERITIES.index(now.severity) > SEVERITIES.index(before.severity)


def covers(acknowledged: Finding, now: Finding) -> bool:
    """Whether the acknowledgement of an older version of a finding holds for it.

    It does not where the finding worsened or opened again since.
    """
    if acknowledged.acknowledged_at is None or _is_worse(acknowledged, now):
        return False
    newest = max(now.opened_at, now.began_at or 0.0)
    return newest <= acknowledged.acknowledged_at


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    loudest = _loudest(findings)
    for going in _going([each for each in reversed(findings) if each.machine == loudest]):
        over = len(findings) - MAX_FINDINGS
        if over <= 0:
            break
        dropped = {each.id for each in going[:over]}
        findings = [each for each in findings if each.id not in dropped]
    return tuple(findings[:MAX_FINDINGS])


def _going(share: list[Finding]) -> Iterator[list[Finding]]:
    """Yield which of a machine's findings, oldest first, are dropped before the others.

    Closed ones go first; then open ones, the mild before the bad; then those that wait for the
    operator.
    """
    yield [each for each in share if each.closed_at is not None]
    going = [each for each in share if not each.is_kept]
    yield sorted(going, key=lambda each: SEVERITIES.index(each.severity))
    yield share


def has_room(fleet: Fleet, machine: MachineName | None, severity: Severity) -> bool:
    """Whether the list holds one more finding of a machine without the loss of one as bad."""
    rank = SEVERITIES.index(severity)
    staying = sum(
        each.machine != machine or (each.is_open and SEVERITIES.index(each.severity) >= rank)
        for each in fleet.findings
    )
    return staying < MAX_FINDINGS


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
    """Return the finding acknowledged; one that waited for the operator is closed, too."""
    if finding.waits:
        return replace(finding, closed_at=at, acknowledged_at=at)
    return replace(finding, acknowledged_at=at)


def can_be_acknowledged(finding: Finding) -> bool:
    """Whether it is open and not acknowledged yet."""
    return finding.is_open and finding.acknowledged_at is None


def closed(finding: Finding, at: float, text: str | None = None) -> Finding:
    """Return the finding closed; `text` replaces its sentence, None keeps it."""
    last_text = finding.text if text is None else text
    return replace(finding, closed_at=at, changed_at=at, text=last_text)
