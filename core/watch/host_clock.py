"""Compares a host's clock with the desk's: finds steps, and how long frames took to arrive."""

from collections import deque

from core.ctl.decode import JsonObject, number

CLOCK_STEP_S = 5.0
"""If a clock differs from its known offset by more than this, someone set it."""
REMEMBERED = 30
"""How many differences of the clocks are kept for the ages of frames."""
SPACING_S = 1.0
"""Seconds between two of them: a burst of delayed frames counts once."""
NOTICED_S = 2.0
"""A frame that took less than this was not delayed, seconds."""
MAX_AGE_S = 3600.0
"""The highest age, seconds. A probe's lease is a minute: a higher age is a wrong clock."""


class HostClock:
    """The clock of one host, as the frames of one probe show it.

    Args:
        offset: The host's clock minus the desk's at the probe's hello, seconds; None: unknown.
    """

    def __init__(self, offset: float | None = None) -> None:
        self._offset = offset
        self._odd_offset: float | None = None
        """The offset of the last beat, if it differs: two equal ones are a step, one is a delay."""
        self._differences: deque[float] = deque(maxlen=REMEMBERED)
        """The desk's clock minus the host's; the smallest is from a frame without delay."""
        self._noted_at = self._last = float("-inf")
        self._beat_at = float("-inf")
        """When the last beat was received; the beats of a burst show no step."""

    def step(self, beat: JsonObject, at: float) -> float | None:
        """Return the new offset if one of the clocks was set; None: neither was.

        Args:
            beat: The head of a beat.
            at: When it was received, Unix seconds at the desk.
        """
        clock = number(beat, "at")
        if clock is None or self._offset is None or abs(at - self._beat_at) < SPACING_S:
            return None
        self._beat_at = at
        offset, odd = clock - at, self._odd_offset
        self._odd_offset = None
        if abs(offset - self._offset) <= CLOCK_STEP_S:
            return None
        if odd is None or abs(offset - odd) > CLOCK_STEP_S:
            self._odd_offset = offset
            return None
        self._offset = offset
        self._differences.clear()
        return offset

    def written_at(self, head: JsonObject, at: float) -> float:
        """Return when a frame was written, Unix seconds at the desk.

        It may have waited in a pipe or on a dead network, so its rows may be old. A later
        frame is not older than one before it, unless the desk's clock was set back.

        Args:
            head: Its head.
            at: When it was received, Unix seconds at the desk.
        """
        clock, took = number(head, "at"), number(head, "took") or 0.0
        found = at if clock is None else at - self._age(clock + max(0.0, took), at)
        self._last = max(found, self._last) if self._last <= at else found
        return self._last

    def _age(self, written: float, at: float) -> float:
        difference = at - written
        if abs(at - self._noted_at) >= SPACING_S or not self._differences:
            self._noted_at = at
            self._differences.append(difference)
        age = difference - min(self._differences)
        return min(age, MAX_AGE_S) if age >= NOTICED_S else 0.0
