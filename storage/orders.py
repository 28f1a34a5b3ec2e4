"""The orders table: each order is written before it is sent, and again with its outcome."""

import asyncio
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from core.act.order_query import OrderQuery
from core.model.order import Instance, Order, Outcome
from storage.database import Database
from storage.event_columns import column_text
from storage.identity import IsAlive, is_alive
from storage.order_rows import (
    INSERT,
    IS_OPEN,
    NEWEST_FIRST,
    SELECT,
    claim_text,
    readable_orders,
    responsible_instance,
    row_of,
    select_orders,
)
from storage.readonly import query_readonly


class OrderJournal:
    """Implements `core.act.ports.OrderStore` with the database.

    Args:
        database: An open database, or one that opens at its first use.
        alive: Whether an instance still runs, as seen from another; None: unknown.
    """

    def __init__(self, database: Database, *, alive: IsAlive = is_alive) -> None:
        self._database = database
        self._alive = alive

    async def intend(self, orders: Sequence[Order]) -> None:
        """Write orders that are about to be sent; returns when they are on disk.

        Raises:
            StorageError: None of them was written.
        """
        rows = [row_of(order) for order in orders]
        await self._database.write(lambda connection: connection.executemany(INSERT, rows))

    async def end(self, order: str, outcome: Outcome, at: float) -> None:
        """Write the outcome of an order; a known outcome never changes again.

        Raises:
            StorageError: It could not be written.
        """
        values = (str(outcome.state), column_text(outcome.message), at, order)
        await self._database.write(lambda connection: connection.execute(_END, values))

    async def take_up(self, instance: Instance) -> Sequence[Order]:
        """Claim the open orders of instances that no longer run; return them, oldest first.

        One transaction claims them all, so if two instances start together, each order goes to
        one of them. Orders of an instance on another computer are never claimed.

        Raises:
            StorageError: The journal can't be read or written; nothing is claimed.
        """
        rows = await self._database.read(_OPEN)
        dead = await asyncio.to_thread(
            self._dead, {responsible_instance(row) for row in rows}, instance
        )
        if not dead:
            return ()
        return await self._database.write(
            lambda connection: _claim_dead(connection, dead, instance)
        )

    def _dead(self, found: Collection[Instance], here: Instance) -> frozenset[Instance]:
        return frozenset(each for each in found if self._alive(each, here) is False)

    async def recent(self, limit: int) -> Sequence[Order]:
        """Return the newest orders of all instances of this operator, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self.select(OrderQuery(limit=limit))

    async def select(self, query: OrderQuery) -> Sequence[Order]:
        """Return the orders that match, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self._database.run_read(lambda connection: select_orders(connection, query))

    async def run_ids(self) -> frozenset[str]:
        """Return the ids of all runs that this operator launched.

        Raises:
            StorageError: They can't be read.
        """
        return frozenset(row["id"] for row in await self._database.read("SELECT id FROM run"))


_END = f"UPDATE orders SET state = ?, message = ?, ended_at = ? WHERE id = ? AND {IS_OPEN}"  # noqa: S608 - fixed text
_OPEN = f"{SELECT} WHERE {IS_OPEN} {NEWEST_FIRST}"


def _claim_dead(
    connection: sqlite3.Connection, dead: Collection[Instance], instance: Instance
) -> tuple[Order, ...]:
    rows = [
        row for row in connection.execute(_OPEN).fetchall() if responsible_instance(row) in dead
    ]
    orders = tuple(readable_orders(rows))
    connection.executemany(
        "UPDATE orders SET claimed_by = ? WHERE id = ?",
        [(claim_text(instance), order.id) for order in orders],
    )
    return orders[::-1]


def read_orders(path: Path, wanted: OrderQuery) -> tuple[Order, ...]:
    """Return orders of a history file, newest first, without changing the file.

    Returns none if the file does not exist, or is from before orders were stored.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """
    return query_readonly(path, "orders", lambda connection: select_orders(connection, wanted), ())
