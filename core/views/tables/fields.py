"""Fields: a column and how a row fills it. Tables are made of them.

Cells are computed on access, so a table of a thousand tasks costs only its rows on the screen.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from core.format import sane
from core.text import Shown, shown
from core.views.cells import Cell, Column, Row, SortValue, Table, Tone

LineT = TypeVar("LineT")
KeyT = TypeVar("KeyT")

FieldValue = float | str | None
"""The value that a row is sorted by in one column; None is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Generic[LineT]):
    """One column, and how a row fills it.

    Attributes:
        column: The column.
        cell: Returns the cell of a line; empty means unknown.
        value: Returns the value that a line is sorted by; None means unknown.
    """

    column: Column
    cell: Callable[[LineT], Cell]
    value: Callable[[LineT], FieldValue]


def field(
    name: str,
    cell: Callable[[LineT], Cell],
    value: Callable[[LineT], FieldValue],
    *,
    title: str | None = None,
    align: Literal["left", "right"] = "left",
    width: int = 4,
    grow: int = 0,
    rank: int = 0,
) -> Field[LineT]:
    """Return a field; without a title, its name is the title."""
    column = Column(
        name=name,
        title=shown(name if title is None else title),
        align=align,
        width=width,
        grow=grow,
        rank=rank,
    )
    return Field(column=column, cell=cell, value=value)


class Fields(Generic[LineT]):
    """The columns of a table, in order."""

    def __init__(self, fields: Sequence[Field[LineT]]) -> None:
        self.columns = tuple(each.column for each in fields)
        self.names = tuple(column.name for column in self.columns)
        self.by_name: Mapping[str, Field[LineT]] = {each.column.name: each for each in fields}

    def row(self, key: KeyT, line: LineT, tone: Tone = "plain") -> Row[KeyT]:
        """Return the row of a line, under this key."""
        return Row(key=key, cells=_Cells(self, line), sort=_Sorts(self, line), tone=tone)


class _Lazy(Mapping[str, Cell], Generic[LineT]):
    __slots__ = ("_fields", "_line", "_made")

    def __init__(self, fields: Fields[LineT], line: LineT) -> None:
        self._fields = fields
        self._line = line
        self._made: dict[str, Cell] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields.names)

    def __len__(self) -> int:
        return len(self._fields.names)


class _Cells(_Lazy[LineT]):
    __slots__ = ()

    def __getitem__(self, name: str) -> Cell:
        made = self._made
        if made is None:
            made = self._made = {}
        if name not in made:
            made[name] = self._fields.by_name[name].cell(self._line)
        return made[name]


class _Sorts(Mapping[str, SortValue], Generic[LineT]):
    __slots__ = ("_fields", "_line")

    def __init__(self, fields: Fields[LineT], line: LineT) -> None:
        self._fields = fields
        self._line = line

    def __getitem__(self, name: str) -> SortValue:
        return sort_value(self._fields.by_name[name].value(self._line))

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields.names)

    def __len__(self) -> int:
        return len(self._fields.names)


def sort_value(value: FieldValue) -> SortValue:
    """Return the sort value of a value: numbers, then texts, then unknown ones."""
    if isinstance(value, str):
        return (1, value.casefold()) if value else (2, 0)
    number = sane(value)
    return (2, 0) if number is None else (0, number)


def table(
    fields: Fields[LineT],
    rows: Iterable[Row[KeyT]],
    *,
    title: str,
    footer: str = "",
    empty: str = "",
) -> Table[KeyT]:
    """Return a table with these rows, in their order."""
    return Table(
        columns=fields.columns,
        rows=tuple(rows),
        title=shown(title),
        footer=Shown(shown(footer)),
        empty=shown(empty),
    )


def without_column(whole: Table[KeyT], name: str) -> Table[KeyT]:
    """Return a table without one of its columns."""
    return replace(whole, columns=tuple(each for each in whole.columns if each.name != name))
