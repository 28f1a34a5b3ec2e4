"""Which findings are told to whom, and when. Pure, but for its memory.

Each finding is told once to each address, and again when it worsens. A rule gathers what opens for
some seconds, so that a storm is one message; then it is silent for its own time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.config.notify import NotifyRule
from core.fleet import Fleet
from core.model.finding import SEVERITIES, Finding, Severity

GATHER_S = 10.0
"""How long the first finding waits for others, seconds."""
MAX_KEPT = 5_000
"""Findings whose telling is remembered; the oldest are forgotten first."""


@dataclass(slots=True)
class _Box:
    """What one rule has told, and what waits.

    Attributes:
        told: The severity at which each finding was told, by its id.
        waits_since: When the oldest finding that is not told opened here, Unix seconds; None:
            nothing waits.
        sent_at: When the newest message was sent, Unix seconds.
    """

    told: dict[str, Severity] = field(default_factory=dict[str, Severity])
    waits_since: float | None = None
    sent_at: float = float("-inf")


class Outbox:
    """What is to be sent by each rule.

    Args:
        rules: The rules of the config.
        before: What counts as told already: it is not told, unless it worsens.
    """

    def __init__(self, rules: Sequence[NotifyRule], before: Iterable[Finding]) -> None:
        known: dict[str, Severity] = {finding.id: finding.severity for finding in before}
        self._rules = rules
        self._boxes = [_Box(told=dict(known)) for _ in rules]

    def due(self, fleet: Fleet, now: float, minute: int) -> Sequence[tuple[int, Sequence[Finding]]]:
        """Return what is to be sent now: the index of a rule, and its findings.

        Args:
            fleet: All that is known.
            now: Unix seconds at the desk.
            minute: Minutes since local midnight, for the quiet hours.
        """
        ready: list[tuple[int, Sequence[Finding]]] = []
        for index, (rule, box) in enumerate(zip(self._rules, self._boxes, strict=True)):
            waiting = [
                each
                for each in fleet.findings
                if _is_told(each, now) and _is_for(rule, box, fleet, each)
            ]
            if not waiting:
                box.waits_since = None
                continue
            if box.waits_since is None:
                box.waits_since = now
            is_quiet = rule.quiet is not None and rule.quiet.holds(minute)
            is_gathered = now - box.waits_since >= GATHER_S
            if not is_quiet and is_gathered and now - box.sent_at >= rule.every:
                ready.append((index, waiting))
        return ready

    def note_sent(self, index: int, findings: Iterable[Finding], now: float) -> None:
        """Remember that a rule's message was sent."""
        self._boxes[index].sent_at = now
        self.note_told(index, findings)

    def note_told(self, index: int, findings: Iterable[Finding]) -> None:
        """Remember that the address of a rule heard of findings, whoever sent the message."""
        box = self._boxes[index]
        box.waits_since = None
        for finding in findings:
            box.told.pop(finding.id, None)
            box.told[finding.id] = finding.severity
        for old in list(box.told)[: max(0, len(box.told) - MAX_KEPT)]:
            del box.told[old]

    def be_silent(self, index: int, until: float) -> None:
        """Send nothing by a rule until then, Unix seconds: its address was just written to."""
        self._boxes[index].sent_at = until - self._rules[index].every

    def note_failed(self, index: int, now: float) -> None:
        """Remember that a rule's message could not be sent: it is tried again after its time."""
        self._boxes[index].sent_at = now


def _is_told(finding: Finding, now: float) -> bool:
    """Whether a finding is told at all: it needs attention, or is a milestone."""
    is_news = finding.is_milestone and not finding.is_muted(now)
    return is_news or finding.needs_attention(now)


def _is_for(rule: NotifyRule, box: _Box, fleet: Fleet, finding: Finding) -> bool:
    rank = SEVERITIES.index
    told = box.told.get(finding.id)
    if rank(finding.severity) < rank(rule.severity):
        return False
    if told is not None and rank(finding.severity) <= rank(told):
        return False
    if rule.kinds and finding.kind not in rule.kinds:
        return False
    if rule.machines and finding.machine not in rule.machines:
        return False
    return not rule.tags or not set(rule.tags).isdisjoint(_tags(fleet, finding))


def _tags(fleet: Fleet, finding: Finding) -> Sequence[str]:
    machine = fleet.machines.get(finding.machine) if finding.machine is not None else None
    return machine.tags if machine is not None else ()
