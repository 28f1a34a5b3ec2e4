"""Converts orders to rows of the database and back."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from core.act.order_query import OrderQuery, action_object
from core.ids import Address, MachineName, ProcessKey
from core.model.action import OLDER_VERBS, Action
from core.model.order import OLDER_STATES, Basis, Instance, Order, OrderState
from core.strict_json import decode, encode
from storage.event_columns import column_text

_COLUMNS = (
    "id", "plan", "at", "host", "boot", "desk_pid", "desk_start", "operator", "machine", "pid",
    "start", "task_id", "sample_id", "epoch", "model", "verb", "action", "name", "request",
    "command", "preview", "basis", "undo", "reason", "is_ours", "state", "message", "ended_at",
)  # fmt: skip

INSERT = (
    f"INSERT INTO orders ({', '.join(_COLUMNS)})"  # noqa: S608 - fixed names
    f" VALUES ({', '.join('?' * len(_COLUMNS))})"
)
SELECT = f"SELECT {', '.join(_COLUMNS)}, claimed_by FROM orders"  # noqa: S608 - fixed names
NEWEST_FIRST = "ORDER BY at DESC, rowid DESC"
IS_OPEN = "state IN ('sending', 'intent', 'unknown')"
"""The outcome is not known. An older evalroom that still runs writes `intent`."""


def row_of(order: Order) -> tuple[object, ...]:
    """Return an order as the values of `INSERT`."""
    desk, to, process = order.instance, order.address, order.address.process
    return (
        order.id,
        order.plan,
        order.at,
        column_text(desk.host),
        column_text(desk.boot),
        desk.pid,
        column_text(desk.start),
        column_text(desk.operator),
        str(process.machine),
        process.pid,
        _json(process.start),
        _json_or_none(to.task_id),
        _json_or_none(to.sample_id),
        to.epoch,
        _json_or_none(to.model),
        str(order.action.verb),
        _json(action_object(order.action)),
        column_text(order.name),
        column_text(order.request),
        column_text(order.command),
        column_text(order.preview),
        _json(dict(order.basis)),
        None if order.undo is None else _json(action_object(order.undo)),
        column_text(order.reason),
        int(order.is_ours),
        str(order.state),
        column_text(order.message),
        order.ended_at,
    )


def order_of(row: sqlite3.Row) -> Order:
    """Return the order of a row of `SELECT`.

    Raises:
        ValueError: The row can't be decoded, because a newer evalroom wrote it.
    """
    process = ProcessKey(MachineName(row["machine"]), row["pid"], decode(row["start"], str))
    return Order(
        id=row["id"],
        plan=row["plan"],
        at=row["at"],
        instance=instance_of(row),
        address=Address(
            process=process,
            task_id=_decoded_or_none(row["task_id"], str),
            sample_id=_decoded_or_none(row["sample_id"], str | int),
            epoch=row["epoch"],
            model=_decoded_or_none(row["model"], str),
        ),
        action=decode(row["action"], Action),
        name=row["name"],
        request=row["request"],
        command=row["command"],
        preview=row["preview"],
        basis=decode(row["basis"], Basis),
        undo=_decoded_or_none(row["undo"], Action),
        reason=row["reason"],
        is_ours=bool(row["is_ours"]),
        state=OrderState(row["state"]),
        message=row["message"],
        ended_at=row["ended_at"],
    )


def readable_orders(rows: Sequence[sqlite3.Row] | sqlite3.Cursor) -> Iterator[Order]:
    """Yield the orders of these rows; skips rows that a newer evalroom wrote."""
    for row in rows:
        try:
            order = order_of(row)
        except ValueError:
            continue
        yield order


def instance_of(row: sqlite3.Row) -> Instance:
    """Return the instance that gave the order."""
    return Instance(
        host=row["host"],
        boot=row["boot"],
        pid=row["desk_pid"],
        start=row["desk_start"],
        operator=row["operator"],
    )


def responsible_instance(row: sqlite3.Row) -> Instance:
    """Return the instance responsible for an order: the one that claimed it, or that gave it."""
    try:
        return _decoded_or_none(row["claimed_by"], Instance) or instance_of(row)
    except ValueError:
        return instance_of(row)


def claim_text(instance: Instance) -> str:
    """Return an instance as the text for the column `claimed_by`."""
    return _json(asdict(instance))


def select_orders(connection: sqlite3.Connection, wanted: OrderQuery) -> tuple[Order, ...]:
    """Return the orders that match, newest first."""
    verb, state = wanted.verb, wanted.state
    tests: list[tuple[str, tuple[object, ...]]] = [
        (test, values)
        for test, values in (
            ("at >= ?", (wanted.since,)),
            ("machine = ?", (wanted.machine and column_text(wanted.machine),)),
            # The file may still hold the words of an older evalroom: it is only read here.
            ("verb IN (?, ?)", (verb and str(verb), verb and OLDER_VERBS.get(verb))),
            ("state IN (?, ?)", (state and str(state), state and OLDER_STATES.get(state))),
        )
        if values[0] is not None
    ]
    where = f"WHERE {' AND '.join(test for test, _ in tests)}" if tests else ""
    found = connection.execute(
        f"{SELECT} {where} {NEWEST_FIRST}",  # fixed text
        tuple(value for _, values in tests for value in values),
    )
    found.row_factory = sqlite3.Row
    return wanted.among(readable_orders(found))


def _json(value: object) -> str:
    return encode(value, keeps_surrogates=True)


def _json_or_none(value: object) -> str | None:
    return None if value is None else _json(value)


def _decoded_or_none(text: str | None, kind: Any) -> Any:
    return None if text is None else decode(text, kind)
