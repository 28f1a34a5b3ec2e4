"""Acknowledgements and mutes of findings that another command or room wrote to the history."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.errors import StorageError
from core.events import Event
from core.finding_events import FindingsAcknowledged, FindingsMuted
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
    last = 0
    while True:
        await asyncio.sleep(READ_INTERVAL_S)
        try:
            read = await store.mutes_after(last)
            last = read.last
            for event in newest_of_each(read.mutes):
                post(event if event.at <= now() else replace(event, at=now()))
            done = await _acknowledged(store, fleet)
        except StorageError:
            continue
        if done:
            post(FindingsAcknowledged(at=now(), findings=done))


def newest_of_each(mutes: Sequence[FindingsMuted]) -> Sequence[FindingsMuted]:
    """Return the newest mute of each choice of findings; it replaces the others."""
    kept: list[FindingsMuted] = []
    for event in reversed(mutes):
        if not any(event.mute.is_like(each.mute) for each in kept):
            kept.append(event)
    return kept[::-1]


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
