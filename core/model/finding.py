"""A finding: a fact about the fleet that the operator should know. It opens, and closes."""

import re
from dataclasses import dataclass
from typing import Literal

from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.action import Change, Scope

Severity = Literal["notice", "suspect", "alarm"]
"""notice: nothing to do; suspect: check it; alarm: act on it."""

SEVERITIES: tuple[Severity, ...] = ("notice", "suspect", "alarm")
"""From the least to the most severe."""

ACKNOWLEDGED = "you acknowledge it"
"""What closes a finding that waits for the operator."""


def worse(one: Severity, other: Severity) -> Severity:
    """Return the more severe of two: a finding that is open never eases."""
    return one if SEVERITIES.index(one) >= SEVERITIES.index(other) else other


SAME_START_S = 5.0
"""What began within so many seconds is the same thing, seen by other means."""
_OCCURRENCE = re.compile(r":\d+\.\d{3}$")


def occurrence_id(identity: str, at: float) -> str:
    """Return the id of a finding that may open again later.

    Args:
        identity: What it is about; only one such finding is open at a time.
        at: When this one began or opened, Unix seconds.
    """
    return f"{identity}:{at:.3f}"


def began_apart(one: float | None, other: float | None) -> bool:
    """Whether two starts differ, Unix seconds on one clock; False if one of them is not known."""
    return one is not None and other is not None and abs(one - other) > SAME_START_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An action that a finding proposes. evalroom only proposes; the operator opens its preview.

    Its target is the sample, task or process of the finding.

    Attributes:
        action: The name of an offer of `core.model.action`, such as `cancel-call`.
        scope: The kind of its target.
        changes: For `config`: the settings that help, with their new values.
    """

    action: str
    scope: Scope
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        id: Unique; a finding keeps it while it is open and when it opens again. It ends with a
            time if the same thing may be found again later (`occurrence_id`).
        kind: One or two words: `link`, `process`, `finished`, `errors`, `stall`.
        severity: How bad it is.
        opened_at: When it opened, Unix seconds at the desk.
        machine: The machine that it is about; None: it is about evalroom itself, or about several.
        text: What happened, with numbers, then what to do. Untrusted: it is made harmless when
            it is drawn.
        task, sample, process: The task, sample or process that it is about, if any.
        model, run: The model or the id of the run that it is about; empty: neither.
        closed_at: When it closed; None while it is open. A milestone closes when it opens.
        changed_at: When its text last changed, Unix seconds at the desk; None: never.
        count: How often it happened (a link that flaps), or the number of things that it counts.
        began_at: When its newest occurrence began, Unix seconds at the desk; None: when it opened.
        longest: Seconds of its longest occurrence that is over.
        is_first: Whether it is about a link that has not been up yet, so that nothing was lost.
        is_kept: Whether it stays open until the operator acknowledges it.
        acknowledged_at: When that was, Unix seconds at the desk; None: not yet.
        muted_until: Until when the operator muted it, Unix seconds at the desk; None: it is not.
        cause: The likely cause; empty: unknown. Untrusted, as the text.
        proposals: The actions that may help, the best one first.
        closes_when: What closes it, the end of a sentence: `the call ends`; empty: not known.
        sign: The key of the sign that it stands for (`core.judge.sign`); empty: it has none.
        start: When what it is about began, Unix seconds on the clock of its machine; None: not
            known. What begins later is another finding.
    """

    id: str
    kind: str
    severity: Severity
    opened_at: float
    machine: MachineName | None
    text: str
    task: TaskKey | None = None
    sample: SampleKey | None = None
    closed_at: float | None = None
    changed_at: float | None = None
    count: int = 1
    process: ProcessKey | None = None
    began_at: float | None = None
    longest: float = 0.0
    is_first: bool = False
    is_kept: bool = False
    acknowledged_at: float | None = None
    model: str = ""
    run: str = ""
    muted_until: float | None = None
    cause: str = ""
    proposals: tuple[Proposal, ...] = ()
    closes_when: str = ""
    sign: str = ""
    start: float | None = None

    @property
    def identity(self) -> str:
        """What it is about: the same each time that it opens, and in every room."""
        return _OCCURRENCE.sub("", self.id)

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self.closed_at is None

    @property
    def is_milestone(self) -> bool:
        """Whether it tells of one moment: it closed as it opened."""
        return self.closed_at == self.opened_at

    @property
    def waits(self) -> bool:
        """Whether it is open until the operator acknowledges it."""
        return self.is_kept and self.closed_at is None

    def is_same_as(self, other: "Finding") -> bool:
        """Whether both tell of one thing that began at one time, as two rooms may find it."""
        return self.identity == other.identity and not began_apart(self.start, other.start)

    def is_muted(self, now: float) -> bool:
        """Whether it is muted at `now`, Unix seconds at the desk."""
        return self.muted_until is not None and now < self.muted_until

    def needs_attention(self, now: float) -> bool:
        """Whether it is open, and neither acknowledged nor muted at `now`."""
        return self.is_open and self.acknowledged_at is None and not self.is_muted(now)
