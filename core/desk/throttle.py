"""Publishes the fleet to screens: at most ten times a second, the newest state only."""

import asyncio
from collections.abc import Callable

from core.fleet import Fleet
from core.ports import FleetUpdate, Show
from core.signal import Signal
from core.views.changes import only_older

PUBLISH_INTERVAL_S = 0.1
"""Minimum seconds between two updates."""
QUIET_DELAY_S = 1.0
"""Maximum seconds until a change is published that only affects ages."""


class FleetPublisher:
    """Holds the newest fleet and publishes it to its subscribers.

    Attributes:
        fleet: The newest fleet, published or not.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._published = FleetUpdate(fleet=fleet, revision=0)
        self._updates = Signal[FleetUpdate]()
        self._changed = asyncio.Event()
        self._is_urgent = asyncio.Event()

    def subscribe(self, show: Show) -> Callable[[], None]:
        """Call `show` with each update from now on; return the function that ends that."""
        return self._updates.connect(show)

    def change(self, fleet: Fleet, *, urgent: bool = True) -> None:
        """Replace the newest fleet; a change that is not urgent may wait `QUIET_DELAY_S`."""
        self.fleet = fleet
        self._changed.set()
        if urgent:
            self._is_urgent.set()

    async def run(self) -> None:
        """Publish until cancelled; while nothing changes, no subscriber is called."""
        while True:
            await self._changed.wait()
            try:
                async with asyncio.timeout(QUIET_DELAY_S):
                    await self._is_urgent.wait()
            except TimeoutError:
                pass
            self.publish()
            await asyncio.sleep(PUBLISH_INTERVAL_S)

    def publish(self) -> None:
        """Call every subscriber with the newest fleet, now."""
        self._changed.clear()
        self._is_urgent.clear()
        before = self._published
        is_same = only_older(before.fleet, self.fleet)
        self._published = FleetUpdate(
            fleet=self.fleet, revision=before.revision if is_same else before.revision + 1
        )
        self._updates.emit(self._published)
