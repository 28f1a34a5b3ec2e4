"""Which columns of a table fit, and how wide they are.

While a table stays the same, widths grow: a number that gains a digit moves the columns once, not
back and forth. They shrink only to bring back a column that was left out (see `RowCache`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

from core.views.cells import Bar, Cell, Column, Row

GAPS = (2, 1)
"""Blank cells between two columns; the second value is used if more columns fit with it. After a
column of one cell there is always one blank cell."""
_BAR = 14
"""Width of a bar if there is room, cells."""
_WIDEST = 48
"""A text gets at most this many cells before the other columns have theirs."""


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column with its position `x` and its width, in cells."""

    column: Column
    x: int
    width: int


def natural_widths(
    columns: Sequence[Column], rows: Iterable[Row[Any]], known: Mapping[str, int]
) -> dict[str, int]:
    """Return the natural width of each column in cells, at least that in `known`."""
    widths = {
        column.name: max(known.get(column.name, 0), column.width, cell_len(column.title))
        for column in columns
    }
    for row in rows:
        for column in columns:
            cell = row.cells.get(column.name)
            if cell and column.grow and any(isinstance(part, Bar) for part in cell):
                widths[column.name] = max(widths[column.name], cell_width(cell) + _BAR)
            elif cell and (width := cell_width(cell)) > widths[column.name]:
                widths[column.name] = min(width, _WIDEST) if column.grow else width
    return widths


def place(
    columns: Sequence[Column], natural: Mapping[str, int], width: int
) -> tuple[PlacedColumn, ...]:
    """Return the columns that fit into `width` cells, in order, with their positions.

    Columns that may grow are shrunk first, to their least width. Then the columns of the highest
    rank are left out; a column of text is cut instead, if the others then fit. Remaining cells go
    to the column that was cut, then to those that may grow most.
    """
    wide, dense = (_fitting(columns, natural, width, gap) for gap in GAPS)
    whole = {column.name: _need(column, natural) for column in columns if column.name in dense}
    sizes, gap = (wide, GAPS[0]) if wide == whole else (dense, GAPS[1])
    shown = [column for column in columns if column.name in sizes]
    left = width - _total(shown, sizes, gap)
    for column in shown:
        given = max(min(_need(column, natural) - sizes[column.name], left), 0)
        sizes[column.name] += given
        left -= given
    left = _share(shown, sizes, natural, left)
    most = max((column.grow for column in shown), default=0)
    growing = [column for column in shown if column.grow and column.grow == most]
    for column in growing:
        sizes[column.name] += left // len(growing)
    placed: list[PlacedColumn] = []
    x = 0
    for column in shown:
        size = max(min(sizes[column.name], width - x), 0)
        placed.append(PlacedColumn(column, x, size))
        x += size + _gap(sizes[column.name], gap)
    return tuple(placed)


def _fitting(
    columns: Sequence[Column], natural: Mapping[str, int], width: int, gap: int
) -> dict[str, int]:
    """Return the columns that fit, by name, each with the least width that it gets."""
    shown = list(columns)
    while True:
        sizes = {column.name: _need(column, natural) for column in shown}
        if len(shown) == 1 or _total(shown, sizes, gap) <= width:
            return sizes
        last = max(reversed(shown), key=lambda column: column.rank)
        if last.align == "left":
            cut = {**sizes, last.name: min(sizes[last.name], last.width)}
            if _total(shown, cut, gap) <= width:
                return cut
        shown.remove(last)


def cell_width(cell: Cell) -> int:
    """Return the width of a cell's text in screen cells; a bar counts 0."""
    return sum(
        0
        if isinstance(part, Bar)
        else len(part.text)
        if part.text.isascii()
        else cell_len(part.text)
        for part in cell
    )


def _share(
    shown: Sequence[Column], sizes: dict[str, int], natural: Mapping[str, int], left: int
) -> int:
    """Give growing columns their natural width, those that grow most first; return the rest."""
    for column in sorted(shown, key=lambda column: -column.grow):
        if column.grow:
            given = max(min(natural[column.name] - sizes[column.name], left), 0)
            sizes[column.name] += given
            left -= given
    return max(left, 0)


def _need(column: Column, natural: Mapping[str, int]) -> int:
    return column.width if column.grow else natural[column.name]


def _total(columns: Sequence[Column], sizes: Mapping[str, int], gap: int) -> int:
    widths = [sizes[column.name] for column in columns]
    return sum(widths) + sum(_gap(width, gap) for width in widths[:-1])


def _gap(width: int, gap: int) -> int:
    return 1 if width == 1 else gap
