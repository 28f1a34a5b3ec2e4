"""What the judge remembers of a sign between two readings."""

from dataclasses import dataclass

from core.ids import MachineName, ProcessKey, TaskKey

Subject = MachineName | ProcessKey | TaskKey | None
"""What a kind of finding is judged on; None: the whole fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A sign that was seen in one or more readings.

    Attributes:
        last_reading: The time of the newest reading of its subject, with or without the sign.
        readings: In how many readings it was seen.
        misses: How many of the newest readings, one after the other, did not show it.
        finding: The id of the finding that it opened; empty: it opened none yet.
        start: When what it shows began, as `core.judge.sign.Sign.start`.
    """

    last_reading: float
    readings: int = 1
    misses: int = 0
    finding: str = ""
    start: float | None = None
