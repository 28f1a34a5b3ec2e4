"""A finding: something judged from the fleet. It opens, may worsen, and closes."""

from dataclasses import dataclass
from typing import Literal

from core.ids import MachineName, SampleKey, TaskKey

Tone = Literal["good", "look", "hand", "plain"]
"""What it asks for: nothing, a look (amber), a hand (red)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing.

    Attributes:
        id: The same finding keeps its id while it is open.
        kind: One or two words: `link`, `process`, `finished`, `errors`, `retries`.
        opened_at: Unix seconds at the desk.
        closed_at: None while it is open; a milestone closes at once.
        text: What and the evidence with its number, one sentence. Untrusted: made harmless
            when it is drawn.
    """

    id: str
    kind: str
    tone: Tone
    opened_at: float
    machine: MachineName | None
    text: str
    task: TaskKey | None = None
    sample: SampleKey | None = None
    closed_at: float | None = None
