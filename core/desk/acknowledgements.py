"""Acknowledgements of findings that a command or another room wrote to the history."""

import asyncio
from collections.abc import Callable

from core.errors import StorageError
from core.events import Event, FindingsAcknowledged
from core.fleet import Fleet
from core.ports import EventStore

READ_INTERVAL_S = 3.0


async def follow_acknowledgements(
    store: EventStore,
    fleet: Callable[[], Fleet],
    now: Callable[[], float],
    post: Callable[[Event], None],
) -> None:
    """Post an event for findings that were acknowledged elsewhere, until cancelled.

    The history is read only while a finding waits for the operator. A failed read is tried again.
    """
    while True:
        await asyncio.sleep(READ_INTERVAL_S)
        waiting = [each.id for each in fleet().findings if each.waits]
        if not waiting:
            continue
        try:
            done = await store.acknowledged(waiting)
        except StorageError:
            continue
        if done:
            post(FindingsAcknowledged(at=now(), findings=tuple(done)))
