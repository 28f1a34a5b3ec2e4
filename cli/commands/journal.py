"""`evalroom journal`: past orders, read from the local database; no machine is reached."""

import time
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeVar

from cli.parser.command import GlobalOptions
from cli.parser.journal import JournalCommand
from cli.render.plain import print_json, print_lines
from core import format as fmt
from core.act.order_query import OrderQuery, order_object
from core.errors import UsageWrong
from core.events import ContentRevealed
from core.ids import MachineName
from core.model.action import Verb
from core.model.order import Order, OrderState
from core.text import shown
from core.views.pages.moments import moment
from core.views.tables.orders import action_words
from storage.orders import read_orders
from storage.paths import paths
from storage.reveals import read_reveals

_LONG = 1_000
KindT = TypeVar("KindT", bound=StrEnum)


def journal(command: JournalCommand, options: GlobalOptions) -> int:
    """Run `evalroom journal`: print orders, newest first; return the exit status.

    Raises:
        UsageWrong: The action or the state does not exist.
        StorageError: The database can't be read.
    """
    del options
    if command.revealed:
        return _print_revealed(command)
    everything = OrderQuery(limit=command.limit)
    wanted = OrderQuery(
        since=command.since,
        machine=None if command.machine is None else MachineName(command.machine),
        verb=None if command.action is None else _one_of(Verb, command.action, "action"),
        state=None if command.state is None else _one_of(OrderState, command.state, "state"),
        text=command.text or "",
        limit=command.limit,
    )
    now = time.time()
    orders = read_orders(paths().database, wanted)
    if command.as_json:
        print_json({"as_of": now, "orders": [order_object(order) for order in orders]})
    elif orders:
        print_lines([line for order in orders for line in (*order_lines(order), "")][:-1])
    else:
        print_lines(["no orders yet" if wanted == everything else "no order matches"])
    return 0


def _print_revealed(command: JournalCommand) -> int:
    """Print who revealed the text of which sample's agent, newest first; return the exit status.

    Raises:
        UsageWrong: A filter that only orders have was given too.
        StorageError: The database can't be read.
    """
    if command.action or command.state or command.text:
        raise UsageWrong(
            "--revealed takes no action, state or text", "use --since, --machine and --limit"
        )
    reveals = read_reveals(
        paths().database,
        since=command.since or 0.0,
        machine=command.machine,
        limit=command.limit,
    )
    if command.as_json:
        print_json({"as_of": time.time(), "revealed": [_reveal_json(each) for each in reveals]})
    else:
        print_lines([_reveal_line(each) for each in reveals] or ["nobody revealed any text"])
    return 0


def _reveal_line(event: ContentRevealed) -> str:
    sample, task = event.sample, event.sample.task
    what = f"sample {shown(sample.sample_id)}/{sample.epoch} of task {shown(task.task_id)}"
    where = f"pid {task.process.pid} on {shown(task.machine)}"
    return f"{moment(event.at)}  {shown(event.operator) or 'unknown'} revealed {what}, {where}"


def _reveal_json(event: ContentRevealed) -> dict[str, object]:
    task = event.sample.task
    return {
        "at": event.at,
        "operator": event.operator,
        "machine": task.machine,
        "pid": task.process.pid,
        "task_id": task.task_id,
        "eval_id": event.eval_id,
        "sample_id": event.sample.sample_id,
        "epoch": event.sample.epoch,
    }


def order_lines(order: Order) -> Iterator[str]:
    """Yield an order as lines: its time, action and target, then operator, reason and outcome."""
    process, desk = order.address.process, order.instance
    name = shown(order.name) or f"{process.machine}:{process.pid}"
    yield f"{moment(order.at)}  {order.state}: {shown(action_words(order.action), _LONG)} of {name}"
    of = f"pid {process.pid} on {shown(process.machine)}"
    whose = "launched by you" if order.is_ours else "launched by someone else"
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
        return kind(word.replace("no-change", OrderState.NO_CHANGE))
    except ValueError:
        known = ", ".join(each.replace(" ", "-") for each in kind)
        raise UsageWrong(f"no {what} is called {shown(word)}", f"use one of: {known}") from None
