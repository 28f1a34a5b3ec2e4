"""What changed between two lists of findings: what opened, worsened and closed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from core.model.finding import SEVERITIES, Finding, Severity

ChangeWord = Literal["opened", "worsened", "closed", "renamed"]


class KnownFinding(Protocol):
    """A finding, or how one looked earlier (`core.views.look`)."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def identity(self) -> str:
        """What it is about."""
        ...

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        ...


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding, and what happened to it; `was`: the id that it had before it was renamed."""

    word: ChangeWord
    finding: Finding
    was: str = ""


def finding_changes(
    before: Sequence[KnownFinding], now: Sequence[Finding]
) -> Iterator[FindingChange]:
    """Yield what happened to findings, the oldest finding first.

    A milestone opens and closes at one moment: it opens only. One that opened and closed between
    the two lists does both. Nothing happened to one that only got the id of another room.
    """
    known = {each.id: each for each in before}
    lost = known.keys() - {each.id for each in now}
    renamed = {known[each].identity: known[each] for each in lost if known[each].is_open}
    for finding in reversed(now):
        old = known.get(finding.id) or renamed.get(finding.identity)
        if old is finding:
            continue
        was_open = old is not None and old.is_open
        if finding.is_open:
            if old is None or not was_open:
                yield FindingChange("opened", finding)
            elif SEVERITIES.index(finding.severity) > SEVERITIES.index(old.severity):
                yield FindingChange("worsened", finding)
        elif old is None:
            yield FindingChange("opened", finding)
            if finding.closed_at != finding.opened_at:
                yield FindingChange("closed", finding)
        elif was_open:
            yield FindingChange("closed", finding)
