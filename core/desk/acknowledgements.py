"""Acknowledgements and mutes of findings that another command or room wrote to the history."""

import asyncio
from collections.abc import Callable

from core.errors import StorageError
from core.events import Event
from core.finding_events import FindingsAcknowledged
from core.fleet import Fleet
from core.judge.finding_list import can_be_acknowledged, covers
from core.ports import EventStore

READ_INTERVAL_S = 3.0


async def follow_acknowledgements(
    store: EventStore,
    fleet: Callable[[], Fleet],
    now: Callable[[], float],
    post: Callable[[Event], None],
) -> None:
    """Post an event for what was acknowledged or muted elsewhere, until cancelled.

    A failed read is tried again.
    """
    last: int | None = None
    while True:
        await asyncio.sleep(READ_INTERVAL_S)
        try:
            read = await store.mutes_after(last or 0)
            for event in read.mutes:
                if last is not None or event.mute.until > now():
                    post(event)
            last = read.last
            done = await _acknowledged(store, fleet)
        except StorageError:
            continue
        if done:
            post(FindingsAcknowledged(at=now(), findings=done))


async def _acknowledged(store: EventStore, fleet: Callable[[], Fleet]) -> tuple[str, ...]:
    waiting = [each.id for each in fleet().findings if can_be_acknowledged(each)]
    if not waiting:
        return ()
    done = {each.id: each for each in await store.acknowledged(waiting)}
    return tuple(
        each.id
        for each in fleet().findings
        if each.id in done and can_be_acknowledged(each) and covers(done[each.id], each)
    )
