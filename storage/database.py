"""The history's SQLite file: opens it, repairs it by replacement, and runs short transactions.

Two evalroom instances may use it at once. An unusable file (garbage, a damaged page, another
program's file) is moved aside and replaced with a new one, when opening or whenever the damage
shows, so the room stays open. The file of a newer evalroom is not touched.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import aiosqlite

from core.errors import StorageError
from core.text import shown
from storage.open_lock import open_lock
from storage.paths import private_file
from storage.schema import (
    DatabaseBusy,
    DatabaseUnusable,
    is_broken,
    lenient_text,
    prepare,
    primary_code,
    transaction,
)

_BUSY_TIMEOUT_S = 10.0
_CLOSE_TIMEOUT_S = 2.0

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Database:
    """One open connection. Always close it: `async with Database.at(path)`.

    Attributes:
        path: The file.
        moved_aside: The new path of the last unusable file; None: no file was unusable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.moved_aside: Path | None = None
        self._connection: aiosqlite.Connection | None = None
        self._is_open = False
        self._inode = 0
        self._lock = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def at(cls, path: Path) -> AsyncGenerator[Self, None]:
        """Open or create the database at `path`, and close it after the block.

        Raises:
            DatabaseNewer: A newer evalroom created it.
            StorageError: It can't be opened or created.
        """
        database = cls(path)
        try:
            await database.open()
            yield database
        finally:
            await database.close()

    async def open(self, timeout: float = _BUSY_TIMEOUT_S) -> None:
        """Open or create the database; the caller closes it.

        Args:
            timeout: How long to wait for another program that locks the file, seconds.

        Raises:
            DatabaseBusy: The file is still locked; every later use tries to open it again.
            StorageError: It can't be opened or created; likewise.
        """
        self._is_open = True
        await self._open(timeout)

    async def close(self) -> None:
        """Close the connection, in at most two seconds. May be called twice."""
        self._is_open = False
        await self._disconnect()

    async def read(self, sql: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query.

        Raises:
            StorageError: The database can't be read.
        """
        return await self.run_read(lambda connection: connection.execute(sql, values).fetchall())

    async def run_read(self, work: Work[T]) -> T:
        """Run `work` on the database's thread and return its result; it must only read.

        Raises:
            StorageError: The database can't be read.
        """
        return await self._run(work)

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one transaction; when this returns, its writes are on disk.

        `work` runs once, on the database's thread; an exception rolls its writes back.

        Raises:
            StorageError: Nothing was written.
        """

        def in_transaction(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return work(connection)

        return await self._run(in_transaction)

    async def size(self) -> int:
        """Return the bytes in use, without free pages.

        Raises:
            StorageError: The database can't be read.
        """
        [row] = await self.read(
            "SELECT (c.page_count - f.freelist_count) * s.page_size AS size"
            " FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s"
        )
        return int(row["size"])

    async def release_space(self) -> None:
        """Return free pages to the file system and truncate the write-ahead log.

        Raises:
            StorageError: The database can't be written.
        """

        def work(connection: sqlite3.Connection) -> None:
            connection.executescript(
                "PRAGMA incremental_vacuum"
            )  # `execute` would free one page only
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        await self._run(work)

    async def _run(self, work: Work[T]) -> T:
        async with self._lock:
            if not self._is_open:
                raise StorageError(f"the history {shown(str(self.path))} is closed")
            if self._connection is None or _inode(self.path) != self._inode:
                await self._disconnect()  # not open yet, or the file was deleted or replaced
                self._connection = await self._open(_BUSY_TIMEOUT_S)
            try:
                return await _on_thread(self._connection, work)
            except (sqlite3.Error, ValueError, OverflowError) as error:
                if is_broken(error):
                    await self._replace_damaged()
                raise _storage_error(self.path, error, self.moved_aside) from error

    async def _replace_damaged(self) -> None:
        """Move the damaged file aside, unless another instance already did, and open a new one."""
        inode = self._inode
        await self._disconnect()
        async with open_lock(self.path, _BUSY_TIMEOUT_S):
            if _inode(self.path) == inode:
                self.moved_aside = _move_aside(self.path)
            await self._connect(_BUSY_TIMEOUT_S)

    async def _open(self, timeout: float) -> aiosqlite.Connection:
        private_file(self.path)
        async with open_lock(self.path, timeout):
            try:
                return await self._connect(timeout)
            except DatabaseUnusable:
                self.moved_aside = _move_aside(self.path)
                return await self._connect(timeout)

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await _close(connection)

    async def _connect(self, timeout: float) -> aiosqlite.Connection:
        private_file(self.path)
        inode = _inode(self.path)
        connection = aiosqlite.connect(self.path, timeout=timeout, isolation_level=None)
        # An unclosed connection must not keep the program running.
        connection._thread.daemon = True  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        try:
            await connection
            connection.row_factory = sqlite3.Row
            connection.text_factory = lenient_text
            await _on_thread(connection, lambda raw: prepare(raw, self.path))
            await _on_thread(connection, _set_busy_timeout)
            self._connection, self._inode = connection, inode
        except sqlite3.Error as error:
            if is_broken(error):
                place = shown(str(self.path))
                raise DatabaseUnusable(f"{place} is not a usable database: {error}") from error
            raise _storage_error(self.path, error, None) from error
        else:
            return connection
        finally:
            if self._connection is not connection:
                await _close(connection)


def _set_busy_timeout(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_TIMEOUT_S * 1000)}").fetchall()


async def _on_thread(connection: aiosqlite.Connection, work: Work[T]) -> T:
    """Run `work` on the connection's own thread, so a transaction takes one thread switch."""
    hidden: Any = connection  # aiosqlite has no public way to run several statements in one call
    done: asyncio.Future[T] = asyncio.ensure_future(hidden._execute(work, hidden._conn))  # noqa: SLF001
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done])  # a transaction must not outlive its cancelled caller
        raise


async def _close(connection: aiosqlite.Connection) -> None:
    try:
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await connection.close()
    except (TimeoutError, ValueError, sqlite3.Error):
        hidden: Any = connection
        hidden.stop()


def _inode(path: Path) -> int:
    """Return the inode of the file at `path`; 0: no file."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _move_aside(path: Path) -> Path:
    """Rename the file and its -wal and -shm files, and return the new path."""
    stem = f"{path.name}.unusable-{time.strftime('%Y%m%dT%H%M%S')}"
    kept, count = path.with_name(stem), 0
    while kept.exists():
        count += 1
        kept = path.with_name(f"{stem}.{count}")
    try:
        for suffix in ("-wal", "-shm", ""):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(kept.with_name(kept.name + suffix))
    except OSError as error:
        raise StorageError(
            f"{shown(str(path))} is unusable, and can't be moved aside: {error.strerror}",
            "move it away by hand",
        ) from error
    return kept


_ADVICE = {
    sqlite3.SQLITE_FULL: "free some disk space",
    sqlite3.SQLITE_BUSY: "another program has locked it: quit that program",
    sqlite3.SQLITE_IOERR: "check the disk: it reported an I/O error",
    sqlite3.SQLITE_READONLY: "check the permissions of the file and its folder",
}


def _storage_error(path: Path, error: Exception, moved: Path | None) -> StorageError:
    advice = _ADVICE.get(primary_code(error), "")
    if is_broken(error) and moved is not None:
        advice = f"evalroom started a new one; the damaged file is {shown(moved.name)}"
    kind = DatabaseBusy if primary_code(error) == sqlite3.SQLITE_BUSY else StorageError
    return kind(f"the history {shown(str(path))} failed: {error}", advice)
