"""Queries of the journal of orders, and an order as a JSON object."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.ids import MachineName
from core.model.action import Action, Verb
from core.model.order import Order, OrderState
from core.text_filter import text_filter


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderQuery:
    """Which orders to return; a field that is None or empty does not filter.

    Attributes:
        since: Orders from this moment on, Unix seconds.
        machine: Orders to this machine.
        verb: Orders of this action.
        state: Orders in this state.
        text: A filter as for any table: words, `/regular expression/`, `!` before either.
        limit: The maximum number of orders; the newest are returned.
    """

    since: float | None = None
    machine: MachineName | None = None
    verb: Verb | None = None
    state: OrderState | None = None
    text: str = ""
    limit: int = 500

    def among(self, orders: Iterable[Order]) -> tuple[Order, ...]:
        """Return those of `orders` that match, in their order."""
        fits = text_filter(self.text)
        found: list[Order] = []
        for order in orders:
            if len(found) >= self.limit:
                break
            if self._is_of(order) and (fits is None or fits(search_text(order))):
                found.append(order)
        return tuple(found)

    def _is_of(self, order: Order) -> bool:
        return (
            (self.since is None or order.at >= self.since)
            and self.machine in {None, order.address.process.machine}
            and self.verb in {None, order.action.verb}
            and self.state in {None, order.state}
        )


def search_text(order: Order) -> str:
    """Return the text that a filter of orders searches, in lower case."""
    to = order.address
    parts = (
        order.id, order.action.verb, order.action.manner or "", order.state, order.name,
        to.process.machine, to.process.pid, to.task_id or "", to.model or "",
        "" if to.sample_id is None else f"{to.sample_id}/{to.epoch}",
        order.instance.operator, order.instance.host,
        order.request, order.command, order.preview, order.reason, order.message,
    )  # fmt: skip
    return " ".join(str(part) for part in parts).lower()


def joined(known: Sequence[Order], kept: Sequence[Order]) -> tuple[Order, ...]:
    """Return the orders of a fleet and those of the journal as one list, newest first.

    If both have an order, the settled version is used; if both are settled, the fleet's.
    """
    orders = {order.id: order for order in kept}
    for order in known:
        other = orders.get(order.id)
        if other is None or other.is_open or not order.is_open:
            orders[order.id] = order
    return tuple(sorted(orders.values(), key=lambda order: order.at, reverse=True))


def order_object(order: Order) -> dict[str, Any]:
    """Return an order as an object for JSON."""
    to = order.address
    return {
        "id": order.id,
        "plan": order.plan,
        "at": _number(order.at),
        "ended_at": _number(order.ended_at),
        "operator": order.instance.operator,
        "from": {"host": order.instance.host, "pid": order.instance.pid},
        "machine": to.process.machine,
        "pid": to.process.pid,
        "task_id": to.task_id,
        "sample_id": to.sample_id,
        "epoch": to.epoch,
        "model": to.model,
        "action": action_object(order.action),
        "name": order.name,
        "request": order.request,
        "command": order.command,
        "preview": order.preview,
        "reason": order.reason,
        "state": str(order.state),
        "message": order.message,
        "undo": None if order.undo is None else action_object(order.undo),
        "is_ours": order.is_ours,
    }


def action_object(action: Action) -> dict[str, Any]:
    """Return an action as an object for JSON."""
    return {
        "verb": str(action.verb),
        "now": action.now,
        "manner": action.manner,
        "completed_only": action.completed_only,
        "tool_call": action.tool_call,
        "changes": [asdict(change) for change in action.changes],
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
