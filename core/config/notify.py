"""The `[[notify]]` tables: who hears of which findings."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A time of each day in which nothing is sent, minutes since local midnight.

    It may pass midnight: from 22:00 to 7:00.
    """

    begin: int
    end: int

    def holds(self, minute: int) -> bool:
        """Return whether a minute of the day is quiet."""
        if self.begin < self.end:
            return self.begin <= minute < self.end
        return minute >= self.begin or minute < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyRule:
    """One `[[notify]]` table.

    Attributes:
        secret: The name of the secret that holds the address, as Apprise writes addresses.
        severity: The least severity that is told.
        kinds, machines, tags: Only findings of these kinds, on these machines, on machines with
            one of these tags; empty: all.
        quiet: When nothing is sent; what is still open then is sent afterwards. None: never.
        every: Seconds between two messages at least; what opens meanwhile is sent together.
    """

    secret: str
    severity: Literal["notice", "suspect", "alarm"] = "alarm"
    kinds: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    quiet: QuietHours | None = None
    every: float = 300.0
