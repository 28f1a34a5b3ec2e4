"""`evalroom journal`: the orders that were given, from the disk alone. No link is made."""

import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from cli.render.plain import print_json, print_lines
from core import format as fmt
from core.act.order_query import OrderQuery, order_object
from core.errors import UsageWrong
from core.ids import MachineName
from core.model.action import Verb
from core.model.order import Order, OrderState
from core.text import shown
from core.views.pages.order_page import moment
from core.views.tables.orders import action_words

Read = Callable[[Path, OrderQuery], Sequence[Order]]
"""Returns orders of the database at a path, newest first; none where there is no database."""

_LONG = 1_000
KindT = TypeVar("KindT", bound=StrEnum)


def journal(
    path: Path,
    read: Read,
    *,
    since: float | None,
    machine: str | None,
    action: str | None,
    state: str | None,
    limit: int,
    text: str | None,
    as_json: bool,
) -> int:
    """Print orders, newest first; return the exit status.

    Args:
        path: The database.
        read: Reads it.
        since: Unix seconds.
        machine: To which it went; as all below: None, whatever it is.
        action: Its verb.
        state: Its state.
        text: A filter as on screen.
        limit: How many at most.
        as_json: Whether to print JSON.

    Raises:
        UsageWrong: There is no such action or state.
        StorageError: The database can't be read.
    """
    everything = OrderQuery(limit=limit)
    wanted = OrderQuery(
        since=since,
        machine=None if machine is None else MachineName(machine),
        verb=None if action is None else _one_of(Verb, action, "action"),
        state=None if state is None else _one_of(OrderState, state, "state"),
        text=text or "",
        limit=limit,
    )
    now = time.time()
    orders = read(path, wanted)
    if as_json:
        print_json({"as_of": now, "orders": [order_object(order) for order in orders]})
    elif orders:
        print_lines([line for order in orders for line in (*order_lines(order), "")][:-1])
    else:
        print_lines(["no order was given yet" if wanted == everything else "no such order"])
    return 0


def order_lines(order: Order) -> Iterator[str]:
    """Yield what is told of an order: when, what, to what; below it who, why, and the rest."""
    process, desk = order.address.process, order.instance
    name = shown(order.name) or f"{process.machine}:{process.pid}"
    yield f"{moment(order.at)}  {order.state}: {shown(action_words(order.action), _LONG)} of {name}"
    of = f"pid {process.pid} on {shown(process.machine)}"
    whose = "launched here" if order.is_ours else "launched by somebody else"
    yield _fact("who", f"{shown(desk.operator)}, from {shown(desk.host)} pid {desk.pid}")
    yield _fact("target", f"{of}{_within(order)}, {whose}")
    for label, text in (
        ("why", order.reason),
        ("preview", order.preview),
        ("request", order.request),
        ("by hand", order.command),
        ("outcome", order.message),
        ("undo", "" if order.undo is None else action_words(order.undo)),
    ):
        if text:
            yield _fact(label, shown(text, _LONG))
    if order.ended_at is not None and (took := fmt.sane(order.ended_at - order.at)) is not None:
        yield _fact("known", f"{moment(order.ended_at)}, {fmt.duration(took)} later")


def _within(order: Order) -> str:
    to = order.address
    parts = [
        f"task {shown(to.task_id)}" if to.task_id is not None else "",
        f"sample {shown(to.sample_id)}/{to.epoch}" if to.sample_id is not None else "",
        f"model {shown(to.model)}" if to.model is not None else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _fact(label: str, text: str) -> str:
    return f"    {label:<8} {text}"


def _one_of(kind: type[KindT], word: str, what: str) -> KindT:
    try:
        return kind(word)
    except ValueError:
        known = ", ".join(kind)
        raise UsageWrong(f"{shown(word)} is no {what}", f"it is one of {known}") from None
