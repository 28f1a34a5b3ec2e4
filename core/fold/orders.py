"""How orders come and end."""

from core.events import OrderEnded, OrderGiven
from core.fleet import Fleet
from core.fold.immutable import with_fields

ORDERS_KEPT = 500
"""Most orders in the fleet; all of them are in the journal."""


def give_order(fleet: Fleet, event: OrderGiven) -> Fleet:
    """Return the fleet with a new order; one that is known already stays as it is."""
    if any(order.id == event.order.id for order in fleet.orders):
        return fleet
    return with_fields(fleet, orders=(event.order, *fleet.orders)[:ORDERS_KEPT])


def end_order(fleet: Fleet, event: OrderEnded) -> Fleet:
    """Return the fleet with what became of an order; what is settled does not change again."""
    orders = tuple(
        with_fields(order, state=event.state, message=event.message, ended_at=event.at)
        if order.id == event.order and order.is_open
        else order
        for order in fleet.orders
    )
    return with_fields(fleet, orders=orders)
