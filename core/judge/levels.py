"""Levels with two bounds: one to open a finding, and a lower one to close it."""

import math
from dataclasses import dataclass

from core.model.finding import Severity


@dataclass(frozen=True, slots=True)
class Level:
    """From where a value is bad.

    Attributes:
        suspect, alarm: From these values on it is suspect, or an alarm.
        eases: The part of `suspect` below which a finding that is open may close.
    """

    suspect: float
    alarm: float
    eases: float = 0.9

    def shows(self, value: float, *, is_open: bool) -> bool:
        """Whether a value is bad, or not good enough yet to close what is open."""
        return value >= self.suspect * (self.eases if is_open else 1.0)

    def severity(self, value: float) -> Severity:
        """Return how bad a value is that shows."""
        return "alarm" if value >= self.alarm else "suspect"


def step_down(value: float, step: float) -> int:
    """Return the multiple of `step` below a value, so that a sentence does not change each time."""
    return math.floor(value / step) * int(step) if math.isfinite(value) else 0


def power_below(value: float) -> int:
    """Return the power of two at or below a number, for a sentence that says `or more`."""
    return int(2 ** math.floor(math.log2(max(1.0, min(value, 1e18)))))


def power_above(value: float) -> int:
    """Return the power of two above a value, for a sentence that says `under`."""
    return int(2 ** math.ceil(math.log2(max(1.0, min(value, 1e18)))))
