"""The journal of orders: durable before one leaves, and after; read by whoever asks."""

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from core.act.order_query import OrderQuery
from core.model.order import Instance, Order, Outcome
from storage.database import Database
from storage.event_columns import column_text
from storage.identity import is_alive
from storage.order_rows import (
    INSERT,
    IS_OPEN,
    NEWEST_FIRST,
    SELECT,
    answering,
    claim,
    row_of,
    selected,
    understood,
)
from storage.readonly import glance

IsAlive = Callable[[Instance, Instance], bool | None]


class OrderJournal:
    """`core.act.ports.OrderStore` over the database, and the runs that make a process ours.

    Args:
        database: An open one, or one that opens at its first use.
        alive: Whether an evalroom runs, seen from another; None: unknown.
    """

    def __init__(self, database: Database, *, alive: IsAlive = is_alive) -> None:
        self._database = database
        self._alive = alive

    async def intend(self, orders: Sequence[Order]) -> None:
        """Write orders that are about to leave; returns when they are on disk.

        Raises:
            StorageError: None of them is.
        """
        rows = [row_of(order) for order in orders]
        await self._database.write(lambda connection: connection.executemany(INSERT, rows))

    async def end(self, order: str, outcome: Outcome, at: float) -> None:
        """Write what became of an order; what is settled does not change again.

        Raises:
            StorageError: It is not on disk.
        """
        values = (str(outcome.state), column_text(outcome.message), at, order)
        await self._database.write(lambda connection: connection.execute(_END, values))

    async def take_up(self, instance: Instance) -> Sequence[Order]:
        """Claim the open orders of evalrooms that died, and return them, oldest first.

        They are claimed in one transaction: of two evalrooms that start together, each order
        goes to one. What an evalroom on another computer answers for is left to it.

        Raises:
            StorageError: The journal can't be read or written; nothing is claimed.
        """
        rows = await self._database.read(_OPEN)
        dead = await asyncio.to_thread(self._dead, {answering(row) for row in rows}, instance)
        if not dead:
            return ()
        return await self._database.write(lambda connection: _claimed(connection, dead, instance))

    def _dead(self, found: Collection[Instance], here: Instance) -> frozenset[Instance]:
        return frozenset(each for each in found if self._alive(each, here) is False)

    async def recent(self, limit: int) -> Sequence[Order]:
        """Return the newest orders of every evalroom of this user, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self.select(OrderQuery(limit=limit))

    async def select(self, wanted: OrderQuery) -> Sequence[Order]:
        """Return the orders that are looked for, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self._database.look(lambda connection: selected(connection, wanted))

    async def run_ids(self) -> frozenset[str]:
        """Return the ids of all runs that this operator's evalroom launched.

        Raises:
            StorageError: They can't be read.
        """
        return frozenset(row["id"] for row in await self._database.read("SELECT id FROM run"))


_END = f"UPDATE orders SET state = ?, message = ?, ended_at = ? WHERE id = ? AND {IS_OPEN}"  # noqa: S608 - words of ours
_OPEN = f"{SELECT} WHERE {IS_OPEN} {NEWEST_FIRST}"


def _claimed(
    connection: sqlite3.Connection, dead: Collection[Instance], instance: Instance
) -> tuple[Order, ...]:
    rows = [row for row in connection.execute(_OPEN).fetchall() if answering(row) in dead]
    orders = tuple(understood(rows))
    connection.executemany(
        "UPDATE orders SET claimed_by = ? WHERE id = ?",
        [(claim(instance), order.id) for order in orders],
    )
    return orders[::-1]


def read_orders(path: Path, wanted: OrderQuery) -> tuple[Order, ...]:
    """Return orders of a database without changing anything in it, newest first.

    A file that is not there, or was made before orders were kept, has none.

    Raises:
        StorageError: It can't be read, or is none of ours; it is left as it is.
    """
    return glance(path, "orders", lambda connection: selected(connection, wanted), ())
