"""A book of orders in memory: for tests of what stands above the journal."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.act.order_query import OrderQuery
from core.errors import StorageError
from core.ids import MachineName, ProcessKey, Target, TaskKey, address_of
from core.model.action import Action, Verb
from core.model.order import Instance, Order, Outcome


class Book:
    """`core.act.ports.OrderStore` that remembers, and can be set to fail."""

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

    async def select(self, query: OrderQuery) -> Sequence[Order]:
        """Return those that are looked for."""
        self._fail_if_broken()
        return query.among(self.orders)

    def _fail_if_broken(self) -> None:
        if self.is_broken:
            raise StorageError("the disk is full")


HERE = Instance(host="here", boot="boot", pid=1, start="1", operator="Ada")
"""The evalroom of a test."""

PAUSED = TaskKey(ProcessKey(MachineName("h100-1"), 100, "s100"), "t1")
"""What an order goes to where a test does not care."""


def order(id: str, *, target: Target = PAUSED, **more: Any) -> Order:  # noqa: A002
    """Return an order, a soft pause of a task unless told otherwise."""
    fields: dict[str, Any] = {
        "plan": f"plan-{id}",
        "at": 1.0,
        "instance": HERE,
        "action": Action(verb=Verb.PAUSE),
        "name": "h100-1 gdm_intercode_ctf",
        "request": "POST /tasks/t1/pause",
        "command": "inspect ctl task pause t1",
        "preview": "3 samples in flight finish; 4 queued wait",
        "basis": {"pause": "none"},
    }
    return Order(id=id, address=address_of(target), **{**fields, **more})
