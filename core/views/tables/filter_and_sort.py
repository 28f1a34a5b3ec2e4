"""Filter, sort and choose columns: what the operator does to any table."""

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
        text: Words that must all stand in a row, in any case; `/.../` a regular expression;
            `!` before either turns it round. One that does not compile yet (it is being
            typed) counts as plain text. Empty: every row.
    """
    fits = text_filter(text)
    if fits is None:
        return table
    return replace(table, rows=tuple(row for row in table.rows if fits(row.search)))


def sort_rows(table: Table[KeyT], column: str, *, reverse: bool = False) -> Table[KeyT]:
    """Return the table sorted by a column, unknown values last either way.

    Rows that are equal there keep their order. A column that the table lacks changes nothing.
    """
    if all(each.name != column for each in table.columns):
        return table
    known = list[Row[KeyT]]()
    unknown = list[Row[KeyT]]()
    for row in table.rows:
        (unknown if row.sort[column][0] == _UNKNOWN else known).append(row)
    known.sort(key=lambda row: row.sort[column], reverse=reverse)
    return replace(table, rows=(*known, *unknown))
