"""The journal: what is worth keeping of the events, and each task's progress over time.

It keeps to a size. Progress is thinned as it ages (every point for an hour, then one a minute,
after a day one in ten minutes, after a week one an hour); when the file is still larger than
its limit, the oldest goes: events and progress first, settled orders once none of those is left.
"""

import asyncio
import math
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from core.event_codec import line_of
from core.events import ContentRevealed, Event
from core.ids import TaskKey
from core.model.task import ProgressPoint
from core.ports import Clock
from storage.database import Database
from storage.event_columns import about, task_columns
from storage.history import progress_of
from storage.identity import operator_name
from storage.retention import Worth

TIDY_EVERY = 600.0
"""Seconds between two rounds of thinning."""

_HOUR, _DAY, _WEEK = 3_600.0, 86_400.0, 604_800.0
_BANDS = ((_HOUR, _DAY, 60), (_DAY, _WEEK, 600), (_WEEK, math.inf, 3_600))
"""(younger edge, older edge, bucket), seconds: one point is kept per bucket."""

_REST_KEPT = 60.0
_LARGEST = 2**63 - 1
_ROUNDS = 30


class Journal:
    """`core.ports.EventStore` over the database."""

    def __init__(self, database: Database, *, limit_mib: int, clock: Clock) -> None:
        self._database = database
        self._limit = limit_mib << 20
        self._clock = clock
        self._worth = Worth()
        self._desk = secrets.token_hex(4)
        self._last: dict[TaskKey, ProgressPoint] = {}
        self._tidied: float | None = None
        self._operator: str | None = None

    async def keep(self, events: Sequence[Event]) -> None:
        """Write the events worth keeping; returns when they are on disk.

        Raises:
            StorageError: They are not.
        """
        worth = [each for each in map(self._worth.of, events) if each is not None]
        if not worth:
            return
        rows = [self._row(await self._signed(event)) for event in worth]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO event (at, desk, kind, machine, pid, start, task_id, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

        await self._database.write(work)

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        """Write points of tasks' progress, and tidy up when it is time.

        Raises:
            StorageError: They are not on disk.
        """
        moved = [pair for pair in points if self._has_moved(*pair)]
        if moved:
            await self._database.write(lambda connection: _write_points(connection, moved))
            self._last.update(moved)
            if len(self._last) > 10 * len(points) + 1_000:
                self._last.clear()
        now = self._clock.now()
        if self._tidied is None or now - self._tidied >= TIDY_EVERY:
            await self.tidy(now)

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's kept points, oldest first.

        Raises:
            StorageError: They can't be read.
        """
        return await progress_of(self._database, task)

    async def tidy(self, now: float) -> None:
        """Thin what has aged since the last time, then keep to the size.

        Raises:
            StorageError: The disk does not do it; it is tried again later.
        """
        before, self._tidied = self._tidied, now
        await self._database.write(lambda connection: _thin(connection, now, before))
        steps = (*_ROUNDS * (_drop_oldest,), _drop_all, *_ROUNDS * (_drop_oldest_orders,))
        for step in steps:
            if await self._database.size() <= self._limit:
                break
            await self._database.write(step)
        await self._database.give_back()

    def _has_moved(self, task: TaskKey, point: ProgressPoint) -> bool:
        """Whether a point differs from the last kept one, or that one is a minute old."""
        last = self._last.get(task)
        return (
            last is None
            or (last.done, last.errored, last.in_flight, last.tokens)
            != (point.done, point.errored, point.in_flight, point.tokens)
            or point.at - last.at >= _REST_KEPT
        )

    async def _signed(self, event: Event) -> Event:
        """Return an event with who did it, where that is asked of it."""
        if not isinstance(event, ContentRevealed) or event.operator:
            return event
        if self._operator is None:
            self._operator = await asyncio.to_thread(operator_name)
        return replace(event, operator=self._operator)

    def _row(self, event: Event) -> tuple[object, ...]:
        return (event.at, self._desk, type(event).__name__, *about(event), line_of(event))


def _write_points(
    connection: sqlite3.Connection, points: Sequence[tuple[TaskKey, ProgressPoint]]
) -> None:
    names = {task: task_columns(task) for task, _ in points}
    connection.executemany(
        "INSERT OR IGNORE INTO task (machine, pid, start, task_id) VALUES (?, ?, ?, ?)",
        list(names.values()),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO progress (task, at, done, errored, in_flight, tokens)"
        " SELECT id, ?, ?, ?, ?, ? FROM task"
        " WHERE machine = ? AND pid = ? AND start = ? AND task_id = ?",
        [
            (
                point.at,
                _whole(point.done),
                _whole(point.errored),
                _whole(point.in_flight),
                _whole(point.tokens),
                *names[task],
            )
            for task, point in points
        ],
    )


def _whole(value: int | None) -> int | None:
    return None if value is None else max(-_LARGEST, min(value, _LARGEST))


def _thin(connection: sqlite3.Connection, now: float, before: float | None) -> None:
    for young, old, bucket in _BANDS:
        newest = now - young
        # Older ones of a band were thinned the last time; a bucket's width covers the seam.
        since = -math.inf if before is None else before - young - bucket
        since = max(since, now - old)
        connection.execute(
            "DELETE FROM progress WHERE (task, at) IN ("
            " SELECT task, at FROM ("
            "  SELECT task, at, row_number() OVER ("
            "   PARTITION BY task, CAST(at / ? AS INTEGER) ORDER BY at DESC) AS place"
            "  FROM progress WHERE at >= ? AND at < ?) WHERE place > 1)",
            (bucket, since, newest),
        )


def _drop_oldest(connection: sqlite3.Connection) -> None:
    """Drop the oldest tenth of the time that is kept."""
    for table in ("event", "progress"):
        connection.execute(
            f"DELETE FROM {table} WHERE at <="  # noqa: S608 - one of two names of ours
            f" (SELECT min(at) + max(1.0, (max(at) - min(at)) / 10.0) FROM {table})"
        )
    connection.execute("DELETE FROM task WHERE id NOT IN (SELECT DISTINCT task FROM progress)")


def _drop_all(connection: sqlite3.Connection) -> None:
    """Drop what is left of events and progress: orders alone fill nearly all there is."""
    for table in ("event", "progress", "task"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours


def _drop_oldest_orders(connection: sqlite3.Connection) -> None:
    """Drop a tenth of the orders of which it is known what became of them, the oldest."""
    connection.execute(
        "DELETE FROM orders WHERE rowid IN ("
        " SELECT rowid FROM orders WHERE state NOT IN ('intent', 'unknown') ORDER BY at LIMIT ("
        "  SELECT count(*) / 10 + 1 FROM orders WHERE state NOT IN ('intent', 'unknown')))"
    )
