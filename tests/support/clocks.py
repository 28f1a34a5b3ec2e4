"""Clocks that a test sets."""

import time
from dataclasses import dataclass


@dataclass
class SetClock:
    at: float = 1_800_000_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def later(self, seconds: float) -> float:
        self.at += seconds
        return self.at


class RealClock:
    """The clock of this computer."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class HeldClock:
    """The clock of dialogs that ignore early keys: it moves only when a test says so."""

    def __init__(self) -> None:
        self._now = 1_000.0

    def monotonic(self) -> float:
        return self._now

    def advance(self, seconds: float = 1.0) -> None:
        """Let so much time pass at once."""
        self._now += seconds


DIALOG_CLOCK = HeldClock()
"""Held in place of the real one: `tests.support.idle`."""
