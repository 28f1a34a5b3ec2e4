"""A finding: something judged from the fleet. It opens, may worsen, and closes."""

from dataclasses import dataclass
from typing import Literal

from core.ids import MachineName, ProcessKey, SampleKey, TaskKey

Severity = Literal["good", "look", "hand", "plain"]
"""What it asks for: nothing, a look (amber), a hand (red)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing.

    Attributes:
        id: The same finding keeps its id while it is open.
        kind: One or two words: `link`, `process`, `finished`, `errors`, `retries`.
        opened_at: Unix seconds at the desk.
        closed_at: None while it is open; a milestone closes at once.
        changed_at: When its text last changed, Unix seconds at the desk.
        count: How often it came (a link that flaps), or of how many things it speaks.
        process: Which process it is about, where it is about one.
        text: What and the evidence with its number, one sentence. Untrusted: made harmless
            when it is drawn.
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
