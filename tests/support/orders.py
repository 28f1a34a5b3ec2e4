"""A book of orders in memory: for tests of what stands above the journal."""

from collections.abc import Sequence
from dataclasses import replace

from core.act.order import Instance, Order, Outcome
from core.errors import StorageError


class Book:
    """`core.act.hands.OrderBook` that remembers, and can be told to fail."""

    def __init__(self, orders: Sequence[Order] = ()) -> None:
        self.orders: list[Order] = list(orders)
        self.is_broken = False

    async def intend(self, orders: Sequence[Order]) -> None:
        """Remember orders that are about to leave."""
        self._fail_if_broken()
        self.orders = [*orders, *self.orders]

    async def end(self, order: str, outcome: Outcome, at: float) -> None:
        """Remember what became of one."""
        self._fail_if_broken()
        self.orders = [
            replace(each, state=outcome.state, message=outcome.message, ended_at=at)
            if each.id == order and each.is_open
            else each
            for each in self.orders
        ]

    async def take_up(self, instance: Instance) -> Sequence[Order]:
        """Hand over the open orders of every other instance."""
        return [each for each in self.orders if each.is_open and each.instance != instance]

    async def recent(self, limit: int) -> Sequence[Order]:
        """Return the newest ones."""
        return self.orders[:limit]

    def _fail_if_broken(self) -> None:
        if self.is_broken:
            raise StorageError("the disk is full")


HERE = Instance(host="here", boot="boot", pid=1, start="1", operator="Ada")
"""The evalroom of a test."""
