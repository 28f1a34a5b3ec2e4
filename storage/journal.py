"""The journal: stores events that change a state, and each task's progress over time.

It limits its size. Progress is thinned as it ages (all points of the last hour, one per minute of
the last day, one per ten minutes of the last week, then one per hour). If the file is still over
its limit, the oldest rows are deleted: events and progress first, then orders with a known outcome.
"""

import asyncio
import math
import secrets
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace

from core.desk.past import Past
from core.event_codec import line_of
from core.events import ContentRevealed, Event
from core.finding_events import FindingsMuted, SameFinding
from core.ids import TaskKey
from core.model.finding import Finding
from core.model.mute import MAX_MUTE_S
from core.model.task import ProgressPoint
from core.ports import Clock, MutesRead
from storage.database import Database
from storage.event_columns import event_columns, task_columns
from storage.finding_rows import acknowledged_findings, forget_told, write_findings
from storage.identity import operator_name
from storage.order_rows import IS_OPEN
from storage.past import read_mutes, read_past
from storage.retention import EventFilter

TIDY_EVERY_S = 600.0
"""How often the journal thins and limits itself, seconds."""

_HOUR_S, _DAY_S, _WEEK_S = 3_600.0, 86_400.0, 604_800.0
_THINNING_BANDS = ((_HOUR_S, _DAY_S, 60), (_DAY_S, _WEEK_S, 600), (_WEEK_S, math.inf, 3_600))
"""(minimum age, maximum age, bucket), all in seconds: one point per bucket is kept."""

_UNCHANGED_EVERY_S = 60.0
_SLICE_S = 0.01
"""Seconds of work after which the event loop has a turn."""
_MAX_INTEGER = 2**63 - 1
_MAX_ROUNDS = 30


class Journal:
    """Implements `core.ports.EventStore` with the database."""

    def __init__(self, database: Database, *, limit_mib: int, clock: Clock) -> None:
        self._database = database
        self._limit = limit_mib << 20
        self._clock = clock
        self._filter = EventFilter()
        self._desk = secrets.token_hex(4)
        self._last: dict[TaskKey, ProgressPoint] = {}
        self._tidied_at: float | None = None
        self._operator: str | None = None

    async def keep(self, events: Sequence[Event]) -> None:
        """Store the events that change a state; returns when they are on disk.

        Raises:
            StorageError: They could not be written.
        """
        rows = list[Sequence[object]]()
        began = time.monotonic()
        mutes = [each for each in events if isinstance(each, FindingsMuted)]
        if mutes:
            await self._keep_mutes(mutes)
        for event in events:
            changed = self._filter.changed_part(event)
            if changed is not None:
                rows.append(self._row(await self._with_operator(changed)))
            if time.monotonic() - began > _SLICE_S:
                await asyncio.sleep(0)
                began = time.monotonic()
        if not rows:
            return

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO event (at, desk, kind, machine, pid, start, task_id, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

        await self._database.write(work)

    async def _keep_mutes(self, mutes: Sequence[FindingsMuted]) -> None:
        rows = [(each.id, each.at, self._desk, line_of(each)) for each in mutes]
        sql = "INSERT OR IGNORE INTO mute (id, at, desk, body) VALUES (?, ?, ?, ?)"
        await self._database.write(lambda connection: connection.executemany(sql, rows))

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        """Store points of tasks' progress; runs `tidy` every `TIDY_EVERY_S`.

        Raises:
            StorageError: They could not be written.
        """
        changed = [pair for pair in points if self._is_worth_keeping(*pair)]
        if changed:
            await self._database.write(lambda connection: _write_points(connection, changed))
            self._last.update(changed)
            if len(self._last) > 10 * len(points) + 1_000:
                self._last.clear()
        now = self._clock.now()
        if self._tidied_at is None or now - self._tidied_at >= TIDY_EVERY_S:
            await self.tidy(now)

    async def keep_findings(self, findings: Sequence[Finding]) -> Sequence[SameFinding]:
        """Store findings that opened, changed or closed.

        A finding that was acknowledged elsewhere stays so, unless it opened again since. One that
        another room opened before keeps the id that the history has for it.

        Returns:
            The findings that were stored under such an id.

        Raises:
            StorageError: They could not be written.
        """
        return await self._database.write(lambda connection: write_findings(connection, findings))

    async def acknowledged(self, findings: Sequence[str]) -> Sequence[Finding]:
        """Return those of these findings, by id, that the operator acknowledged anywhere.

        Raises:
            StorageError: They can't be read.
        """
        return await self._database.run_read(
            lambda connection: list(acknowledged_findings(connection, findings).values())
        )

    async def mutes_after(self, number: int) -> MutesRead:
        """Return the mutes that other instances stored after the one with this number.

        Raises:
            StorageError: They can't be read.
        """

        def read(connection: sqlite3.Connection) -> MutesRead:
            found = read_mutes(connection, number, without=self._desk)
            [(last,)] = connection.execute("SELECT ifnull(max(number), 0) FROM mute").fetchall()
            return MutesRead(tuple(event for _, event in found), max(number, last))

        return await self._database.run_read(read)

    async def past(self, since: float) -> Past:
        """Return what the history knows since then, Unix seconds.

        Raises:
            StorageError: It can't be read.
        """
        return await self._database.run_read(lambda connection: read_past(connection, since))

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return the stored points of a task, oldest first.

        Raises:
            StorageError: They can't be read.
        """
        rows = await self._database.read(
            "SELECT at, done, errored, in_flight, tokens FROM progress"
            " WHERE task = (SELECT id FROM task"
            "  WHERE machine = ? AND pid = ? AND start = ? AND task_id = ?) ORDER BY at",
            task_columns(task),
        )
        return tuple(
            ProgressPoint(
                at=row["at"],
                done=row["done"],
                errored=row["errored"],
                in_flight=row["in_flight"],
                tokens=row["tokens"],
            )
            for row in rows
        )

    async def tidy(self, now: float) -> None:
        """Thin the progress that has aged since the last call, then enforce the size limit.

        Raises:
            StorageError: The database can't be written; a later call tries again.
        """
        before, self._tidied_at = self._tidied_at, now
        await self._database.write(lambda connection: _thin(connection, now, before))
        await self._database.write(
            lambda connection: connection.execute(
                "DELETE FROM mute WHERE at < ?", (now - MAX_MUTE_S,)
            )
        )
        await self._database.write(lambda connection: forget_told(connection, now))
        steps = (
            *_MAX_ROUNDS * (_drop_oldest,),
            _drop_all_events,
            *_MAX_ROUNDS * (_drop_oldest_orders,),
        )
        for step in steps:
            if await self._database.size() <= self._limit:
                break
            await self._database.write(step)
        await self._database.release_space()

    def _is_worth_keeping(self, task: TaskKey, point: ProgressPoint) -> bool:
        """Whether a point differs from the last stored one, or that one is a minute old."""
        last = self._last.get(task)
        return (
            last is None
            or (last.done, last.errored, last.in_flight, last.tokens)
            != (point.done, point.errored, point.in_flight, point.tokens)
            or point.at - last.at >= _UNCHANGED_EVERY_S
        )

    async def _with_operator(self, event: Event) -> Event:
        """Return a `ContentRevealed` with the operator's name filled in; other events unchanged."""
        if not isinstance(event, ContentRevealed) or event.operator:
            return event
        if self._operator is None:
            self._operator = await asyncio.to_thread(operator_name)
        return replace(event, operator=self._operator)

    def _row(self, event: Event) -> tuple[object, ...]:
        return (event.at, self._desk, type(event).__name__, *event_columns(event), line_of(event))


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
                _clamped(point.done),
                _clamped(point.errored),
                _clamped(point.in_flight),
                _clamped(point.tokens),
                *names[task],
            )
            for task, point in points
        ],
    )


def _clamped(value: int | None) -> int | None:
    return None if value is None else max(-_MAX_INTEGER, min(value, _MAX_INTEGER))


def _thin(connection: sqlite3.Connection, now: float, before: float | None) -> None:
    for young, old, bucket in _THINNING_BANDS:
        newest = now - young
        # The last call thinned the older part of a band; go back one bucket further.
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
    """Delete the events and progress of the oldest tenth of the stored time span."""
    for table in ("event", "progress", "finding"):
        connection.execute(
            f"DELETE FROM {table} WHERE at <="  # noqa: S608 - fixed names
            f" (SELECT min(at) + max(1.0, (max(at) - min(at)) / 10.0) FROM {table})"
        )
    connection.execute("DELETE FROM task WHERE id NOT IN (SELECT DISTINCT task FROM progress)")


def _drop_all_events(connection: sqlite3.Connection) -> None:
    """Delete all events and progress, when orders fill almost the whole limit."""
    for table in ("event", "progress", "task", "finding"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - fixed names


def _drop_oldest_orders(connection: sqlite3.Connection) -> None:
    """Delete the oldest tenth of the orders with a known outcome."""
    connection.execute(
        "DELETE FROM orders WHERE rowid IN ("  # noqa: S608 - fixed text
        f" SELECT rowid FROM orders WHERE NOT {IS_OPEN} ORDER BY at LIMIT ("
        f"  SELECT count(*) / 10 + 1 FROM orders WHERE NOT {IS_OPEN}))"
    )
