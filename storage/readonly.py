"""A glance into the history of a file, for commands: nothing in it is made or changed."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from core.errors import StorageError
from core.text import shown
from storage.schema import check_owner

_PATIENCE = 5.0

T = TypeVar("T")


def glance(path: Path, table: str, read: Callable[[sqlite3.Connection], T], nothing: T) -> T:
    """Return what `read` reads of the file at `path`.

    Args:
        path: The history.
        table: What it must have; a file that is not there, or is from before that, has none.
        read: Reads; it changes nothing.
        nothing: What is returned where there is none.

    Raises:
        StorageError: It can't be read, or is none of ours; it is left as it is.
    """
    if not path.exists():
        return nothing
    place = shown(str(path), 1_000)
    address = f"{path.absolute().as_uri()}?mode=ro"
    known = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as connection:
            check_owner(connection, path)
            [(count,)] = connection.execute(known, (table,)).fetchall()
            connection.row_factory = sqlite3.Row
            return read(connection) if count else nothing
    except sqlite3.Error as error:
        raise StorageError(f"the history {place} can't be read: {error}") from error
