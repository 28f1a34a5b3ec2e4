"""The one SQLite file: opened, kept usable, written by short transactions.

Two evalrooms may use it at once. What can't be used (garbage, a damaged page, another
program's file) is moved aside and kept, and a fresh one is made, at the start or whenever it
shows: the room stays open. A file of a newer evalroom is left alone.
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
from storage.open_lock import alone
from storage.paths import private_file
from storage.schema import (
    DatabaseBusy,
    DatabaseUnusable,
    is_broken,
    prepare,
    primary_code,
    transaction,
)

_BUSY_SECONDS = 10.0
_CLOSE_SECONDS = 2.0

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Database:
    """One open connection. Always close it: `async with Database.at(path)`.

    Attributes:
        path: The file.
        moved_aside: Where the last unusable file went; None: there was none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.moved_aside: Path | None = None
        self._connection: aiosqlite.Connection | None = None
        self._is_wanted = False
        self._inode = 0
        self._turn = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def at(cls, path: Path) -> AsyncGenerator[Self, None]:
        """Open the database at `path`, or a fresh one, and close it in the end.

        Raises:
            DatabaseNewer: A newer evalroom made it.
            StorageError: It can't be opened or made.
        """
        database = cls(path)
        try:
            await database.open()
            yield database
        finally:
            await database.close()

    async def open(self, patience: float = _BUSY_SECONDS) -> None:
        """Open as `at` does; the caller closes.

        Args:
            patience: Seconds to wait for another program that holds the file.

        Raises:
            DatabaseBusy: It is still held.
            StorageError: It can't be opened or made. After either, each use tries again.
        """
        self._is_wanted = True
        await self._open(patience)

    async def close(self) -> None:
        """Close; what hangs is left behind after two seconds. Twice does no harm."""
        self._is_wanted = False
        await self._let_go()

    async def read(self, sql: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query.

        Raises:
            StorageError: They can't be read.
        """
        return await self.look(lambda connection: connection.execute(sql, values).fetchall())

    async def look(self, work: Work[T]) -> T:
        """Run `work`, which only reads; it runs on the database's thread.

        Raises:
            StorageError: It can't be read.
        """
        return await self._run(work)

    async def write(self, work: Work[T]) -> T:
        """Run `work` within one transaction; when it returns, all of it is on disk.

        `work` runs on the database's thread, once; whatever it raises undoes its writes.

        Raises:
            StorageError: Nothing was written.
        """

        def whole(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return work(connection)

        return await self._run(whole)

    async def size(self) -> int:
        """Return the bytes in use; free pages do not count.

        Raises:
            StorageError: It can't be read.
        """
        [row] = await self.read(
            "SELECT (c.page_count - f.freelist_count) * s.page_size AS size"
            " FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s"
        )
        return int(row["size"])

    async def give_back(self) -> None:
        """Return free pages to the disk and cut the write-ahead log.

        Raises:
            StorageError: The disk does not do it.
        """

        def work(connection: sqlite3.Connection) -> None:
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` frees one page alone
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        await self._run(work)

    async def _run(self, work: Work[T]) -> T:
        async with self._turn:
            if not self._is_wanted:
                raise StorageError(f"the history {shown(str(self.path))} is closed")
            if self._connection is None or _inode(self.path) != self._inode:
                await self._let_go()  # not open yet, or deleted or replaced under us
                self._connection = await self._open(_BUSY_SECONDS)
            try:
                return await _on_thread(self._connection, work)
            except (sqlite3.Error, ValueError, OverflowError) as error:
                if is_broken(error):
                    await self._start_afresh()
                raise _said(self.path, error, self.moved_aside) from error

    async def _start_afresh(self) -> None:
        """Move the damaged file aside, unless another evalroom has done so already."""
        inode = self._inode
        await self._let_go()
        async with alone(self.path, _BUSY_SECONDS):
            if _inode(self.path) == inode:
                self.moved_aside = _move_aside(self.path)
            await self._connect(_BUSY_SECONDS)

    async def _open(self, patience: float) -> aiosqlite.Connection:
        private_file(self.path)
        async with alone(self.path, patience):
            try:
                return await self._connect(patience)
            except DatabaseUnusable:
                self.moved_aside = _move_aside(self.path)
                return await self._connect(patience)

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await _close(connection)

    async def _connect(self, patience: float) -> aiosqlite.Connection:
        private_file(self.path)
        inode = _inode(self.path)
        connection = aiosqlite.connect(self.path, timeout=patience, isolation_level=None)
        # A connection that nobody closed must not keep the program alive.
        connection._thread.daemon = True  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        try:
            await connection
            connection.row_factory = sqlite3.Row
            await _on_thread(connection, lambda raw: prepare(raw, self.path))
            await _on_thread(connection, _wait_when_busy)
            self._connection, self._inode = connection, inode
        except sqlite3.Error as error:
            if is_broken(error):
                place = shown(str(self.path))
                raise DatabaseUnusable(f"{place} is no usable database: {error}") from error
            raise _said(self.path, error, None) from error
        else:
            return connection
        finally:
            if self._connection is not connection:
                await _close(connection)


def _wait_when_busy(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}").fetchall()


async def _on_thread(connection: aiosqlite.Connection, work: Work[T]) -> T:
    """Run `work` on the connection's own thread: one hop for a whole transaction."""
    hidden: Any = connection  # aiosqlite has no public way to run several statements as one
    done: asyncio.Future[T] = asyncio.ensure_future(hidden._execute(work, hidden._conn))  # noqa: SLF001
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done])  # no transaction may run on behind a cancelled caller
        raise


async def _close(connection: aiosqlite.Connection) -> None:
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.close()
    except (TimeoutError, ValueError, sqlite3.Error):
        hidden: Any = connection
        hidden.stop()


def _inode(path: Path) -> int:
    """Return the number of the file at `path`; 0 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _move_aside(path: Path) -> Path:
    """Rename the file and its companions; nothing is deleted."""
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
            f"{shown(str(path))} is unusable and can't be moved aside: {error.strerror}",
            "move it away yourself",
        ) from error
    return kept


_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full: make room",
    sqlite3.SQLITE_BUSY: "another program holds it: end that program",
    sqlite3.SQLITE_IOERR: "the disk failed: look at it",
    sqlite3.SQLITE_READONLY: "it can't be written: look at its permissions",
}


def _said(path: Path, error: Exception, moved: Path | None) -> StorageError:
    advice = _ADVICE.get(primary_code(error), "")
    if is_broken(error) and moved is not None:
        advice = f"a fresh one was begun; the damaged one is kept as {shown(moved.name)}"
    kind = DatabaseBusy if primary_code(error) == sqlite3.SQLITE_BUSY else StorageError
    return kind(f"the history {shown(str(path))} failed: {error}", advice)
