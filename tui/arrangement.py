"""Sort, filter and hidden columns of a table; saved and restored with the view."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.views.cells import Column, Row, Table
from core.views.tables.filter_and_sort import filter_rows, sort_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Sort, filter and hidden columns of one table.

    Attributes:
        sort: Name of the sort column; None: the table's own order, trouble first.
        is_reversed: Whether the order is reversed.
        filter: The text typed after `/`; empty for none.
        hidden: Names of the hidden columns.
    """

    sort: str | None = None
    is_reversed: bool = False
    filter: str = ""
    hidden: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON for the store."""
        return {
            "sort": self.sort,
            "reversed": self.is_reversed,
            "filter": self.filter,
            "hidden": sorted(self.hidden),
        }


def arrangement_of(kept: object) -> Arrangement:
    """Read the JSON of `to_json`; invalid values become defaults."""
    if not isinstance(kept, Mapping):
        return Arrangement()
    values = cast("Mapping[str, object]", kept)
    sort, text, hidden = values.get("sort"), values.get("filter"), values.get("hidden")
    names = cast("list[object]", hidden) if isinstance(hidden, list) else []
    return Arrangement(
        sort=sort if isinstance(sort, str) else None,
        is_reversed=values.get("reversed") is True,
        filter=text if isinstance(text, str) else "",
        hidden=frozenset(name for name in names if isinstance(name, str)),
    )


def visible_columns(table: Table[Any], arrangement: Arrangement) -> tuple[Column, ...]:
    """Return the columns that are not hidden; all columns if all are hidden."""
    chosen = tuple(column for column in table.columns if column.name not in arrangement.hidden)
    return chosen or table.columns


def arranged(table: Table[Any], arrangement: Arrangement) -> tuple[Row[Any], ...]:
    """Return the rows that match the filter, sorted."""
    found = filter_rows(table, arrangement.filter)
    if arrangement.sort is None:
        return tuple(reversed(found.rows)) if arrangement.is_reversed else found.rows
    return sort_rows(found, arrangement.sort, reverse=arrangement.is_reversed).rows
