"""The database's schema: ownership check, migrations and connection settings."""

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
"""Marks a file as evalroom's: `EvRm`."""

MAX_CHECKED_BYTES = 64 << 20
"""A file up to this size is checked for damage when it is opened; that takes under 0.3 s."""

_PAGE_BYTES = 4096


class DatabaseUnusable(StorageError):
    """The file is damaged, or belongs to another program."""


class DatabaseBusy(StorageError):
    """Another program kept the file locked for too long."""


class DatabaseNewer(StorageError):
    """A newer evalroom created the file; it is not touched."""


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is evalroom's, configure the connection, and run the migrations.

    An empty file becomes a new database.

    Raises:
        DatabaseUnusable, DatabaseNewer: The file can't be used.
        sqlite3.Error: SQLite failed.
    """
    size = path.stat().st_size
    check_owner(connection, path)
    if size == 0:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    mode = "DELETE" if is_network(path) else "WAL"  # WAL needs memory that all users share
    connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    _migrate(connection, path)
    if size <= MAX_CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found is None or found[0] != "ok":
            raise DatabaseUnusable(f"{shown(str(path))} is damaged")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Run the block in one transaction. It locks at once, so a later write can't fail as BUSY."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):  # another instance that starts now waits here
        version = check_owner(connection, path)
        for number, sql in migrations():
            if number > version:
                for statement in _statements(sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_owner(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the file's schema; 0: the file is empty.

    Raises:
        DatabaseUnusable: The file belongs to another program.
        DatabaseNewer: A newer evalroom created it.
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
            f"{shown(str(path))} was created by a newer evalroom"
            f" (schema {version}, this one supports {newest})",
            "upgrade this evalroom; the file is unchanged",
        )
    return int(version)


def migrations() -> Sequence[tuple[int, str]]:
    """Return all migrations as (number, SQL), in order."""
    steps: list[tuple[int, str]] = []
    for file in (resources.files("storage") / "migrations").iterdir():
        named = re.fullmatch(r"(\d{4})_\w+\.sql", file.name)
        if named:
            steps.append((int(named[1]), file.read_text(encoding="utf-8")))
    return sorted(steps)


def _statements(sql: str) -> Iterable[str]:
    """Split a script into statements; `executescript` would commit the open transaction."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def lenient_text(data: bytes) -> str:
    """Return a text of the file: bytes that are not UTF-8 spoil their own row only."""
    return data.decode("utf-8", "replace")


def is_broken(error: Exception) -> bool:
    """Whether SQLite reports that the file is damaged, or not a database."""
    return primary_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def primary_code(error: Exception) -> int:
    """Return the primary SQLite result code of an error; 0: it has none."""
    code: object = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0
