"""Reads from the history who revealed text of an evaluated agent, and of which sample."""

import sqlite3
from pathlib import Path

from core.event_codec import event_of
from core.events import ContentRevealed
from storage.readonly import query_readonly

_SELECT = (
    "SELECT body FROM event WHERE kind = 'ContentRevealed' AND at >= ?1 AND (?2 IS NULL OR"
    " machine = ?2) ORDER BY at DESC, id DESC LIMIT ?3"
)


def read_reveals(
    path: Path, *, since: float, machine: str | None, limit: int
) -> tuple[ContentRevealed, ...]:
    """Return the texts revealed since then (Unix seconds), newest first; the file stays as it is.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """

    def read(connection: sqlite3.Connection) -> tuple[ContentRevealed, ...]:
        rows = connection.execute(_SELECT, (since, machine, limit)).fetchall()
        return tuple(event for (body,) in rows if (event := _reveal(body)) is not None)

    return query_readonly(path, "event", read, ())


def _reveal(body: str) -> ContentRevealed | None:
    try:
        event = event_of(body)
    except ValueError:
        return None
    return event if isinstance(event, ContentRevealed) else None
