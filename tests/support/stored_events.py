"""The events in a history, read straight from its table."""

from dataclasses import dataclass

from core.event_codec import event_of
from core.events import Event
from storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One row of the table.

    Attributes:
        desk: The id of the instance that wrote it.
    """

    desk: str
    event: Event


async def stored_events(database: Database) -> list[StoredEvent]:
    """All events, oldest first."""
    rows = await database.read("SELECT desk, body FROM event ORDER BY id")
    return [StoredEvent(desk=row["desk"], event=event_of(row["body"])) for row in rows]
