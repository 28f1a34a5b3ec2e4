"""How much is asked of one machine at once: a plan on hundreds of processes leaves room."""

import asyncio

from core.ids import MachineName

LANES = 16
"""Processes of one machine that are asked side by side; its probe takes 32 requests in all."""


class ConcurrencyLimit:
    """The lanes to each machine, shared by all plans and orders of an evalroom."""

    def __init__(self) -> None:
        self._lanes: dict[MachineName, asyncio.Semaphore] = {}

    def to(self, machine: MachineName) -> asyncio.Semaphore:
        """Return what is held while one process of a machine is asked."""
        return self._lanes.setdefault(machine, asyncio.Semaphore(LANES))
