"""The orders of this evalroom: written to the store, published as events, settled."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from core.act.order_query import OrderQuery
from core.act.ports import OrderStore
from core.errors import StorageError
from core.events import Event, OrderEnded, OrderGiven
from core.model.action import Verb
from core.model.order import Instance, Order, OrderState, Outcome

MAX_LOADED_ORDERS = 200
"""Orders from before this start that are loaded: for undo, and for the list of outcomes."""
MAX_INTERRUPTS = 1_000
"""Newest interrupts that are searched before another interrupt or a kill."""


class OrderTracker:
    """Writes this evalroom's orders to the store and publishes them as events.

    The planner, the executor and the resolver share one.

    Args:
        store: The journal of orders; None: it can't be written, so nothing is ever sent.
        instance: This evalroom.
        post: Takes the events.
        now: Returns Unix seconds at the desk.
    """

    def __init__(
        self,
        store: OrderStore | None,
        *,
        instance: Instance,
        post: Callable[[Event], None],
        now: Callable[[], float],
    ) -> None:
        self.instance = instance
        self._store = store
        self._post = post
        self._now = now
        self._in_flight: set[str] = set()
        self._claimed: set[str] = set()
        """Open orders of dead instances that this instance claimed and settles."""
        self._unwritten: dict[str, tuple[Outcome, float]] = {}
        """Outcomes that could not be written yet, with their times."""
        self._is_taken_up = False

    @property
    def can_write(self) -> bool:
        """Whether the store can be written; if not, nothing may be sent."""
        return self._store is not None

    # Reading

    async def select(self, query: OrderQuery) -> Sequence[Order]:
        """Return orders of the journal, newest first; an empty sequence without a store.

        Raises:
            StorageError: The journal can't be read.
        """
        return () if self._store is None else await self._store.select(query)

    async def interrupts(self) -> Sequence[Order]:
        """Return the newest interrupts by any evalroom of this user, newest first.

        They have a separate query, because one action on hundreds of targets would crowd them
        out of the newest orders.

        Raises:
            StorageError: The journal can't be read.
        """
        return await self.select(OrderQuery(verb=Verb.INTERRUPT, limit=MAX_INTERRUPTS))

    def answers_for(self, order: Order) -> bool:
        """Return whether this evalroom gave an order, or claimed it from a dead instance."""
        return order.instance == self.instance or order.id in self._claimed

    def to_resolve(self, orders: Iterable[Order]) -> tuple[Order, ...]:
        """Return the open orders that this evalroom answers for and that are not in flight."""
        return tuple(
            order
            for order in orders
            if order.is_open and order.id not in self._in_flight and self.answers_for(order)
        )

    # Writing

    @contextmanager
    def in_flight(self, order: Order) -> Generator[None]:
        """Mark an order as in flight for the block: the resolver leaves it alone."""
        self._in_flight.add(order.id)
        try:
            yield
        finally:
            self._in_flight.discard(order.id)

    async def intend(self, order: Order) -> None:
        """Write an order that is about to be sent, and publish it.

        Raises:
            StorageError: It is not on disk: it must not be sent.
        """
        if self._store is None:
            raise StorageError("no journal is open")
        await self._store.intend([order])
        self._post(OrderGiven(at=order.at, order=order))

    async def settle(self, order: str, outcome: Outcome) -> None:
        """Write an order's outcome and publish it; a failed write is retried by `catch_up`."""
        at = self._now()
        message = outcome.message
        if self._store is not None:
            try:
                await self._store.end(order, outcome, at)
                self._unwritten.pop(order, None)
            except StorageError as error:
                self._unwritten[order] = outcome, at
                message = f"{message} (not written to the journal yet: {error.message})"
        self._post(OrderEnded(at=at, order=order, state=outcome.state, message=message))

    async def take_up(self) -> tuple[Order, ...]:
        """Load and publish the newest orders; claim and return the open orders of dead instances.

        Orders in the state `sending` become `unknown`. If the journal can't be read, nothing is
        returned and `catch_up` tries again.
        """
        if self._store is None:
            return ()
        try:
            left = await self._store.take_up(self.instance)
            recent = await self._store.recent(MAX_LOADED_ORDERS)
        except StorageError:
            return ()
        self._is_taken_up = True
        newest = {order.id for order in recent}
        older = (order for order in left if order.id not in newest)
        for order in (*older, *reversed(recent)):
            self._post(OrderGiven(at=self._now(), order=order))
        self._claimed.update(order.id for order in left)
        for order in left:
            if order.state is OrderState.SENDING:  # an unknown order already has its reason
                why = (
                    "The evalroom instance that gave this order ended before the outcome was known."
                )
                await self.settle(order.id, Outcome(state=OrderState.UNKNOWN, message=why))
        return tuple(left)

    async def catch_up(self) -> None:
        """Retry the reads and writes that failed while the journal was locked or the disk full."""
        if not self._is_taken_up:
            await self.take_up()
        if self._store is None:
            return
        for order, (outcome, at) in tuple(self._unwritten.items()):
            try:
                await self._store.end(order, outcome, at)
            except StorageError:
                return
            self._unwritten.pop(order, None)
