"""Limits how many processes of one machine are asked at once."""

import asyncio

from core.ids import MachineName

MAX_PROCESSES_AT_ONCE = 16
"""Processes of one machine that are asked at once; its probe accepts 32 open requests in total."""


class ConcurrencyLimit:
    """One semaphore for each machine, shared by all plans and orders of an evalroom."""

    def __init__(self) -> None:
        self._semaphores: dict[MachineName, asyncio.Semaphore] = {}

    def on(self, machine: MachineName) -> asyncio.Semaphore:
        """Return the semaphore to hold while one process of a machine is asked."""
        return self._semaphores.setdefault(machine, asyncio.Semaphore(MAX_PROCESSES_AT_ONCE))
