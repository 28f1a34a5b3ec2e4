"""Runs in the database: added before anything is sent to a machine, saved at every change."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from core.event_codec import plain_mapping
from core.model.order import Instance
from core.model.run import Run
from core.strict_json import decode, encode
from storage.database import Database
from storage.event_columns import column_text
from storage.identity import IsAlive, is_alive
from storage.readonly import query_readonly

_RECENT = (
    "SELECT body FROM run WHERE body IS NOT NULL"
    " ORDER BY ended_at IS NULL DESC, at DESC, rowid DESC LIMIT ?"
)
_KEPT_FIELDS = ("commit", "started_at", "pid", "start", "output_file", "screen", "attach", "logs")
"""Fields that are never cleared once set."""
_TIMES = ("started_at", "ended_at")
"""Fields of a run that is over: the instance that stored them first was right."""
_ONE = "SELECT body FROM run WHERE id = ? AND body IS NOT NULL"
_OPEN = "SELECT id, desk FROM run WHERE body IS NOT NULL AND ended_at IS NULL"


def run_readonly(path: Path, run: str) -> Run | None:
    """Return one run from the history in this file, which is not changed; None: it has no such run.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """

    def found(connection: sqlite3.Connection) -> Run | None:
        rows = connection.execute(_ONE, (run,)).fetchall()
        return next(_understood(rows), None)

    return query_readonly(path, "run", found, None)


class SqliteRunStore:
    """`core.launch.run.run_store.RunStore` over the database.

    Args:
        database: Open, or opened at its first use.
        alive: Tells whether another instance of evalroom still runs; None: unknown.
    """

    def __init__(self, database: Database, *, alive: IsAlive = is_alive) -> None:
        self._database = database
        self._alive = alive

    async def add(self, runs: Sequence[Run], instance: Instance) -> None:
        """Add new runs, all or none; return once they are on disk.

        Raises:
            StorageError: No run was added.
        """
        desk = json.dumps(msgspec.to_builtins(instance))
        rows = [
            (run.id, run.at, run.machine, column_text(run.operator), _spec(run), _body(run), desk)
            for run in runs
        ]
        await self._database.write(
            lambda connection: connection.executemany(
                "INSERT INTO run (id, at, machine, operator, spec, body, desk)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
        )

    async def save(self, run: Run) -> None:
        """Save a run's present state.

        Several instances of evalroom may save the same run. A run that is over stays over,
        and no instance clears a field of `_KEPT_FIELDS` that another one has set.

        Raises:
            StorageError: The run was not saved.
        """
        ended = (run.ended_at or run.at) if run.is_over else None
        body = _body(run)

        def merged(connection: sqlite3.Connection) -> None:
            known = connection.execute(
                "SELECT body, ended_at FROM run WHERE id = ?", (run.id,)
            ).fetchone()
            if known is None or (known["ended_at"] is not None and ended is None):
                return
            connection.execute(
                "UPDATE run SET ended_at = ?, body = ? WHERE id = ?",
                (ended, _with_known(body, known["body"]), run.id),
            )

        await self._database.write(merged)

    async def recent(self, limit: int) -> Sequence[Run]:
        """Return up to `limit` runs: those that are not over, then the newest of the others.

        Raises:
            StorageError: The database can't be read.
        """
        return tuple(_understood(await self._database.read(_RECENT, (limit,))))

    async def abandoned(self, instance: Instance) -> frozenset[str]:
        """Return the open runs that no other living instance of evalroom is starting.

        Raises:
            StorageError: The database can't be read.
        """
        rows = await self._database.read(_OPEN)
        return await asyncio.to_thread(self._abandoned, rows, instance)

    def _abandoned(self, rows: Sequence[sqlite3.Row], here: Instance) -> frozenset[str]:
        found: dict[Instance, bool] = {}
        out: set[str] = set()
        for row in rows:
            desk = _instance(row["desk"])
            if desk is not None and desk not in found:
                found[desk] = desk == here or self._alive(desk, here) is False
            if desk is None or found[desk]:
                out.add(row["id"])
        return frozenset(out)


def _spec(run: Run) -> str:
    return encode(
        msgspec.to_builtins(dict(run.spec), enc_hook=plain_mapping), keeps_surrogates=True
    )


def _body(run: Run) -> str:
    return encode(msgspec.to_builtins(run, enc_hook=plain_mapping), keeps_surrogates=True)


def _with_known(body: str, known: str | None) -> str:
    """Return a run's body; where it lacks one of `_KEPT_FIELDS`, with the stored value."""
    try:
        before: object = json.loads(known or "null")
    except (ValueError, RecursionError):
        return body
    if not isinstance(before, dict):
        return body
    now: dict[str, Any] = json.loads(body)
    found = cast("dict[str, Any]", before)
    now.update(
        {name: found[name] for name in _KEPT_FIELDS if not now.get(name) and found.get(name)}
    )
    if now.get("state") == found.get("state") and now.get("ended_at") and found.get("ended_at"):
        now.update({name: found.get(name) for name in _TIMES})
    return encode(now, keeps_surrogates=True)


def _instance(text: str | None) -> Instance | None:
    try:
        return cast("Instance", decode(text or "null", Instance))
    except ValueError:
        return None


def _understood(rows: Sequence[sqlite3.Row]) -> Iterator[Run]:
    """Yield the runs of these rows; leave out those that only a newer evalroom understands."""
    for row in rows:
        try:
            yield decode(row["body"], Run)
        except ValueError:
            continue
