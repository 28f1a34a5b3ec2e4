"""Following a sample's events by cursor: what to read next, and what a page adds. Pure.

A cursor never serves an event twice, and one that was still pending when it was served stays so
for ever. Pages that held a pending event are therefore read again until it is settled. A retry
of the sample starts its events afresh; the server then starts over by itself.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import cast

from core.ctl.decode import count, text
from core.model.detail import EventPage, SampleEvent

KEPT = 5_000
"""Newest events that are kept of one sample."""
REREAD = 8
"""Pages with pending events that are read again at a time; the oldest come first."""

Cursor = str | None
"""Where a page starts; None is the beginning."""
_NO_EVENTS: Mapping[str, SampleEvent] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """What is known of a sample's events so far.

    Attributes:
        found: By uuid (or place, where an event has none), oldest first.
        since: Where the next new events start.
        unsettled: Where the pages start that held a pending event.
        dropped: Events that were known and are no longer kept.
        restarts: How often the events started afresh (the sample was run again).
        done: The sample is over, and all its events are here and settled.
        malformed: Sentences for events of the last page that could not be read.
    """

    found: Mapping[str, SampleEvent] = field(default_factory=lambda: _NO_EVENTS)
    since: Cursor = None
    unsettled: tuple[Cursor, ...] = ()
    dropped: int = 0
    restarts: int = 0
    done: bool = False
    malformed: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[SampleEvent, ...]:
        """The events, oldest first."""
        return tuple(self.found.values())


@dataclass(frozen=True, slots=True)
class _Place:
    """What a cursor says: of which try of the sample, and how many events lie before it."""

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


def next_reads(following: Following) -> tuple[Cursor, ...]:
    """Return the cursors to read from now: unsettled pages, then what is new."""
    if following.done:
        return ()
    return (*following.unsettled[:REREAD], following.since)


def take_page(following: Following, start: Cursor, page: EventPage) -> Following:
    """Return what is known after `page`, which was read from `start`.

    `start` is one of `next_reads`; a page that was asked for before a restart is harmless.
    """
    before, after = _place(start), _place(page.next)
    if _starts_over(following, before, after):
        following = Following(restarts=following.restarts + 1)
        start, before = None, _START
    merged = _merged(following.found, page, before)
    kept = dict(list(merged.items())[-KEPT:]) if len(merged) > KEPT else merged
    pending = any(event.pending for event in page.events)
    unsettled = [
        each
        for each in following.unsettled
        if each != start and not (pending and _covers(before, after, _place(each)))
    ]
    if pending:
        unsettled.append(start)
    is_newest = start == following.since or _is_later(after, _place(following.since))
    since = page.next if page.next is not None and is_newest else following.since
    return replace(
        following,
        found=MappingProxyType(kept),
        since=since,
        unsettled=tuple(unsettled),
        dropped=following.dropped + len(merged) - len(kept),
        done=page.done and not unsettled,
        malformed=page.malformed,
    )


def _starts_over(following: Following, before: _Place | None, after: _Place | None) -> bool:
    if after is None or not following.found:
        return False
    known = _place(following.since)
    if known is None or not known.nonce:
        return False
    if after.nonce != known.nonce:
        return True
    # The same try, but the server did not know the cursor: it began at the beginning.
    return before is not None and after.offset < before.offset


def _merged(
    known: Mapping[str, SampleEvent], page: EventPage, before: _Place | None
) -> dict[str, SampleEvent]:
    merged = dict(known)
    base = before.offset if before is not None else len(merged)
    for number, event in enumerate(page.events):
        merged[event.uuid or f"at {base + number}"] = event
    return merged


def _covers(before: _Place | None, after: _Place | None, other: _Place | None) -> bool:
    """Whether a page from `before` to `after` holds what starts at `other`."""
    if before is None or after is None or other is None:
        return False
    return before.offset <= other.offset < after.offset


def _is_later(after: _Place | None, since: _Place | None) -> bool:
    return after is not None and since is not None and after.offset > since.offset
