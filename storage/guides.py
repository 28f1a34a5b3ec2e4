"""Guides on disk: saved as they stand, listed, and taken over from an evalroom that died."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from core.errors import StorageError, UsageWrong
from core.guide.guide import Guide
from core.model.order import Instance
from core.text import shown
from storage.database import Database
from storage.event_columns import column_text
from storage.identity import is_alive
from storage.orders import IsAlive
from storage.readonly import glance

_SELECT = "SELECT id, ended_at, host, boot, desk_pid, desk_start, operator, body FROM guide"
_LISTED = f"{_SELECT} ORDER BY ended_at IS NULL DESC, at DESC, rowid DESC LIMIT ?"
_MINE = "host = ? AND boot = ? AND desk_pid = ? AND desk_start = ?"


class Guides:
    """`core.guide.guide_store.GuideStore` over the database.

    Args:
        database: An open one, or one that opens at its first use.
        alive: Whether an evalroom runs, seen from another; None: unknown.
    """

    def __init__(self, database: Database, *, alive: IsAlive = is_alive) -> None:
        self._database = database
        self._alive = alive

    async def save(self, guide: Guide) -> None:
        """Write a guide as it stands.

        Raises:
            StorageError: It is not on disk, or another evalroom has taken it over.
        """
        await self._database.write(lambda connection: _save(connection, guide))

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return all that are open and the newest that ended, up to `limit`, open ones first.

        Raises:
            StorageError: They can't be read.
        """
        return tuple(_understood(await self._database.read(_LISTED, (limit,))))

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Take a guide of a dead evalroom over and return it; in one transaction.

        Of two evalrooms that want it, one gets it.

        Raises:
            UsageWrong: There is none such, it ended, or its evalroom may still run.
            StorageError: It can't be read or written; then nothing is taken.
        """
        owner = await self._owner(guide)
        if owner != instance:
            alive = await asyncio.to_thread(self._alive, owner, instance)
            if alive is not False:
                raise _held(guide, owner, alive)
        return await self._database.write(
            lambda connection: _claimed(connection, guide, owner, instance)
        )

    async def _owner(self, guide: str) -> Instance:
        rows = await self._database.read(f"{_SELECT} WHERE id = ?", (guide,))
        if not rows:
            raise UsageWrong(f"there is no guide {shown(guide, 40)}", "see: evalroom guide list")
        return _instance(rows[0])


def _held(guide: str, owner: Instance, alive: bool | None) -> UsageWrong:
    named = f"guide {shown(guide, 40)} is run by the evalroom with pid {owner.pid}"
    if alive:
        return UsageWrong(f"{named}, which is open", "go on there, or end that one first")
    return UsageWrong(f"{named} on {shown(owner.host, 60)}", "go on there")


def _save(connection: sqlite3.Connection, guide: Guide) -> None:
    body = json.dumps(msgspec.to_builtins(guide), separators=(",", ":"))
    mine = _values(guide.instance)
    connection.execute(
        "INSERT OR IGNORE INTO guide (id, at, ended_at, host, boot, desk_pid, desk_start,"
        " operator, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (guide.id, guide.made_at, guide.ended_at, *mine, guide.instance.operator, body),
    )
    changed = connection.execute(
        f"UPDATE guide SET ended_at = ?, operator = ?, body = ? WHERE id = ? AND {_MINE}",  # noqa: S608
        (guide.ended_at, column_text(guide.instance.operator), body, guide.id, *mine),
    )
    if changed.rowcount != 1:
        raise StorageError(f"guide {guide.id} was taken up by another evalroom: go on there")


def _claimed(
    connection: sqlite3.Connection, guide: str, owner: Instance, instance: Instance
) -> Guide:
    row = connection.execute(f"{_SELECT} WHERE id = ?", (guide,)).fetchone()
    if row is None or _instance(row) != owner:
        raise UsageWrong(f"guide {shown(guide, 40)} was taken up by another evalroom just now")
    if row["ended_at"] is not None:
        raise UsageWrong(f"guide {shown(guide, 40)} is over")
    found = list(_understood([row]))
    if not found:
        raise UsageWrong(f"guide {shown(guide, 40)} is of a newer evalroom")
    taken = replace(found[0], instance=instance)
    connection.execute(
        "UPDATE guide SET host = ?, boot = ?, desk_pid = ?, desk_start = ? WHERE id = ?",
        (*_values(instance), guide),
    )
    _save(connection, taken)
    return taken


def _values(instance: Instance) -> tuple[object, ...]:
    host, boot, start = map(column_text, (instance.host, instance.boot, instance.start))
    return (host, boot, instance.pid, start)


def _instance(row: sqlite3.Row) -> Instance:
    return Instance(
        host=row["host"],
        boot=row["boot"],
        pid=row["desk_pid"],
        start=row["desk_start"],
        operator=row["operator"],
    )


def _understood(rows: Sequence[sqlite3.Row]) -> Iterator[Guide]:
    """Yield the guides of these rows; those that a later evalroom wrote are left out."""
    kind: Any = Guide
    for row in rows:
        try:
            yield msgspec.convert(json.loads(row["body"]), kind)
        except (msgspec.ValidationError, ValueError, RecursionError):
            continue


def read_guides(path: Path, limit: int) -> tuple[Guide, ...]:
    """Return guides of a database without changing anything in it, open ones first.

    A file that is not there, or was made before guides were kept, has none.

    Raises:
        StorageError: It can't be read, or is none of ours; it is left as it is.
    """

    def listed(connection: sqlite3.Connection) -> tuple[Guide, ...]:
        return tuple(_understood(connection.execute(_LISTED, (limit,)).fetchall()))

    return glance(path, "guide", listed, ())
