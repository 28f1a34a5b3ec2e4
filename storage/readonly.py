"""Reads a history file for a command, without creating or changing anything."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from core.errors import StorageError
from core.text import shown
from storage.schema import check_owner, lenient_text

_BUSY_TIMEOUT_S = 5.0
_ADVICE = "check the file, its folder and the disk that it is on"

T = TypeVar("T")


def query_readonly(
    path: Path, table: str, read: Callable[[sqlite3.Connection], T], default: T
) -> T:
    """Open the history read-only and return the result of `read`.

    Args:
        path: The history file.
        table: The table that `read` needs.
        read: Queries the connection; must not write.
        default: The result if the file, or the table, does not exist.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """
    place = shown(str(path), 1_000)
    try:
        path.stat()
    except FileNotFoundError:
        return default
    except OSError as error:  # a folder on the way is a file, or may not be entered
        raise StorageError(f"can't read the history {place}: {error.strerror}", _ADVICE) from error
    address = f"{path.absolute().as_uri()}?mode=ro"
    known = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_S)) as connection:
            check_owner(connection, path)
            [(count,)] = connection.execute(known, (table,)).fetchall()
            connection.row_factory = sqlite3.Row
            connection.text_factory = lenient_text
            return read(connection) if count else default
    except sqlite3.Error as error:
        raise StorageError(f"can't read the history {place}: {error}", _ADVICE) from error
