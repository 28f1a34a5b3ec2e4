"""When the next drawing may begin: a long one is followed by a long pause."""

import time

_EASE = 20.0
"""A drawing that took long is followed by a pause of this many times its length..."""
_LONGEST_EASE_S = 2.0
"""... but never by a longer one."""
_IDLE_EASE, _LONGEST_IDLE_S = 300.0, 10.0
"""The same where only ages changed: drawing them takes less than 1% of a core. What the
compositor then spends on the cells is as much again, and is not counted here."""


class DrawPace:
    """Measures drawings, and says how long to wait until the next one."""

    def __init__(self) -> None:
        self._drawn_until = self._aged_until = 0.0

    @property
    def wait(self) -> float:
        """Seconds to wait until news may be drawn; 0 or less: draw now."""
        return self._drawn_until - time.monotonic()

    @property
    def may_age(self) -> bool:
        """Whether ages may be drawn now."""
        return time.monotonic() >= self._aged_until

    def drew(self, began: float) -> None:
        """A drawing of news ended now; it began at this time of `time.monotonic`."""
        ended = time.monotonic()
        self._drawn_until = ended + min((ended - began) * _EASE, _LONGEST_EASE_S)

    def aged(self, began: float) -> None:
        """A drawing of ages alone ended now; it began at this time of `time.monotonic`."""
        ended = time.monotonic()
        self._aged_until = ended + min((ended - began) * _IDLE_EASE, _LONGEST_IDLE_S)
