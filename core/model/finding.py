"""A finding: a fact about the fleet that the operator should know. It opens, and closes."""

from dataclasses import dataclass
from typing import Literal

from core.ids import MachineName, ProcessKey, SampleKey, TaskKey

Severity = Literal["good", "warning", "error", "plain"]
"""good and plain: nothing to do; warning: check it; error: act on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        id: Unique; a finding keeps it while it is open and when it opens again.
        kind: One or two words: `link`, `process`, `finished`, `errors`, `retries`.
        tone: Its severity.
        opened_at: When it opened, Unix seconds at the desk.
        machine: The machine that it is about; None: it is about evalroom itself.
        text: What happened, with numbers, then what to do. Untrusted: it is made harmless when
            it is drawn.
        task, sample, process: The task, sample or process that it is about, if any.
        closed_at: When it closed; None while it is open. A milestone closes when it opens.
        changed_at: When its text last changed, Unix seconds at the desk; None: never.
        count: How often it happened (a link that flaps), or the number of things that it counts.
        began_at: When its newest occurrence began, Unix seconds at the desk; None: when it opened.
        longest: Seconds of its longest occurrence that is over.
        is_first: Whether it is about a link that has not been up yet, so that nothing was lost.
        is_kept: Whether it stays open until the operator acknowledges it.
        acknowledged_at: When that was, Unix seconds at the desk; None: not yet.
    """

    id: str
    kind: str
    tone: Severity
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

    @property
    def waits(self) -> bool:
        """Whether it is open until the operator acknowledges it."""
        return self.is_kept and self.closed_at is None
