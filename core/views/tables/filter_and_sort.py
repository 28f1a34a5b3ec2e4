"""Filters and sorts the rows of any table."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from core.views.cells import Row, Table

KeyT = TypeVar("KeyT")
_UNKNOWN = 2


def filter_rows(table: Table[KeyT], text: str) -> Table[KeyT]:
    """Return the table with the rows that fit `text`.

    Args:
        table: Any table.
        text: Words that a row must all contain, in any case; or `/.../`, a regular expression;
            `!` in front inverts it. An expression that does not compile (yet) counts as plain
            text. Empty: every row.
    """
    fits = fitting(text)
    if fits is None:
        return table
    return replace(table, rows=tuple(row for row in table.rows if fits(row.search)))


def fitting(text: str) -> Callable[[str], bool] | None:
    """Return a function that tests a text in lower case against a filter; None: all texts fit.

    Args:
        text: The filter, as for `filter_rows`.
    """
    if not text.startswith("!"):
        return _test(text)
    fits = _test(text[1:])
    return None if fits is None else lambda search: not fits(search)


def _test(text: str) -> Callable[[str], bool] | None:
    text = text.strip()
    if not text:
        return None
    if text.startswith("/"):
        source = text[1:-1] if len(text) > 1 and text.endswith("/") else text[1:]
        if not source:
            return None
        try:
            pattern = re.compile(source, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError):
            pass
        else:
            return lambda search: pattern.search(search) is not None
    words = text.lower().split()
    return lambda search: all(word in search for word in words)


def sort_rows(table: Table[KeyT], column: str, *, reverse: bool = False) -> Table[KeyT]:
    """Return the table sorted by a column; unknown values come last in both directions.

    Rows with equal values keep their order. Without such a column, the table stays as it is.
    """
    if all(each.name != column for each in table.columns):
        return table
    known = list[Row[KeyT]]()
    unknown = list[Row[KeyT]]()
    for row in table.rows:
        (unknown if row.sort[column][0] == _UNKNOWN else known).append(row)
    known.sort(key=lambda row: row.sort[column], reverse=reverse)
    return replace(table, rows=(*known, *unknown))
