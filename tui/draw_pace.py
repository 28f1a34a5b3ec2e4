"""Limits the time spent on drawing: a slow drawing is followed by a longer pause."""

import time

_EASE = 20.0
"""The pause after a drawing, as a multiple of the drawing's duration..."""
_LONGEST_EASE_S = 2.0
"""... but at most this long."""
_IDLE_EASE, _LONGEST_IDLE_S = 300.0, 10.0
"""The same for drawings of ages only, so that an idle app uses less than 1% of a core. The
compositor uses about as much again, which is not measured here."""


class DrawPace:
    """Measures drawings, and returns when the next one may begin."""

    def __init__(self) -> None:
        self._drawn_until = self._aged_until = 0.0

    @property
    def wait(self) -> float:
        """Seconds to wait before the next drawing of changes; 0 or less: draw now."""
        return self._drawn_until - time.monotonic()

    @property
    def may_age(self) -> bool:
        """Whether ages may be drawn now."""
        return time.monotonic() >= self._aged_until

    def drew(self, began: float) -> None:
        """Record that a drawing of changes ended now; `began` is from `time.monotonic`."""
        ended = time.monotonic()
        self._drawn_until = ended + min((ended - began) * _EASE, _LONGEST_EASE_S)

    def aged(self, began: float) -> None:
        """Record that a drawing of ages ended now; `began` is from `time.monotonic`."""
        ended = time.monotonic()
        self._aged_until = ended + min((ended - began) * _IDLE_EASE, _LONGEST_IDLE_S)
