"""Limits how much is read from a machine, and when: reading takes time and memory."""

import asyncio
import time


class ReadGate(asyncio.Event):
    """Set while data may be read; set at first."""

    def __init__(self) -> None:
        super().__init__()
        self.set()

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on."""
        if is_held:
            self.clear()
        else:
            self.set()


class ReadPace:
    """Lets a reader go on at once after a usual amount of data, and slows it down after more.

    Args:
        rate: Bytes per second in the long run.
        burst: Bytes that may come at once.
    """

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = self._credit = burst
        self._at = time.monotonic()

    async def after(self, size: int) -> None:
        """Return when the next data may be read, after `size` bytes."""
        now = time.monotonic()
        self._credit = min(self._burst, self._credit + (now - self._at) * self._rate) - size
        self._at = now
        if self._credit < 0:
            await asyncio.sleep(-self._credit / self._rate)
