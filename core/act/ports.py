"""What actions need from outside: a desk that reads and sends, and a store of orders."""

from collections.abc import Sequence
from typing import Protocol

from core.act.order_query import OrderQuery
from core.act.requests import Request
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.log_summary import LogHeader
from core.model.order import Instance, Order, Outcome
from core.model.timeouts import REQUEST_TIMEOUT_S
from core.ports import Reply


class ActionDesk(Protocol):
    """The desk, as far as plans and orders need it."""

    @property
    def fleet(self) -> Fleet:
        """All that is known now."""
        ...

    def now(self) -> float:
        """Return Unix seconds at the desk."""
        ...

    def monotonic(self) -> float:
        """Return seconds of a clock that is never set: for durations."""
        ...

    async def read(
        self, process: ProcessKey, path: str, *, deadline: float = REQUEST_TIMEOUT_S
    ) -> Reply:
        """GET a path of a process's control channel.

        Raises:
            RequestFailed: No answer within `deadline` seconds.
        """
        ...

    async def send(self, process: ProcessKey, request: Request, *, deadline: float) -> Reply:
        """Send a mutation or a signal, once.

        Raises:
            RequestFailed: No answer within `deadline` seconds. Unless the message
                begins with "not sent", the request may have been applied.
        """
        ...

    async def log_header(self, task: TaskKey, *, deadline: float) -> LogHeader:
        """Have the header of a task's log read on its machine.

        Raises:
            RequestFailed: No answer within `deadline` seconds, or the log can't be read.
        """
        ...


class OrderStore(Protocol):
    """The journal of orders: each is written before it is sent, and its outcome after."""

    async def intend(self, orders: Sequence[Order]) -> None:
        """Write orders that are about to be sent; returns when they are on disk.

        Raises:
            StorageError: They could not be written.
        """
        ...

    async def end(self, order: str, outcome: Outcome, at: float) -> None:
        """Write the outcome of an order.

        Raises:
            StorageError: It could not be written.
        """
        ...

    async def take_up(self, instance: Instance) -> Sequence[Order]:
        """Claim the open orders of dead instances, each in one transaction, and return them.

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

    async def select(self, query: OrderQuery) -> Sequence[Order]:
        """Return the orders that match, newest first.

        Raises:
            StorageError: The journal can't be read.
        """
        ...
