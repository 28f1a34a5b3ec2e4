"""How old a frame was when it was received: it may have waited in a pipe, or on a dead network."""

from collections import deque

REMEMBERED = 30
"""How many clock differences are kept; after a step of a clock, ages are wrong for as many."""
SPACING_S = 1.0
"""Seconds between two of them: frames that waited together come in a burst and count once."""
NOTICED_S = 2.0
"""Less than this is the ordinary way of a frame, seconds."""
MAX_AGE_S = 3600.0
"""The highest age, seconds: a probe's lease is a minute, so more is a wrong clock."""


class FrameAges:
    """Compares the host's clock in frames with the desk's; one for each probe.

    The least difference of recent frames is that of a frame that did not wait.
    """

    def __init__(self) -> None:
        self._differences: deque[float] = deque(maxlen=REMEMBERED)
        self._noted_at = float("-inf")

    def age(self, written: float, at: float) -> float:
        """Return how long a frame was on its way, seconds; 0 for the ordinary time.

        Args:
            written: When the probe wrote it, Unix seconds on the host's clock.
            at: When it was received, Unix seconds at the desk.
        """
        difference = at - written
        if abs(at - self._noted_at) >= SPACING_S:
            self._noted_at = at
            self._differences.append(difference)
        age = difference - min(self._differences)
        return min(age, MAX_AGE_S) if age >= NOTICED_S else 0.0
