"""The guides table: saves and lists guides, and takes them over from dead instances."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from core.errors import StorageError, UsageWrong
from core.guide.guide import Guide, GuideKind
from core.model.order import Instance
from core.strict_json import decode
from core.text import shown
from storage.database import Database
from storage.event_columns import column_text
from storage.identity import IsAlive, is_alive
from storage.readonly import query_readonly

_SELECT = "SELECT id, ended_at, host, boot, desk_pid, desk_start, operator, body FROM guide"
_SELECT_RECENT = f"{_SELECT} ORDER BY ended_at IS NULL DESC, at DESC, rowid DESC LIMIT ?"
_IS_OWNER = "host = ? AND boot = ? AND desk_pid = ? AND desk_start = ?"


class Guides:
    """Implements `core.guide.guide_store.GuideStore` with the database.

    Args:
        database: An open database, or one that opens at its first use.
        alive: Whether an instance still runs, as seen from another; None: unknown.
    """

    def __init__(self, database: Database, *, alive: IsAlive = is_alive) -> None:
        self._database = database
        self._alive = alive

    async def save(self, guide: Guide) -> None:
        """Write a guide's current state.

        Raises:
            StorageError: It could not be written, or another instance has taken the guide over.
        """
        await self._database.write(lambda connection: _save(connection, guide))

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return up to `limit` guides: open ones first, then the newest that ended.

        Raises:
            StorageError: They can't be read.
        """
        return tuple(_readable_guides(await self._database.read(_SELECT_RECENT, (limit,))))

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Take over a guide of an instance that no longer runs, and return it.

        One transaction, so if two instances try, one of them gets it.

        Raises:
            UsageWrong: No such guide, it has ended, or its instance may still run.
            StorageError: The database can't be read or written; the guide is unchanged.
        """
        owner = await self._find_owner(guide)
        if owner != instance:
            alive = await asyncio.to_thread(self._alive, owner, instance)
            if alive is not False:
                raise _still_owned(guide, owner, alive)
        return await self._database.write(
            lambda connection: _claim(connection, guide, owner, instance)
        )

    async def _find_owner(self, guide: str) -> Instance:
        rows = await self._database.read(f"{_SELECT} WHERE id = ?", (guide,))
        if not rows:
            raise UsageWrong(
                f"no guide has the ID {shown(guide, 40)}", "list them: evalroom guide list"
            )
        return _owner_of(rows[0])


def _still_owned(guide: str, owner: Instance, alive: bool | None) -> UsageWrong:
    named = f"guide {shown(guide, 40)} belongs to another evalroom instance (pid {owner.pid}"
    if alive:
        return UsageWrong(f"{named}, still running)", "continue there, or quit that instance first")
    return UsageWrong(f"{named} on {shown(owner.host, 60)})", "continue there")


def _save(connection: sqlite3.Connection, guide: Guide) -> None:
    body = json.dumps(msgspec.to_builtins(guide), separators=(",", ":"))
    mine = _owner_values(guide.instance)
    connection.execute(
        "INSERT OR IGNORE INTO guide (id, at, ended_at, host, boot, desk_pid, desk_start,"
        " operator, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (guide.id, guide.made_at, guide.ended_at, *mine, guide.instance.operator, body),
    )
    changed = connection.execute(
        f"UPDATE guide SET ended_at = ?, operator = ?, body = ? WHERE id = ? AND {_IS_OWNER}",  # noqa: S608
        (guide.ended_at, column_text(guide.instance.operator), body, guide.id, *mine),
    )
    if changed.rowcount != 1:
        raise StorageError(
            f"another evalroom instance has taken over guide {guide.id}", "continue there"
        )


def _claim(
    connection: sqlite3.Connection, guide: str, owner: Instance, instance: Instance
) -> Guide:
    row = connection.execute(f"{_SELECT} WHERE id = ?", (guide,)).fetchone()
    if row is None or _owner_of(row) != owner:
        raise UsageWrong(f"another evalroom instance has just taken over guide {shown(guide, 40)}")
    if row["ended_at"] is not None:
        raise UsageWrong(f"guide {shown(guide, 40)} has ended")
    found = list(_readable_guides([row]))
    if not found:
        raise UsageWrong(
            f"a newer evalroom wrote guide {shown(guide, 40)}", "upgrade this evalroom"
        )
    taken = replace(found[0], instance=instance)
    connection.execute(
        "UPDATE guide SET host = ?, boot = ?, desk_pid = ?, desk_start = ? WHERE id = ?",
        (*_owner_values(instance), guide),
    )
    _save(connection, taken)
    return taken


def _owner_values(instance: Instance) -> tuple[object, ...]:
    host, boot, start = map(column_text, (instance.host, instance.boot, instance.start))
    return (host, boot, instance.pid, start)


def _owner_of(row: sqlite3.Row) -> Instance:
    return Instance(
        host=row["host"],
        boot=row["boot"],
        pid=row["desk_pid"],
        start=row["desk_start"],
        operator=row["operator"],
    )


def _readable_guides(rows: Sequence[sqlite3.Row]) -> Iterator[Guide]:
    """Yield the guides of these rows; skips rows that a newer evalroom wrote."""
    for row in rows:
        try:
            guide = decode(row["body"], Guide)
        except ValueError:
            continue
        if guide.targets or guide.kind is GuideKind.CLEANUP:
            yield guide


def read_guides(path: Path, limit: int) -> tuple[Guide, ...]:
    """Return guides of a history file, open ones first, without changing the file.

    Returns none if the file does not exist, or is from before guides were stored.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """

    def listed(connection: sqlite3.Connection) -> tuple[Guide, ...]:
        return tuple(_readable_guides(connection.execute(_SELECT_RECENT, (limit,)).fetchall()))

    return query_readonly(path, "guide", listed, ())
