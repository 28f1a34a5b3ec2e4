"""The database's shape: whose file it is, the numbered steps, and what a connection needs set."""

import re
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from core.errors import StorageError
from core.text import shown
from storage.filesystems import is_network

APPLICATION_ID = 0x4576_526D
"""Marks the file as ours: `EvRm`."""

CHECKED_WHOLE = 64 << 20
"""Up to this size a file is checked whole when it is opened, bytes; it takes under 0.3 s."""

_PAGE_SIZE = 4096


class DatabaseUnusable(StorageError):
    """The file is no database of ours, or is broken."""


class DatabaseBusy(StorageError):
    """Another program holds the file for too long."""


class DatabaseNewer(StorageError):
    """A newer evalroom made the file; it is left as it is."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check whose file it is, set the connection up, bring the file to today's shape.

    An empty file becomes a database of ours.

    Raises:
        DatabaseUnusable, DatabaseNewer: It is not to be used.
        sqlite3.Error: SQLite can't.
    """
    size = path.stat().st_size
    check_owner(connection, path)
    if size == 0:
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    mode = "DELETE" if is_network(path) else "WAL"  # WAL needs memory shared by all its users
    connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    _migrate(connection, path)
    if size <= CHECKED_WHOLE:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise DatabaseUnusable(f"{shown(str(path))} is damaged")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Write all that the block writes, or nothing. A reader that writes later gets no BUSY."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):  # another evalroom that starts now waits here
        version = check_owner(connection, path)
        for number, sql in migrations():
            if number > version:
                for statement in _statements(sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_owner(connection: sqlite3.Connection, path: Path) -> int:
    """Return the file's version; 0: it is empty.

    Raises:
        DatabaseUnusable, DatabaseNewer: It is not to be used.
    """
    [(owner,)] = connection.execute("PRAGMA application_id").fetchall()
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    [(tables,)] = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    is_empty = owner == 0 and version == 0 and tables == 0
    if owner != APPLICATION_ID and not is_empty:
        raise DatabaseUnusable(f"{shown(str(path))} belongs to another program")
    newest = migrations()[-1][0]
    if version > newest:
        raise DatabaseNewer(
            f"{shown(str(path))} was made by a newer evalroom"
            f" (its shape is {version}, this one knows {newest})",
            "upgrade this evalroom; the file was left as it is",
        )
    return int(version)


def migrations() -> Sequence[tuple[int, str]]:
    """Return every step, (number, SQL), in order."""
    steps: list[tuple[int, str]] = []
    for file in (resources.files("storage") / "migrations").iterdir():
        named = re.fullmatch(r"(\d{4})_\w+\.sql", file.name)
        if named:
            steps.append((int(named[1]), file.read_text(encoding="utf-8")))
    return sorted(steps)


def _statements(sql: str) -> Iterable[str]:
    """Split a script into statements; `executescript` would commit behind our back."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def is_broken(error: Exception) -> bool:
    """Whether SQLite says that the file itself is damaged, or is no database."""
    return primary_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def primary_code(error: Exception) -> int:
    """Return SQLite's primary result code of an error; 0 where it has none."""
    code: object = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0
