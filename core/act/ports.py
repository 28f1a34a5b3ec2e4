"""What actions need from outside: the desk that asks, and the store that keeps orders."""

from collections.abc import Sequence
from typing import Protocol

from core.act.order_query import OrderQuery
from core.act.requests import Request
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.order import Instance, Order, Outcome
from core.ports import Reply


class ActionDesk(Protocol):
    """What plans and orders ask of the desk."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Unix seconds at the desk."""
        ...

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        """GET; raises RequestFailed."""
        ...

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        """Send a mutation or a signal, once; raises RequestFailed."""
        ...

    async def header(self, task: TaskKey, *, deadline: float) -> Reply:
        """Read a log's header there; raises RequestFailed."""
        ...


class OrderStore(Protocol):
    """The durable side of orders: written before they leave, and after."""

    async def intend(self, orders: Sequence[Order]) -> None:
        """Write orders that are about to leave; returns when they are on disk.

        Raises:
            StorageError: They are not.
        """
        ...

    async def end(self, order: str, outcome: Outcome, at: float) -> None:
        """Write what became of an order.

        Raises:
            StorageError: It is not on disk.
        """
        ...

    async def take_up(self, instance: Instance) -> Sequence[Order]:
        """Claim the open orders of dead evalrooms, each in one transaction, and return them.

        Raises:
            StorageError: The journal can't be read.
        """
        ...

    async def recent(self, limit: int) -> Sequence[Order]:
        """Return the newest orders of every evalroom of this user, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        ...

    async def select(self, wanted: OrderQuery) -> Sequence[Order]:
        """Return the orders that are looked for, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        ...
