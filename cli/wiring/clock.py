"""The clock of this computer."""

import time


class WallClock:
    """`core.ports.Clock`."""

    def now(self) -> float:
        """Return the time, Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds of a clock that is never set."""
        return time.monotonic()
