"""The page of one order: the order, its preview, its request, its outcome."""

from collections.abc import Iterator

from core import format as fmt
from core.act.preconditions import pause_words
from core.model.order import Order
from core.views.cells import Cell, span_of
from core.views.pages.moments import moment
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.tables.orders import TONES, OrderLine, action_words

_LONG = 1_000


def _aged(at: float, now: float) -> Cell:
    return (span_of(moment(at)), span_of(f"  {fmt.age(now - at)} ago", "dim"))


def order_page(order: Order | None, now: float) -> Page:
    """Return an order's page.

    Args:
        order: The order; None: none is selected.
        now: Unix seconds at the desk.
    """
    if order is None:
        return page("Order", (section("", (words("", "no order is selected", "dim"),)),))
    return page(
        f"{action_words(order.action)}: {OrderLine(order, now).where}",
        (
            section("Order", _what(order, now)),
            section("Preview", _preview(order)),
            section("State before", _before(order)),
            section("Sent", _sent(order)),
            section("Outcome", _outcome(order, now)),
        ),
    )


def _what(order: Order, now: float) -> Iterator[Fact]:
    to, desk = order.address, order.instance
    yield fact("when", _aged(order.at, now))
    yield words("operator", desk.operator)
    yield words("sent from", f"{desk.host}, pid {desk.pid}", "dim")
    yield words("action", action_words(order.action), "strong", _LONG)
    yield words("target", order.name, "strong")
    yield words("machine", to.process.machine)
    yield words("pid", to.process.pid)
    if to.task_id is not None:
        yield words("task", to.task_id, "dim")
    if to.sample_id is not None:
        yield words("sample", f"{to.sample_id}/{to.epoch}")
    if to.model is not None:
        yield words("model", to.model)
    yield words("run", "launched by you" if order.is_ours else "launched by someone else")
    if order.reason:
        yield words("reason", order.reason, limit=_LONG)


def _before(order: Order) -> Iterator[Fact]:
    for name, value in list(order.basis.items())[:20]:
        known = pause_words(value) if name == "pause" else "none" if value is None else value
        yield words(name, known, "dim")


def _preview(order: Order) -> Iterator[Fact]:
    yield words("preview", order.preview, limit=_LONG)
    undo = "can't be undone" if order.undo is None else action_words(order.undo)
    yield words("undo", undo, "dim" if order.undo is None else "plain", _LONG)


def _sent(order: Order) -> Iterator[Fact]:
    yield words("request", order.request, limit=_LONG)
    yield words("command", order.command, "key", _LONG)


def _outcome(order: Order, now: float) -> Iterator[Fact]:
    yield words("state", order.state, TONES[order.state])
    if order.message:
        yield words("message", order.message, limit=_LONG)
    if order.ended_at is not None:
        yield fact("known at", _aged(order.ended_at, now))
    yield words("id", f"{order.id}, plan {order.plan}", "dim")
