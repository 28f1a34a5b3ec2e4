"""The table of orders: one row for each order of the journal, newest first."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from core import format as fmt
from core.model.action import Action, offer_of, scope_of
from core.model.order import Order, OrderState
from core.text import NAME_LIMIT, Shown
from core.views.cells import Span, Table, Tone, text_cell
from core.views.tables.fields import Fields, field, table

TONES: dict[OrderState, Tone] = {
    OrderState.SENDING: "warning",
    OrderState.DONE: "good",
    OrderState.NO_CHANGE: "dim",
    OrderState.REFUSED: "warning",
    OrderState.FAILED: "error",
    OrderState.UNKNOWN: "error",
}
_TODAY = 43_200.0
"""Seconds. A younger order is shown without its day."""


@dataclass(frozen=True, slots=True)
class OrderLine:
    """An order, and the time now (Unix seconds at the desk)."""

    order: Order
    now: float

    @property
    def where(self) -> str:
        """The name of its target; its machine and pid if it has no name."""
        process = self.order.address.process
        return self.order.name or f"{process.machine}:{process.pid}"


def when(at: float, now: float) -> Shown:
    """Return Unix seconds as a time, or as day and time if it is more than 12 hours away."""
    clock, number = fmt.clock(at, seconds=True), fmt.sane(at)
    if number is None or abs(now - number) < _TODAY:
        return clock
    day = time.strftime("%m-%d", time.localtime(max(0.0, min(number, 4e9))))
    return Shown(f"{day} {clock[:5]}")


def action_words(action: Action) -> str:
    """Return an action in a few words: `pause now`, `cancel score`, `config a=3`."""
    parts = [str(action.verb)]
    if action.now:
        parts.append("now")
    if action.manner is not None:
        parts.append(action.manner)
    if action.completed_only:
        parts.append("finished")
    if action.tool_call is not None:
        parts.append(action.tool_call)
    for change in action.changes:
        knob = f"{change.knob}:{change.key}" if change.key else change.knob
        of = f"@{change.model}" if change.model else ""
        parts.append(f"{knob}{of}={'unset' if change.value is None else change.value}")
    return " ".join(parts)


def is_destructive(order: Order) -> bool:
    """Whether the effect of the order can't be undone."""
    offer = offer_of(order.action, scope_of(order.target))
    return offer is not None and offer.is_destructive


ORDER_FIELDS = Fields[OrderLine](
    (
        field(
            "time",
            lambda line: (Span(when(line.order.at, line.now), "dim"),),
            lambda line: -line.order.at,
            width=8,
        ),
        field(
            "state",
            lambda line: text_cell(line.order.state, TONES[line.order.state]),
            lambda line: line.order.state,
            width=7,
        ),
        field(
            "action",
            lambda line: text_cell(
                action_words(line.order.action),
                "warning" if is_destructive(line.order) else "plain",
            ),
            lambda line: action_words(line.order.action),
            width=8,
        ),
        field(
            "target",
            lambda line: text_cell(line.where, "strong"),
            lambda line: line.where,
            width=14,
            grow=2,
        ),
        field(
            "outcome",
            lambda line: text_cell(line.order.message, limit=300),
            lambda line: line.order.message,
            width=12,
            grow=3,
            rank=1,
        ),
        field(
            "reason",
            lambda line: text_cell(line.order.reason, limit=NAME_LIMIT),
            lambda line: line.order.reason,
            grow=1,
            rank=3,
        ),
        field(
            "who",
            lambda line: text_cell(line.order.instance.operator, "dim"),
            lambda line: line.order.instance.operator,
            rank=2,
        ),
    )
)


def orders_table(orders: Sequence[Order], now: float) -> Table[str]:
    """Return the orders by id, in the given order.

    Args:
        orders: Newest first.
        now: Unix seconds at the desk.
    """
    still = sum(order.is_open for order in orders)
    counted = f"{still} open · {len(orders)} total" if still else f"{len(orders)} total"
    return table(
        ORDER_FIELDS,
        (
            ORDER_FIELDS.row(
                order.id,
                OrderLine(order, now),
                "dim" if order.state is OrderState.NO_CHANGE else "plain",
            )
            for order in orders
        ),
        title="Journal of orders",
        footer=counted if orders else "",
        empty="no orders yet",
    )
