"""When the terminal's bell rings: for alarms that are new."""

from core.fleet import Fleet
from core.model.finding import Finding

RING_INTERVAL_S = 10.0
"""The shortest time between two rings, seconds."""


class AlarmBell:
    """Decides when the bell rings. Alarms that are there at the start are not new."""

    def __init__(self) -> None:
        self._known: frozenset[str] | None = None
        self._last: tuple[Finding, ...] | None = None
        self._is_due = False
        self._rang_at: float | None = None

    def rings(self, fleet: Fleet, now: float) -> bool:
        """Whether it rings now; alarms that come soon after a ring share the next one.

        Args:
            fleet: What is known.
            now: Seconds of any one clock.
        """
        if fleet.findings is not self._last:
            self._last = fleet.findings
            alarms = frozenset(each.identity for each in fleet.findings if _rings(each, fleet.at))
            if self._known is not None and alarms - self._known:
                self._is_due = True
            self._known = alarms
        is_early = self._rang_at is not None and now - self._rang_at < RING_INTERVAL_S
        if not self._is_due or is_early:
            return False
        self._is_due, self._rang_at = False, now
        return True


def _rings(finding: Finding, at: float) -> bool:
    return finding.severity == "alarm" and finding.needs_attention(at)
