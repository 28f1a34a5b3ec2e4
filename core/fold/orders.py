"""Changes of orders."""

from core.events import OrderEnded, OrderGiven
from core.fleet import Fleet
from core.fold.immutable import with_fields

MAX_ORDERS = 500
"""Orders in the fleet at most; all of them are in the journal."""


def give_order(fleet: Fleet, event: OrderGiven) -> Fleet:
    """Return the fleet with a new order; a known one stays as it is."""
    if any(order.id == event.order.id for order in fleet.orders):
        return fleet
    return with_fields(fleet, orders=(event.order, *fleet.orders)[:MAX_ORDERS])


def end_order(fleet: Fleet, event: OrderEnded) -> Fleet:
    """Return the fleet with the outcome of an order; a settled order does not change again."""
    orders = tuple(
        with_fields(order, state=event.state, message=event.message, ended_at=event.at)
        if order.id == event.order and order.is_open
        else order
        for order in fleet.orders
    )
    return with_fields(fleet, orders=orders)
