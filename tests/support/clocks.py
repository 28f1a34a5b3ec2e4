"""A clock that a test sets."""

import time
from dataclasses import dataclass


@dataclass
class SetClock:
    at: float = 1_800_000_000.0

    def now(self) -> float:
        return self.at

    def later(self, seconds: float) -> float:
        self.at += seconds
        return self.at


class RealClock:
    """The clock of this computer."""

    def now(self) -> float:
        return time.time()
