"""Reads a sample's events page by page: which page to read next, and what a page adds. Pure.

A cursor never serves an event twice, so an event that was pending when it was served would stay
pending. Pages that held a pending event are therefore read again until it has ended. A retry of
the sample starts its events from the beginning; the server then starts over by itself.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import cast

from core.ctl.decode import count, text
from core.model.sample_detail import EventPage, SampleEvent

MAX_EVENTS = 5_000
"""Events that are kept of one sample; the newest."""
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Bytes of JSON that are kept of one sample. 5,000 usual events take a fifth of it."""
MAX_UNSETTLED_PAGES = 200
"""Pages with pending events that are remembered; the oldest are dropped first."""
REREAD_PAGES = 8
"""Pages with pending events that are read again in one round; the oldest first."""

Cursor = str | None
"""Where a page starts; None: at the first event."""
_NO_EVENTS: Mapping[str, SampleEvent] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFollower:
    """The events of a sample that were read so far, and where to read on.

    Attributes:
        found: Events by uuid (by place if an event has none), oldest first.
        since: The cursor of the next new events.
        unsettled: Cursors of pages that held a pending event.
        dropped: Number of events that were read and are no longer kept.
        restarts: How often the events started over, because the sample was run again.
        over: Whether the sample is over: an event that is pending now stays pending.
        done: Whether the sample is over and all its events were read.
        malformed: A sentence for each event of the last page that could not be read.
    """

    found: Mapping[str, SampleEvent] = field(default_factory=lambda: _NO_EVENTS)
    since: Cursor = None
    unsettled: tuple[Cursor, ...] = ()
    dropped: int = 0
    restarts: int = 0
    over: bool = False
    done: bool = False
    malformed: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[SampleEvent, ...]:
        """The events, oldest first."""
        return tuple(self.found.values())


@dataclass(frozen=True, slots=True)
class _Place:
    """A decoded cursor: the try of the sample, and the number of events before it."""

    nonce: str
    offset: int


_START = _Place("", 0)


def _place(cursor: Cursor) -> _Place | None:
    if cursor is None:
        return _START
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        value: object = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    nonce, offset = text(fields, "n"), count(fields, "i")
    return None if nonce is None or offset is None else _Place(nonce, offset)


def next_reads(following: EventFollower) -> tuple[Cursor, ...]:
    """Return the cursors to read now: pages with pending events, then the next new one."""
    if following.done:
        return ()
    return (*following.unsettled[:REREAD_PAGES], following.since)


def take_page(following: EventFollower, start: Cursor, page: EventPage) -> EventFollower:
    """Return the follower with the events of `page` in it.

    Args:
        following: The events so far.
        start: The cursor that `page` was read from, one of `next_reads`. It may be older than a
            restart of the sample.
        page: The page.
    """
    before, after = _place(start), _place(page.next)
    if _starts_over(following, before, after):
        following = EventFollower(restarts=following.restarts + 1)
        start, before = None, _START
    is_newest = start == following.since or _is_later(after, _place(following.since))
    fresh = _fresh(following, page, before, is_newest=is_newest)
    merged = {**following.found, **fresh}
    kept = _newest(merged)
    # A page whose events are no longer kept need not be read again.
    pending = not following.over and any(each.pending for each in fresh.values())
    unsettled = [
        each
        for each in following.unsettled
        if each != start and not (pending and _covers(before, after, _place(each)))
    ]
    if pending:
        unsettled.append(start)
    since = page.next if page.next is not None and is_newest else following.since
    return replace(
        following,
        found=MappingProxyType(kept),
        since=since,
        unsettled=tuple(unsettled[-MAX_UNSETTLED_PAGES:]),
        dropped=following.dropped + len(merged) - len(kept),
        over=following.over or page.done,
        done=page.done and not unsettled,
        malformed=page.malformed,
    )


def _starts_over(following: EventFollower, before: _Place | None, after: _Place | None) -> bool:
    if after is None or not following.found:
        return False
    known = _place(following.since)
    if known is None or not known.nonce:
        return False
    if after.nonce != known.nonce:
        return True
    # The same try, but the server did not know the cursor and started from the first event.
    return before is not None and after.offset < before.offset


def _fresh(
    following: EventFollower, page: EventPage, before: _Place | None, *, is_newest: bool
) -> dict[str, SampleEvent]:
    """Return the page's known events and the new ones after them.

    An unknown event that comes before a known one, or in a page that was read again, was read
    before and dropped.
    """
    known = following.found
    base = before.offset if before is not None else len(known) + following.dropped
    named = {event.uuid or f"at {base + number}": event for number, event in enumerate(page.events)}
    if not following.dropped:
        return named
    last = max((place for place, name in enumerate(named) if name in known), default=-1)
    return {
        name: event
        for place, (name, event) in enumerate(named.items())
        if name in known or (is_newest and place > last)
    }


def _newest(events: Mapping[str, SampleEvent]) -> dict[str, SampleEvent]:
    """Return the newest events within `MAX_EVENTS` and `MAX_EVENT_BYTES`."""
    kept = dict(list(events.items())[-MAX_EVENTS:]) if len(events) > MAX_EVENTS else dict(events)
    size = sum(len(event.raw) for event in kept.values())
    for name in list(kept):
        if size <= MAX_EVENT_BYTES:
            break
        size -= len(kept.pop(name).raw)
    return kept


def _covers(before: _Place | None, after: _Place | None, other: _Place | None) -> bool:
    """Whether the page from `before` to `after` includes the start of the page at `other`."""
    if before is None or after is None or other is None:
        return False
    return before.offset <= other.offset < after.offset


def _is_later(after: _Place | None, since: _Place | None) -> bool:
    return after is not None and since is not None and after.offset > since.offset
