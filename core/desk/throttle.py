"""Showing the fleet: at most ten times a second, the newest replacing the rest."""

import asyncio
from collections.abc import Callable

from core.fleet import Fleet
from core.ports import Show
from core.signal import Signal

SHORTEST = 0.1
"""Seconds between two showings."""
QUIET = 1.0
"""Seconds that a change of ages alone may wait to be shown."""


class FleetPublisher:
    """Whoever wants to see the fleet, and when they see it next."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._shown = Signal[Fleet]()
        self._loud = asyncio.Event()
        self._changed = asyncio.Event()

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` at each showing from now on; returns what ends that."""
        return self._shown.connect(show)

    def change(self, fleet: Fleet, *, loud: bool = True) -> None:
        """Take the newest fleet; a quiet change (ages alone) may wait a moment longer."""
        self.fleet = fleet
        self._changed.set()
        if loud:
            self._loud.set()

    async def run(self) -> None:
        """Show until cancelled; while nothing changes, nothing is called."""
        while True:
            await self._changed.wait()
            try:
                async with asyncio.timeout(QUIET):
                    await self._loud.wait()
            except TimeoutError:
                pass
            self.show()
            await asyncio.sleep(SHORTEST)

    def show(self) -> None:
        """Show the fleet now."""
        self._changed.clear()
        self._loud.clear()
        self._shown.emit(self.fleet)
