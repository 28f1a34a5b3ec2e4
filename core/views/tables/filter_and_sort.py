"""Filters and sorts the rows of any table."""

from dataclasses import replace
from typing import TypeVar

from core.text_filter import text_filter
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
    fits = text_filter(text)
    if fits is None:
        return table
    return replace(table, rows=tuple(row for row in table.rows if fits(row.search)))


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
